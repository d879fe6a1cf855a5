#include "tiff_layout.h"

#include <charconv>
#include <limits>

#include "h5mount/base/checked.h"
#include "numpy_type.h"

namespace h5mount::view {

namespace {

enum Tag : std::uint16_t {
  kImageWidth = 256,
  kImageLength = 257,
  kBitsPerSample = 258,
  kCompression = 259,
  kPhotometricInterpretation = 262,
  kStripOffsets = 273,
  kSamplesPerPixel = 277,
  kRowsPerStrip = 278,
  kStripByteCounts = 279,
  kXResolution = 282,
  kYResolution = 283,
  kPlanarConfiguration = 284,
  kResolutionUnit = 296,
  kColorMap = 320,
  kExtraSamples = 338,
  kSampleFormat = 339,
};
enum FieldType : std::uint16_t { kShort = 3, kLong = 4, kRational = 5, kLong8 = 16 };

constexpr std::uint64_t kMaxEntries = 16;
constexpr std::uint64_t kMaxExtent = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxTiffBytes = (1ULL << 63) - 1;
constexpr std::uint64_t kClassicBytes = 1ULL << 32;
// Offsets in the head.
constexpr std::uint64_t kBits = 64, kResolution = 80, kPalette = 1024;
constexpr std::uint64_t kColours = 256;

Error no_image(std::string why) {
  return {ErrorCode::UnsupportedFeature, std::move(why)};
}

Status set_samples(TiffLayout& out, const format::Datatype& type) {
  H5_ASSIGN(const NumpyType numpy, numpy_type(type));
  std::string_view text = numpy.description;
  if (!numpy.dims.empty() || text.size() < 5 || !std::string_view("biuf").contains(text[2]))
    return fail(no_image("elements that are no numbers"));
  std::uint32_t bytes = 0;
  (void)std::from_chars(text.data() + 3, text.data() + text.size(), bytes);
  if (bytes > 8) return fail(no_image("numbers of more than 8 bytes"));
  out.big_endian = text[1] == '>';
  out.bits = 8 * bytes;
  out.format = text[2] == 'f' ? 3 : text[2] == 'i' ? 2 : 1;
  return {};
}

// Sets the offsets of the directories and the size of the file.
Status set_places(TiffLayout& out, std::uint64_t image_bytes) {
  for (const bool big : {false, true}) {
    out.big = big;
    out.directory_bytes = (big ? 8 + 20 * kMaxEntries + 8 : 2 + 12 * kMaxEntries + 4 + 2);
    const auto end = checked_add(TiffLayout::kImage + 7, image_bytes);
    const auto all = checked_mul(out.pages, out.directory_bytes);
    const auto size = end && all ? checked_add(*end / 8 * 8, *all) : std::nullopt;
    if (!size || *size > kMaxTiffBytes) return fail({ErrorCode::TooLarge, "larger than a file can be"});
    out.directories = *end / 8 * 8;
    out.size = *size;
    if (*size < kClassicBytes) return {};
  }
  return {};
}

// Writes numbers in the file's byte order.
class Writer {
 public:
  Writer(const TiffLayout& layout, std::string& out) : layout_(layout), out_(out) {}

  void number(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      out_ += static_cast<char>(value >> (8 * (layout_.big_endian ? bytes - 1 - i : i)) & 0xFF);
  }
  void offset(std::uint64_t value) { number(value, layout_.big ? 8 : 4); }

  void entry(Tag tag, FieldType type, std::uint64_t count) {
    number(tag, 2);
    number(type, 2);
    offset(count);
  }
  void one(Tag tag, FieldType type, std::uint64_t value) {
    entry(tag, type, 1);
    value_of(type, value);
    pad(type == kShort ? 2 : type == kLong ? 4 : 8);
  }
  // One value for each sample, in the entry if they fit there, else in the head.
  void bits_per_sample() {
    entry(kBitsPerSample, kShort, layout_.samples);
    const std::size_t bytes = std::size_t{2} * layout_.samples;
    if (bytes > field_bytes()) return offset(kBits);
    for (std::uint32_t i = 0; i < layout_.samples; ++i) number(layout_.bits, 2);
    pad(bytes);
  }
  void resolution(Tag tag) {
    entry(tag, kRational, 1);
    if (!layout_.big) return offset(kResolution);
    number(1, 4);
    number(1, 4);
  }

 private:
  std::size_t field_bytes() const { return layout_.big ? 8 : 4; }
  void value_of(FieldType type, std::uint64_t value) {
    number(value, type == kShort ? 2 : type == kLong ? 4 : 8);
  }
  void pad(std::size_t used) { out_.append(field_bytes() - used, '\0'); }

  const TiffLayout& layout_;
  std::string& out_;
};

}  // namespace

Result<TiffLayout> tiff_layout(const object::DatasetDescription& dataset) {
  const std::vector<std::uint64_t>& dims = dataset.space.dims;
  TiffLayout out;
  if (dataset.space.kind == format::DataspaceKind::Null || dims.size() < 2)
    return fail(no_image("fewer than two dimensions"));
  H5_TRY(set_samples(out, *dataset.type));
  if (dataset.image_bytes == 0) return fail(no_image("no elements"));
  std::size_t rank = dims.size();
  const bool colours = rank > 2 && (dims[rank - 1] == 3 || dims[rank - 1] == 4) && out.may_be_indexed();
  if (colours) out.samples = static_cast<std::uint32_t>(dims[--rank]);
  if (dims[rank - 1] > kMaxExtent || dims[rank - 2] > kMaxExtent)
    return fail(no_image("more than 4294967295 pixels in a row or column"));
  out.width = static_cast<std::uint32_t>(dims[rank - 1]);
  out.height = static_cast<std::uint32_t>(dims[rank - 2]);
  out.page_bytes = dataset.element_size * out.samples * out.width * out.height;
  out.pages = dataset.image_bytes / out.page_bytes;
  H5_TRY(set_places(out, dataset.image_bytes));
  return out;
}

std::string tiff_head(const TiffLayout& layout, ByteSpan palette) {
  std::string out(layout.big_endian ? "MM" : "II");
  Writer writer(layout, out);
  writer.number(layout.big ? 43 : 42, 2);
  if (layout.big) {
    writer.number(8, 2);  // bytes of an offset
    writer.number(0, 2);
  }
  writer.offset(layout.directories);
  out.resize(kBits, '\0');
  for (std::uint32_t i = 0; i < layout.samples; ++i) writer.number(layout.bits, 2);
  out.resize(kResolution, '\0');
  writer.number(1, 4);
  writer.number(1, 4);
  out.resize(kPalette, '\0');
  // All reds, then all greens, then all blues, each of 16 bits.
  for (std::size_t part = 0; part < 3; ++part)
    for (std::size_t i = 0; i < kColours; ++i) {
      const std::size_t at = 3 * i + part;
      writer.number(at < palette.size() ? std::to_integer<unsigned>(palette[at]) * 257U : 0, 2);
    }
  out.resize(TiffLayout::kImage, '\0');
  return out;
}

void append_tiff_directory(const TiffLayout& layout, bool indexed, std::uint64_t page, std::string& out) {
  const std::size_t begin = out.size();
  const bool alpha = layout.samples == 4, named_format = layout.format != 1;
  const std::uint64_t entries = 13 + (indexed ? 1U : 0U) + (alpha ? 1U : 0U) + (named_format ? 1U : 0U);
  const FieldType place = layout.big ? kLong8 : kLong;
  Writer writer(layout, out);
  writer.number(entries, layout.big ? 8 : 2);
  writer.one(kImageWidth, kLong, layout.width);
  writer.one(kImageLength, kLong, layout.height);
  writer.bits_per_sample();
  writer.one(kCompression, kShort, 1);  // none
  writer.one(kPhotometricInterpretation, kShort,
             indexed              ? 3
             : layout.samples > 1 ? 2
                                  : 1);  // palette, RGB, black is zero
  writer.one(kStripOffsets, place, TiffLayout::kImage + page * layout.page_bytes);
  writer.one(kSamplesPerPixel, kShort, layout.samples);
  writer.one(kRowsPerStrip, kLong, layout.height);
  writer.one(kStripByteCounts, place, layout.page_bytes);
  writer.resolution(kXResolution);
  writer.resolution(kYResolution);
  writer.one(kPlanarConfiguration, kShort, 1);  // samples of a pixel together
  writer.one(kResolutionUnit, kShort, 1);       // none
  if (indexed) {
    writer.entry(kColorMap, kShort, 3 * kColours);
    writer.offset(kPalette);
  }
  if (alpha) writer.one(kExtraSamples, kShort, 2);  // unassociated alpha
  if (named_format) writer.one(kSampleFormat, kShort, layout.format);
  const bool last = page + 1 == layout.pages;
  writer.offset(last ? 0 : layout.directories + (page + 1) * layout.directory_bytes);
  out.resize(begin + static_cast<std::size_t>(layout.directory_bytes), '\0');
}

}  // namespace h5mount::view

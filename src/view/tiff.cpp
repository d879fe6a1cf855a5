// TIFF (Adobe, revision 6.0) and BigTIFF: a dataset as an image or a stack of images, its elements as they
// are stored:
//
//   0             header: byte order, version, offset of the first directory
//   64            values of the directories that do not fit in them, the same for all
//   4096          the dataset's image: the pages one after the other, each one strip
//   directories   one for each page, all of one length, at a multiple of 8; behind the entries of a placed
//                 image (dataset/placement.h) what is said of the page
//
// The image starts at a page boundary and does not move when the dataset grows. Its size follows from the
// dataset's shape, type and placement alone: a directory reserves space for a palette whether there is one or
// not.
#include <algorithm>
#include <charconv>
#include <limits>

#include "h5mount/base/checked.h"
#include "h5mount/dataset/open_dataset.h"
#include "h5mount/meaning/dimensions.h"
#include "numpy_type.h"
#include "tiff_placement.h"
#include "views.h"

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
enum FieldType : std::uint16_t { kText = 2, kShort = 3, kLong = 4, kRational = 5, kLong8 = 16 };

constexpr std::uint64_t kMaxEntries = 16;  // without those of a placement
constexpr std::uint64_t kMaxExtent = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxTiffBytes = (1ULL << 63) - 1;
constexpr std::uint64_t kClassicBytes = 1ULL << 32;
// Offsets in the head.
constexpr std::uint64_t kBits = 64, kResolution = 80, kPalette = 1024, kPlaced = 2560;
constexpr std::uint64_t kColours = 256;

struct TiffLayout {
  static constexpr std::uint64_t kImage = 4096;

  bool big = false;  // offsets are of 8 bytes
  bool big_endian = false;
  std::uint32_t width = 0, height = 0;
  std::uint32_t samples = 1;  // of a pixel
  std::uint32_t bits = 8;     // of a sample
  std::uint32_t format = 1;   // of samples: 1 unsigned, 2 signed, 3 floating-point
  std::uint64_t pages = 0;
  std::uint64_t page_bytes = 0;       // of the image
  std::uint64_t directories = 0;      // offset of the first one
  std::uint64_t directory_bytes = 0;  // of one
  std::uint64_t entry_bytes = 0;      // of a directory, without what is behind its entries
  std::uint64_t size = 0;             // of the file
  std::shared_ptr<const dataset::Placement> placement = nullptr;

  // Whether a palette can define the meaning of its samples.
  bool may_be_indexed() const { return samples == 1 && bits == 8 && format == 1; }
  bool operator==(const TiffLayout&) const = default;
};

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
    const std::uint64_t entries = kMaxEntries + (out.placement ? kMostPlacedTags + 1 : 0);
    const std::uint64_t room = out.placement ? metadata_room(*out.placement) : 0;
    out.entry_bytes = (big ? 8 + 20 * entries + 8 : 2 + 12 * entries + 4 + 2);
    out.directory_bytes = out.entry_bytes + (room + 7) / 8 * 8;
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
  // In the entry if they fit there, else at `place`.
  void bytes(std::uint16_t tag, std::uint16_t type, std::uint64_t count, std::string_view bytes,
             std::uint64_t place) {
    entry(static_cast<Tag>(tag), static_cast<FieldType>(type), count);
    if (bytes.size() > field_bytes()) return offset(place);
    out_ += bytes;
    pad(bytes.size());
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

// Fails with UnsupportedFeature, and a short phrase as its text, for a dataset that is not an image, and with
// TooLarge if the result would be larger than a file can be.
Result<TiffLayout> tiff_layout(const object::DatasetDescription& dataset) {
  const std::vector<std::uint64_t>& dims = dataset.space.dims;
  TiffLayout out;
  if (dataset.space.kind == format::DataspaceKind::Null || dims.size() < 2)
    return fail(no_image("fewer than two dimensions"));
  H5_TRY(set_samples(out, *dataset.type));
  if (dataset.image_bytes == 0) return fail(no_image("no elements"));
  std::size_t rank = dims.size();
  out.placement = dataset.placement;
  const bool colours =
      !out.placement && rank > 2 && (dims[rank - 1] == 3 || dims[rank - 1] == 4) && out.may_be_indexed();
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

// The first kImage bytes. `palette`: red, green and blue of at most 256 colours, or empty.
std::string tiff_head(const TiffLayout& layout, ByteSpan palette, const std::vector<PlacedTag>& placed) {
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
  out.resize(kPlaced, '\0');
  for (const PlacedTag& tag : placed) {
    out += tag.bytes;
    out.resize((out.size() + 7) / 8 * 8, '\0');
  }
  out.resize(TiffLayout::kImage, '\0');
  return out;
}

// The tags of a placement; `metadata` lies behind the entries, at `place`.
void append_placed_tags(const std::vector<PlacedTag>& placed, std::string_view metadata, std::uint64_t place,
                        Writer& writer) {
  std::uint64_t in_head = kPlaced;
  const auto append_metadata = [&] {
    if (!metadata.empty()) writer.bytes(kGdalMetadata, kText, metadata.size(), metadata, place);
  };
  bool before = true;
  for (const PlacedTag& tag : placed) {
    if (before && tag.tag > kGdalMetadata) append_metadata(), before = false;
    writer.bytes(tag.tag, tag.type, tag.count, tag.bytes, in_head);
    in_head += (tag.bytes.size() + 7) / 8 * 8;
  }
  if (before) append_metadata();
}

void append_tiff_directory(const TiffLayout& layout, bool indexed, std::uint64_t page,
                           std::span<const std::uint64_t> dims, const std::vector<PlacedTag>& placed,
                           std::string& out) {
  const std::size_t begin = out.size();
  const std::string metadata =
      layout.placement ? page_metadata(*layout.placement, dims, page) : std::string();
  const bool alpha = layout.samples == 4, named_format = layout.format != 1;
  const std::uint64_t entries = 13 + (indexed ? 1U : 0U) + (alpha ? 1U : 0U) + (named_format ? 1U : 0U) +
                                placed.size() + (metadata.empty() ? 0U : 1U);
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
  const std::uint64_t directory = layout.directories + page * layout.directory_bytes;
  append_placed_tags(placed, metadata, directory + layout.entry_bytes, writer);
  const bool last = page + 1 == layout.pages;
  writer.offset(last ? 0 : directory + layout.directory_bytes);
  out.resize(begin + static_cast<std::size_t>(layout.entry_bytes), '\0');
  out += metadata;
  out.resize(begin + static_cast<std::size_t>(layout.directory_bytes), '\0');
}

class TiffFile final : public ComputedFile {
 public:
  // `damage`: why it has no palette; nullopt if its dataset has none.
  TiffFile(TiffLayout layout, ByteSpan palette, std::optional<Error> damage, DatasetReaderPtr reader)
      : layout_(std::move(layout)),
        placed_(layout_.placement ? placed_tags(*layout_.placement, layout_.big_endian)
                                  : std::vector<PlacedTag>()),
        head_(std::make_shared<const std::string>(tiff_head(layout_, palette, placed_))),
        indexed_(!palette.empty()),
        damage_(std::move(damage)),
        reader_(std::move(reader)) {}

  std::uint64_t size() const override { return layout_.size; }
  const Error* damage() const override { return damage_ ? &*damage_ : nullptr; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const override {
    if (offset >= size()) return {};
    const std::uint64_t end = offset + std::min(length, size() - offset);
    if (offset < kImage) {
      const std::uint64_t part = std::min(end, kImage) - offset;
      add_text(head_, offset, part, out);
      offset += part;
    }
    if (offset < std::min(end, image_end())) {
      const std::uint64_t part = std::min(end, image_end()) - offset;
      H5_TRY(reader_->read(offset - kImage, part, access, out));
      offset += part;
    }
    if (offset < end) add_directories(offset, end - offset, out);
    return {};
  }

  // The image does not move; the directories lie after it.
  std::vector<dataset::ByteRange> stale_since(const ComputedFile& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* other = dynamic_cast<const TiffFile*>(&before);
    if (other == nullptr) return {{0, format::kUnlimited}};
    std::vector<dataset::ByteRange> out;
    if (*other->head_ != *head_) out.push_back({0, kImage});
    for (const dataset::ByteRange& range : stale)
      out.push_back({range.begin + kImage, checked_add(range.end, kImage).value_or(format::kUnlimited)});
    if (other->layout_ != layout_ || other->indexed_ != indexed_)
      out.push_back({std::min(other->image_end(), image_end()), format::kUnlimited});
    return out;
  }

  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override {
    if (offset < kImage || offset >= image_end()) return offset;
    const auto found = reader_->find_data(offset - kImage, budget);
    if (!found && found.error().code() == ErrorCode::NotFound) return image_end();
    H5_TRY(found);
    return *found + kImage;
  }
  Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const override {
    if (offset >= image_end()) return size();
    H5_ASSIGN(const std::uint64_t found, reader_->find_hole(offset - std::min(offset, kImage), budget));
    return found == reader_->size() ? size() : found + kImage;
  }

 private:
  static constexpr std::uint64_t kImage = TiffLayout::kImage;
  std::uint64_t image_end() const { return kImage + reader_->size(); }

  // Everything after the image: a gap of some bytes, then the directories.
  void add_directories(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out) const {
    const auto text = std::make_shared<std::string>();
    const std::uint64_t end = offset + length;
    std::uint64_t begin = offset;  // of the text
    if (offset < layout_.directories) {
      text->resize(static_cast<std::size_t>(layout_.directories - offset), '\0');
    } else {
      begin = layout_.directories +
              (offset - layout_.directories) / layout_.directory_bytes * layout_.directory_bytes;
    }
    while (begin + text->size() < end)
      append_tiff_directory(layout_, indexed_,
                            (begin + text->size() - layout_.directories) / layout_.directory_bytes,
                            reader_->description().space.dims, placed_, *text);
    add_text(text, offset - begin, length, out);
  }

  TiffLayout layout_;
  std::vector<PlacedTag> placed_;
  std::shared_ptr<const std::string> head_;
  bool indexed_;
  std::optional<Error> damage_;
  DatasetReaderPtr reader_;
};

// nullopt if the object has no such attribute.
Result<std::optional<object::Attribute>> attribute_if_any(const metadata::FileMetadata& file,
                                                          const object::Object& object,
                                                          std::string_view name) {
  auto found = object::find_attribute(file, object, name);
  if (!found && found.error().code() == ErrorCode::NotFound) return std::nullopt;
  if (!found) return fail(found.error());
  if (found->damage) return fail(*found->damage);
  return *std::move(found);
}

Result<bool> is_image(const text::ValueContext& values, const object::Object& object) {
  H5_ASSIGN(const auto attribute, attribute_if_any(*values.file, object, "CLASS"));
  if (!attribute || !text::is_string(*attribute->type) || attribute->data.size() != attribute->type->size)
    return false;
  std::string text;
  H5_TRY(text::append_string(*attribute->type, attribute->data, values, text));
  return text == "IMAGE";
}

// The palette of an HDF5 image (HDF5 Image and Palette Specification): the first one that its attribute
// PALETTE refers to, if it has bytes of red, green and blue. Empty if there is none.
Result<std::vector<std::byte>> palette_of(const ViewInput& source, RequestBudget& budget) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{3} * 256;
  const metadata::FileMetadata& file = *source.values.file;
  const text::ValueContext values{source.values, budget};
  std::vector<std::byte> out;
  const std::uint64_t own_address = source.reader->description().address;
  if (own_address == 0) return out;  // the samples are no object of the file
  H5_ASSIGN(const object::Object image, object::open_object(file, own_address));
  H5_ASSIGN(const auto reference, attribute_if_any(file, image, "PALETTE"));
  if (!reference || !reference->type->has_reference || reference->data.size() < reference->type->size)
    return out;
  H5_ASSIGN(const bool indexed, is_image(values, image));
  if (!indexed) return out;
  H5_ASSIGN(const std::uint64_t address,
            meaning::first_reference(values, *reference->type, reference->data.first(reference->type->size)));
  if (address == 0) return out;
  H5_ASSIGN(const object::Object palette, object::open_object(file, address));
  if (palette.kind != object::ObjectKind::Dataset) return out;
  H5_ASSIGN(object::DatasetDescription description, object::describe_dataset(file, palette));
  const std::vector<std::uint64_t>& dims = description.space.dims;
  if (dims.size() != 2 || dims[1] != 3 || description.element_size != 1 ||
      description.image_bytes > kMaxBytes)
    return out;
  H5_ASSIGN(const DatasetReaderPtr reader,
            dataset::open_dataset(source.environment, source.file, std::move(description)));
  out.resize(static_cast<std::size_t>(reader->size()));
  H5_TRY(reader->read_into(0, out, budget));
  return out;
}

Result<Reason> tiff_unfit(const object::DatasetDescription& dataset, RequestBudget&) {
  const auto layout = tiff_layout(dataset);
  if (layout || layout.error().code() == ErrorCode::TooLarge) return std::nullopt;
  return layout.error().text();
}

Result<KnownSize> tiff_size(const object::DatasetDescription& dataset, RequestBudget&) {
  const auto layout = tiff_layout(dataset);
  if (!layout) return std::nullopt;
  return layout->size;
}

Result<ComputedFilePtr> make_tiff(ViewInput source, const Earlier&, RequestBudget& budget) {
  H5_ASSIGN(const TiffLayout layout, tiff_layout(source.reader->description()));
  std::vector<std::byte> palette;
  std::optional<Error> damage;
  if (layout.may_be_indexed()) {
    auto found = palette_of(source, budget);
    // If no request can read the colours, the samples are shown without them.
    if (found)
      palette = *std::move(found);
    else if (meets_all_requests(found.error()) && !concerns_one_request(found.error()))
      damage = found.error().within("the image's palette, without which its TIFF is grey");
    else
      return fail(found.error());
  }
  return std::make_shared<const TiffFile>(layout, palette, std::move(damage), std::move(source.reader));
}

}  // namespace

constinit const View kTiffView{.directory = "tiff",
                               .suffix = ".tif",
                               .unfit = tiff_unfit,
                               .size = tiff_size,
                               .make = make_tiff,
                               .shows_places = true,
                               .media_type = "image/tiff",
                               .summary = "images and stacks of images (pages), with RGB(A) and palettes"};

}  // namespace h5mount::view

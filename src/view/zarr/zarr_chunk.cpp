// The files of Zarr chunks: elements as they are stored; or packed if Zarr's type is not the stored form,
// with zeros after the ends of strings; or, for strings of variable length, vlen-utf8:
//
//   u32 LE   number of elements
//   u32 LE   bytes of a string, then these; for each element
#include <algorithm>
#include <bit>
#include <cstring>

#include "../numpy_strings.h"
#include "../views.h"
#include "chunk_image.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "stored_codec.h"

namespace h5mount::view {

namespace {

class ChunkDerivation final : public Derivation {
 public:
  ChunkDerivation(std::uint64_t number, ZarrEncoding encoding) : number_(number), encoding_(encoding) {}

  Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const override {
    H5_ASSIGN(const ZarrArray array, array_of(dataset));
    return ChunkImage::describe(dataset, array);
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(const ZarrArray array, array_of(dataset->description()));
    return std::make_shared<const ChunkImage>(std::move(dataset), array, number_);
  }
  std::vector<dataset::ByteRange> stale_since(const dataset::DatasetReader& part,
                                              const dataset::DatasetReader& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* now = dynamic_cast<const ChunkImage*>(&part);
    const auto* then = dynamic_cast<const ChunkImage*>(&before);
    return now != nullptr && then != nullptr ? now->stale_since(*then, stale)
                                             : std::vector{dataset::kWholeImage};
  }

 private:
  Result<ZarrArray> array_of(const object::DatasetDescription& dataset) const {
    H5_ASSIGN(ZarrArray array, ZarrArray::of(dataset, encoding_));
    if (number_ >= array.chunk_count()) return fail({ErrorCode::NotFound, "no such chunk"});
    return array;
  }

  std::uint64_t number_;
  ZarrEncoding encoding_;
};

class PackedElements final : public ComputedFile {
 public:
  PackedElements(DatasetReaderPtr chunk, ZarrType type, std::shared_ptr<const NumpyStrings> strings)
      : chunk_(std::move(chunk)), type_(std::move(type)), strings_(std::move(strings)) {}

  std::uint64_t size() const override { return chunk_->size() / stored_bytes() * type_.bytes; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const override {
    if (offset >= size()) return {};
    length = std::min(length, size() - offset);
    const auto block = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(length));
    std::vector<std::byte> stored, packed;
    // Elements with such strings have a bounded size, and are read whole.
    const std::uint64_t end = offset + length;
    const std::uint64_t batch = std::max<std::uint64_t>(kBatchBytes / stored_bytes(), strings_ ? 1 : 0);
    for (std::uint64_t at = offset; at < end;) {
      const std::uint64_t first = at / type_.bytes, last = (end - 1) / type_.bytes + 1;
      const std::uint64_t count = std::clamp<std::uint64_t>(batch, 1, last - first);
      const std::uint64_t stop = std::min(end, (first + count) * type_.bytes),
                          skip = at - first * type_.bytes;
      const auto to = MutableByteSpan(*block).subspan(static_cast<std::size_t>(at - offset),
                                                      static_cast<std::size_t>(stop - at));
      if (batch == 0) {
        H5_TRY(read_large(first, skip, to, access.budget));
      } else {
        stored.resize(static_cast<std::size_t>(count * stored_bytes()));
        packed.resize(static_cast<std::size_t>(count * type_.bytes));
        H5_TRY(chunk_->read_into(first * stored_bytes(), stored, access.budget));
        if (strings_) strings_->clear(stored);
        pack(stored, packed);
        std::memcpy(to.data(), packed.data() + skip, to.size());
      }
      at = stop;
    }
    out.add(*block, block);
    return {};
  }

 private:
  static constexpr std::uint64_t kBatchBytes = 1U << 20;  // of stored elements read at a time

  std::uint64_t stored_bytes() const { return chunk_->description().element_size; }

  template <class Item>
  static void reverse_each(MutableByteSpan bytes) {
    for (std::size_t i = 0; i + sizeof(Item) <= bytes.size(); i += sizeof(Item)) {
      Item item = 0;
      std::memcpy(&item, bytes.data() + i, sizeof item);
      item = std::byteswap(item);
      std::memcpy(bytes.data() + i, &item, sizeof item);
    }
  }

  static void reverse_items(const ZarrType::Segment& part, MutableByteSpan bytes) {
    if (part.reversed == 0) return;
    if (part.reversed == 2) return reverse_each<std::uint16_t>(bytes);
    if (part.reversed == 4) return reverse_each<std::uint32_t>(bytes);
    if (part.reversed == 8) return reverse_each<std::uint64_t>(bytes);
    for (std::size_t i = 0; i < bytes.size(); i += part.reversed)
      std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                   bytes.begin() + static_cast<std::ptrdiff_t>(i + part.reversed));
  }

  void pack(ByteSpan stored, MutableByteSpan to) const {
    if (type_.segments.size() == 1 && type_.bytes == stored_bytes()) {  // whole elements, reversed
      std::memcpy(to.data(), stored.data(), to.size());
      reverse_items(type_.segments[0], to);
      return;
    }
    for (; !stored.empty(); stored = stored.subspan(static_cast<std::size_t>(stored_bytes()))) {
      for (const ZarrType::Segment& part : type_.segments) {
        const auto bytes = static_cast<std::size_t>(part.bytes);
        std::memcpy(to.data(), stored.data() + part.offset, bytes);
        reverse_items(part, to.first(bytes));
        to = to.subspan(bytes);
      }
    }
  }

  // Reads the packed bytes from `skip` on of an element that is too large to be read whole: from each
  // segment, the items that these bytes touch.
  Status read_large(std::uint64_t element, std::uint64_t skip, MutableByteSpan to,
                    RequestBudget& budget) const {
    std::vector<std::byte> items;
    std::uint64_t begin = 0;  // of the segment, packed
    for (const ZarrType::Segment& part : type_.segments) {
      const std::uint64_t from = std::max(begin, skip), stop = std::min(begin + part.bytes, skip + to.size());
      if (from < stop) {
        const std::uint64_t item = std::max<std::uint64_t>(1, part.reversed);
        const std::uint64_t first = (from - begin) / item * item;
        items.resize(static_cast<std::size_t>(divide_up(stop - begin, item) * item - first));
        H5_TRY(chunk_->read_into(element * stored_bytes() + part.offset + first, items, budget));
        reverse_items(part, items);
        std::memcpy(to.data() + (from - skip), items.data() + (from - begin - first),
                    static_cast<std::size_t>(stop - from));
      }
      begin += part.bytes;
    }
    return {};
  }

  DatasetReaderPtr chunk_;
  ZarrType type_;
  std::shared_ptr<const NumpyStrings> strings_;  // null: there is nothing behind strings to be cleared
};

class Text final : public ComputedFile {
 public:
  explicit Text(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
  std::uint64_t size() const override { return text_->size(); }
  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess,
              dataset::Pieces& out) const override {
    add_text(text_, offset, length, out);
    return {};
  }

 private:
  std::shared_ptr<const std::string> text_;
};

Result<std::string> encode_strings(const ViewInput& source, RequestBudget& budget) {
  constexpr std::size_t kLengthBytes = 4;
  const object::DatasetDescription& chunk = source.reader->description();
  const std::uint64_t count = source.reader->size() / chunk.element_size;
  const Error too_large(ErrorCode::TooLarge, "too many bytes of strings in one chunk");
  if (source.reader->size() > limits::kMaxStringChunkBytes) return fail(too_large);
  std::vector<std::byte> stored(static_cast<std::size_t>(source.reader->size()));
  H5_TRY(source.reader->read_into(0, stored, budget));
  std::string out;
  append_le(count, kLengthBytes, out);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = out.size();
    out.append(kLengthBytes, '\0');
    H5_TRY(text::append_string(*chunk.type,
                               ByteSpan(stored).subspan(static_cast<std::size_t>(i * chunk.element_size),
                                                        static_cast<std::size_t>(chunk.element_size)),
                               {source.values, budget}, out));
    const std::uint64_t length = out.size() - at - kLengthBytes;
    std::memcpy(out.data() + at, &length, kLengthBytes);
    H5_TRY(budget.spend(limits::kStepsPerTextByte * (out.size() - at)));
    if (out.size() > limits::kMaxStringChunkBytes) return fail(too_large);
  }
  return out;
}

template <ZarrEncoding kEncoding>
Result<KnownSize> chunk_file_size(const object::DatasetDescription& chunk, RequestBudget&) {
  const auto type = zarr_type(*chunk.type, kEncoding);
  if (!type || type->variable_strings) return std::nullopt;
  return chunk.image_bytes / chunk.element_size * type->bytes;
}

template <ZarrEncoding kEncoding>
Result<ComputedFilePtr> make_chunk_file(ViewInput source, const Earlier&, RequestBudget& budget) {
  H5_ASSIGN(ZarrType type, zarr_type(*source.reader->description().type, kEncoding));
  if (type.variable_strings) {
    H5_ASSIGN(std::string text, encode_strings(source, budget));
    return std::make_shared<const Text>(std::move(text));
  }
  auto strings = NumpyStrings::in(*source.reader->description().type);
  if (strings || !type.is_stored_form(source.reader->description().element_size))
    return std::make_shared<const PackedElements>(std::move(source.reader), std::move(type),
                                                  std::move(strings));
  return show_as_stored(std::move(source.reader));
}

template <ZarrEncoding kEncoding>
constexpr View kChunkView{.size = chunk_file_size<kEncoding>, .make = make_chunk_file<kEncoding>};

// The length of a chunk can only be found in the index.
template <ZarrEncoding kEncoding>
Result<ComputedFilePtr> make_stored_chunk_file(ViewInput source, const Earlier& before,
                                               RequestBudget& budget) {
  auto chunk = std::dynamic_pointer_cast<const ChunkImage>(source.reader);
  const auto codec = chunk ? zarr_codec(chunk->dataset().description(), kEncoding) : std::nullopt;
  if (!codec) return make_chunk_file<kEncoding>(std::move(source), before, budget);
  return make_stored_chunk(std::move(chunk), *codec, budget);
}

template <ZarrEncoding kEncoding>
constexpr View kStoredChunkView{.make = make_stored_chunk_file<kEncoding>};

}  // namespace

DerivationPtr derive_zarr_chunk(std::uint64_t number, ZarrEncoding encoding) {
  return std::make_shared<const ChunkDerivation>(number, encoding);
}

const View& zarr_chunk_view(ZarrEncoding encoding) {
  switch (encoding) {
    case ZarrEncoding::Stored:
      return kStoredChunkView<ZarrEncoding::Stored>;
    case ZarrEncoding::StoredVersion3:
      return kStoredChunkView<ZarrEncoding::StoredVersion3>;
    case ZarrEncoding::Version3:
      return kChunkView<ZarrEncoding::Version3>;
    case ZarrEncoding::Plain:
      break;
  }
  return kChunkView<ZarrEncoding::Plain>;
}

}  // namespace h5mount::view

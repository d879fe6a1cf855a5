#include "prefetch_text.h"

#include <utility>

#include "h5mount/base/long_work.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/format/global_heap_format.h"
#include "h5mount/metadata/filter_pipeline.h"
#include "h5mount/metadata/foreign_heaps.h"

namespace h5mount::ahead {
namespace {

using format::MessageType;

constexpr std::uint64_t kMaxElements = 256U << 10;       // bytes of a dataset of text that is small
constexpr std::uint64_t kMaxChunks = 1024;               // of such a dataset
constexpr std::uint64_t kMaxDecoded = 4 * kMaxElements;  // bytes of its chunks, which are not full

// Members of a damaged compound may overlap, and an array may repeat them.
constexpr std::size_t kMaxOfElement = 256;
constexpr std::size_t kMaxReferences = 1U << 16;

// Adds the places in an element where addresses of collections are.
void add_places(const format::Datatype& type, std::size_t at, std::vector<std::size_t>& places) {
  constexpr std::size_t kLengthBytes = 4;  // of a value of variable length, before its address
  if (!type.has_variable_part && !type.has_reference) return;
  switch (type.cls) {
    case format::DatatypeClass::VariableLength:
      places.push_back(at + kLengthBytes);
      break;
    case format::DatatypeClass::Reference:
      if (type.reference == format::ReferenceKind::Region1) places.push_back(at);
      break;
    case format::DatatypeClass::Compound:
      for (const format::CompoundMember& member : type.members) {
        if (places.size() >= kMaxOfElement) return;
        add_places(*member.type, at + member.offset, places);
      }
      break;
    case format::DatatypeClass::Array:
      for (std::size_t i = 0; i < type.size / type.base->size && places.size() < kMaxOfElement; ++i) {
        const std::size_t before = places.size();
        add_places(*type.base, at + i * type.base->size, places);
        if (places.size() == before) return;
      }
      break;
    default:
      break;
  }
}

// Calls `visit` with the address of the collection that each such part of the elements refers to, in order,
// and often with the same one. Of very many parts some are left out.
void for_each_heap_reference(const format::Datatype& type, ByteSpan elements, format::FileSizes sizes,
                             const std::function<void(std::uint64_t address)>& visit) {
  std::vector<std::size_t> places;
  add_places(type, 0, places);
  if (places.empty()) return;
  std::size_t left = kMaxReferences;
  for (; elements.size() >= type.size; elements = elements.subspan(type.size))
    for (const std::size_t place : places) {
      if (left-- == 0) return;
      if (place > type.size) continue;
      format::Cursor cursor(elements.subspan(place, type.size - place), 0, "HeapReference", sizes);
      const std::uint64_t address = cursor.address("collection_address");
      if (cursor.ok() && address != 0 && !metadata::ForeignHeaps::is_foreign(address)) visit(address);
    }
}

void expect_collection(Levels& levels, std::uint64_t address) {
  constexpr std::uint64_t kGuess = 4096;  // a collection is not smaller
  constexpr std::uint64_t kMaxCollection = 1U << 20;
  if (metadata::is_global_heap_cached(levels.file(), address)) return;
  levels.add_walk(address, [&levels, address] {
    const auto file = levels.asked_file();
    const auto block = file->read_up_to(address, kGuess, "ReadAhead", metadata::Among::Data);
    if (!block) return;
    format::Cursor cursor = block->cursor("ReadAhead");
    const auto bytes = format::decode_global_heap_header(cursor);
    if (bytes && *bytes > block->bytes().size() && *bytes <= kMaxCollection)
      (void)file->read_up_to(address, *bytes, "ReadAhead", metadata::Among::Data);
  });
}

bool may_be_text(ByteSpan type) {
  if (type.empty()) return false;
  switch (static_cast<format::DatatypeClass>(type[0] & std::byte{0xF})) {
    case format::DatatypeClass::VariableLength:
    case format::DatatypeClass::Compound:
    case format::DatatypeClass::Array:
    case format::DatatypeClass::Reference:
      return true;
    default:
      return false;
  }
}

// The chunks of one dataset. It is kept by what it adds to the levels.
struct Chunks : std::enable_shared_from_this<Chunks> {
  Levels& levels;
  const format::DatatypePtr type;
  const format::DataLayout layout;
  chunk::ChunkGeometry geometry = {};
  std::shared_ptr<const filter::FilterPipeline> pipeline = {};  // null: no filters
  std::unique_ptr<chunk::ChunkIndex> index = {};                // null: not open yet

  Chunks(Levels& all, format::DatatypePtr element, format::DataLayout stored)
      : levels(all), type(std::move(element)), layout(std::move(stored)) {}

  // False for a dataset that is not small, or cannot be right.
  bool prepare(const format::Dataspace& space, const std::vector<format::FilterDescription>& filters) {
    auto made = chunk::ChunkGeometry::make(space, layout, !filters.empty());
    const auto elements = space.element_count();
    if (!made || layout.element_size != type->size || !elements || *elements == 0) return false;
    geometry = *std::move(made);
    std::uint64_t chunks = 1;  // no overflow: there are not more than elements
    for (const std::uint64_t n : geometry.grid) chunks *= n;
    const std::uint64_t bytes = geometry.chunk_bytes;
    if (*elements > kMaxElements / type->size || chunks > kMaxChunks || chunks > kMaxDecoded / bytes ||
        (filters.empty() && bytes * chunks > kMaxElements))
      return false;
    if (filters.empty()) return true;
    auto opened = metadata::make_filter_pipeline(filters, bytes);
    if (opened) pipeline = *std::move(opened);
    return pipeline != nullptr;
  }

  void walk() {
    if (!index) {
      auto opened = chunk::open_chunk_index(levels.asked_file(), layout, geometry);
      if (!opened) return;
      index = *std::move(opened);
    }
    std::uint64_t left = kMaxChunks;
    (void)index->for_each([&](std::span<const std::uint64_t>, const chunk::ChunkRecord& record) {
      if (record.stored_size == 0 || record.stored_size > kMaxElements) return --left > 0;
      levels.expect(
          record.address, record.stored_size,
          [self = shared_from_this(), mask = record.filter_mask](const metadata::MetadataBlock& block) {
            self->decode(block.bytes(), mask);
          },
          metadata::Among::Data);
      return --left > 0;
    });
  }

  void decode(ByteSpan stored, std::uint32_t mask) const {
    if (!pipeline) return expect_values(levels, *type, stored);
    if (!levels.spend(geometry.chunk_bytes)) return;
    note_long_work();  // one of very many, perhaps
    std::vector<std::byte> values(static_cast<std::size_t>(geometry.chunk_bytes));
    filter::FilterScratch scratch;
    if (const auto bytes = pipeline->decode_up_to(stored, mask, values, scratch))
      expect_values(levels, *type, ByteSpan(values).first(*bytes));
  }
};

}  // namespace

format::DatatypePtr type_of_text(ByteSpan message, format::FileSizes sizes) {
  if (!may_be_text(message)) return nullptr;
  format::Cursor cursor(message, 0, "ReadAhead", sizes);
  auto type = format::decode_datatype(cursor);
  return type && ((*type)->has_variable_part || (*type)->has_reference) ? *std::move(type) : nullptr;
}

void expect_values(Levels& levels, const format::Datatype& type, ByteSpan elements) {
  std::uint64_t last = 0;  // neighbours often lie in the same one
  for_each_heap_reference(type, elements, levels.file().sizes(), [&levels, &last](std::uint64_t address) {
    if (std::exchange(last, address) != address) expect_collection(levels, address);
  });
}

void expect_text(Levels& levels, const metadata::ObjectHeader& header) {
  const auto decoded = [&](MessageType wanted, auto decode) {
    const metadata::HeaderMessage* const message = header.find(wanted);
    format::Cursor cursor(message != nullptr ? message->body : ByteSpan(), 0, "ReadAhead",
                          levels.file().sizes());
    return message != nullptr && !message->is_shared() ? decode(cursor) : decltype(decode(cursor))();
  };
  const metadata::HeaderMessage* const datatype = header.find(MessageType::Datatype);
  if (datatype == nullptr || datatype->is_shared()) return;
  auto type = type_of_text(datatype->body, levels.file().sizes());
  const auto layout = decoded(MessageType::DataLayout, format::decode_data_layout);
  if (!type || !layout || header.find(MessageType::DataLayout) == nullptr) return;
  if (layout->cls == format::LayoutClass::Compact) {
    expect_values(levels, *type, layout->compact_data);
  } else if (layout->cls == format::LayoutClass::Contiguous) {
    if (!layout->has_size || layout->size > kMaxElements) return;
    levels.expect(
        layout->address, layout->size,
        [&levels, type](const metadata::MetadataBlock& block) {
          expect_values(levels, *type, block.bytes());
        },
        metadata::Among::Data);
  } else if (layout->cls == format::LayoutClass::Chunked) {
    const metadata::HeaderMessage* const shared = header.find(MessageType::FilterPipeline);
    const auto space = decoded(MessageType::Dataspace, format::decode_dataspace);
    const auto filters = decoded(MessageType::FilterPipeline, format::decode_filter_pipeline);
    if (!space || !filters || (shared != nullptr && shared->is_shared())) return;
    const auto chunks = std::make_shared<Chunks>(levels, std::move(type), *layout);
    if (chunks->prepare(*space, filters->filters))
      levels.add_walk(layout->address, [chunks] { chunks->walk(); });
  }
}

}  // namespace h5mount::ahead

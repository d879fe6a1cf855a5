#include <utility>

#include "h5mount/format/global_heap_format.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/prefetch.h"
#include "heap_references.h"
#include "metadata_caches.h"
#include "prefetch_parts.h"

namespace h5mount::metadata {
namespace {

constexpr std::uint64_t kHeapGuess = 4096;  // a collection is not smaller
constexpr std::uint64_t kMaxCollection = 1U << 20;

void expect_collection(Levels& levels, std::uint64_t address) {
  MetadataCaches* const caches = levels.file().caches();
  if (caches != nullptr && caches->collections.find(levels.file().number(), address)) return;
  const auto rest = [&levels, address](const MetadataBlock& block) {
    format::Cursor cursor = block.cursor(kReadAhead);
    const auto bytes = format::decode_global_heap_header(cursor);
    if (bytes && *bytes > block.bytes().size() && *bytes <= kMaxCollection)
      levels.expect_more(address, *bytes, nullptr, Among::Data);
  };
  levels.expect(address, kHeapGuess, rest, Among::Data);
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

}  // namespace

bool is_message(const format::RawMessage& raw, format::MessageType type) {
  constexpr std::uint8_t kFlagShared = 2;
  return raw.type == static_cast<std::uint16_t>(type) && (raw.flags & kFlagShared) == 0;
}

format::DatatypePtr type_of_text(ByteSpan message, format::FileSizes sizes) {
  if (!may_be_text(message)) return nullptr;
  format::Cursor cursor(message, 0, kReadAhead, sizes);
  auto type = format::decode_datatype(cursor);
  return type && ((*type)->has_variable_part || (*type)->has_reference) ? *std::move(type) : nullptr;
}

void expect_values(Levels& levels, const format::Datatype& type, ByteSpan elements) {
  std::uint64_t last = 0;  // neighbours often lie in the same one
  for_each_heap_reference(type, elements, levels.sizes(), [&levels, &last](std::uint64_t address) {
    if (std::exchange(last, address) != address) expect_collection(levels, address);
  });
}

void TextAhead::note(const format::RawMessage& raw, format::Cursor body) {
  using format::MessageType;
  const auto keep = [](auto decoded, auto& out) {
    if (decoded) out = *std::move(decoded);
  };
  if (is_message(raw, MessageType::Datatype) && may_be_text(raw.body))
    type_.assign(raw.body.begin(), raw.body.end());
  else if (is_message(raw, MessageType::Dataspace))
    keep(format::decode_dataspace(body), space_);
  else if (is_message(raw, MessageType::DataLayout))
    keep(format::decode_data_layout(body), layout_);
  else if (is_message(raw, MessageType::FilterPipeline))
    keep(format::decode_filter_pipeline(body), pipeline_);
  else if (raw.type == static_cast<std::uint16_t>(MessageType::FilterPipeline))
    added_ = true;  // a shared one is not looked for
}

void TextAhead::end_block() {
  --blocks_left_;
  if (added_ || type_.empty() || !layout_) return;
  const bool chunked = layout_->cls == format::LayoutClass::Chunked;
  if (chunked && (!space_ || (!pipeline_ && blocks_left_ > 0))) return;
  added_ = true;
  add(*layout_);
}

void TextAhead::add(const format::DataLayout& layout) {
  if (layout.cls == format::LayoutClass::Contiguous && (!layout.has_size || layout.size > kMaxDescriptors))
    return;
  auto type = type_of_text(type_, levels_.sizes());
  if (!type) return;
  switch (layout.cls) {
    case format::LayoutClass::Compact:
      return expect_values(levels_, *type, layout.compact_data);
    case format::LayoutClass::Contiguous:
      return levels_.expect(
          layout.address, layout.size,
          [&levels = levels_, type](const MetadataBlock& block) {
            expect_values(levels, *type, block.bytes());
          },
          Among::Data);
    case format::LayoutClass::Chunked:
      return expect_chunks(
          levels_, {.type = std::move(type),
                    .layout = layout,
                    .space = *space_,
                    .filters = pipeline_ ? pipeline_->filters : std::vector<format::FilterDescription>()});
    case format::LayoutClass::Virtual:
    case format::LayoutClass::Structured:
      return;
  }
}

void prefetch_values(const FileMetadata& file, const format::Datatype& type, ByteSpan elements,
                     RequestBudget& budget) {
  Levels levels(file, budget);
  expect_values(levels, type, elements);
  levels.run(2);  // collections, and the rest of large ones
}

}  // namespace h5mount::metadata

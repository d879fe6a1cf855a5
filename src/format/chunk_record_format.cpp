#include "h5mount/format/chunk_record_format.h"

namespace h5mount::format {

namespace {

bool is_structured(ChunkClient client) {
  return client == ChunkClient::Structured || client == ChunkClient::StructuredFiltered;
}

std::size_t section_field_bytes(const ChunkRecordFormat::Parameters& p) {
  if (!is_structured(p.client) || p.section_count == 0) return 0;
  const std::size_t n = p.section_count;
  return p.client == ChunkClient::Structured ? 8 * (n - 1) : 8 * (n - 1) + (8 + 4) * n;
}

std::size_t mask_bytes(const ChunkRecordFormat::Parameters& p) {
  return p.client == ChunkClient::Filtered ? 4 : 0;
}

// Bytes of all fields of a record except the stored size.
std::size_t bytes_besides_size(const ChunkRecordFormat::Parameters& p) {
  return std::size_t{p.size_of_offsets} + mask_bytes(p) + 8 * std::size_t{p.coordinates} +
         section_field_bytes(p);
}

}  // namespace

ChunkRecordFormat::SizeRange ChunkRecordFormat::sizes_of(const Parameters& p) {
  if (is_structured(p.client) && p.section_count == 0) return {.min = 1, .max = 0};
  const std::size_t others = bytes_besides_size(p);
  if (p.client == ChunkClient::Plain) return {.min = others, .max = others};
  return {.min = others + 1, .max = others + 8};
}

std::optional<ChunkRecordFormat> ChunkRecordFormat::make(const Parameters& p, std::uint64_t record_bytes) {
  if (!sizes_of(p).contains(record_bytes)) return std::nullopt;
  ChunkRecordFormat f;
  f.size_of_offsets_ = p.size_of_offsets;
  f.chunk_bytes_ = p.chunk_bytes;
  f.section_bytes_ = section_field_bytes(p);
  f.record_bytes_ = static_cast<std::size_t>(record_bytes);
  f.size_width_ = static_cast<std::uint8_t>(record_bytes - bytes_besides_size(p));
  const std::size_t after_size = std::size_t{f.size_of_offsets_} + f.size_width_;
  f.mask_at_ = mask_bytes(p) != 0 ? after_size : 0;
  f.coordinates_at_ = after_size + mask_bytes(p);
  f.sections_at_ = f.coordinates_at_ + 8 * std::size_t{p.coordinates};
  return f;
}

}  // namespace h5mount::format

#include "h5mount/format/chunk_record_format.h"

namespace h5mount {

namespace {

std::size_t section_field_bytes(const ChunkRecordFormat::Parameters& p) {
  const std::size_t n = p.section_count;
  if (n == 0) return 0;
  if (p.client == ChunkClient::Structured) return 8 * (n - 1);
  return 8 * (n - 1) + (8 + 4) * n;
}

}  // namespace

std::optional<ChunkRecordFormat> ChunkRecordFormat::make(const Parameters& p, std::uint64_t record_bytes) {
  const bool structured = p.client == ChunkClient::Structured || p.client == ChunkClient::StructuredFiltered;
  if (structured && p.section_count == 0) return std::nullopt;
  ChunkRecordFormat f;
  f.size_of_offsets_ = p.size_of_offsets;
  f.chunk_bytes_ = p.chunk_bytes;
  f.section_bytes_ = structured ? section_field_bytes(p) : 0;
  const std::size_t mask_bytes = p.client == ChunkClient::Filtered ? 4 : 0;
  const std::size_t coordinate_bytes = 8 * std::size_t{p.coordinates};
  const std::size_t others = p.size_of_offsets + mask_bytes + coordinate_bytes + f.section_bytes_;
  const std::uint64_t lowest_width = p.client == ChunkClient::Plain ? 0 : 1;
  const std::uint64_t highest_width = p.client == ChunkClient::Plain ? 0 : 8;
  if (record_bytes < others + lowest_width || record_bytes > others + highest_width) return std::nullopt;

  f.record_bytes_ = static_cast<std::size_t>(record_bytes);
  f.size_width_ = static_cast<std::uint8_t>(record_bytes - others);
  const std::size_t behind_size = std::size_t{f.size_of_offsets_} + f.size_width_;
  f.mask_at_ = mask_bytes != 0 ? behind_size : 0;
  f.coordinates_at_ = behind_size + mask_bytes;
  f.sections_at_ = f.coordinates_at_ + coordinate_bytes;
  return f;
}

ChunkClient decode_chunk_client(Cursor& cursor) {
  const std::uint64_t at = cursor.here();
  const std::uint8_t id = cursor.u8("client_id");
  if (id > 3)
    cursor.fail(
        Error(ErrorCode::InvalidValue, cursor.structure(), "client_id", at).with_found(id).with_expected(3));
  return static_cast<ChunkClient>(id <= 3 ? id : 0);
}

}  // namespace h5mount

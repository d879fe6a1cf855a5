// Finds stored chunks of nothing but zeros. A page that was lost reads as zeros, the Fletcher-32 of zeros is
// zero, and filters before it (shuffle, LZF) give zeros of zeros: such a checksum proves nothing.
#include <algorithm>

#include "chunks.h"
#include "h5mount/format/filter_ids.h"

namespace h5mount::salvage {
namespace {

constexpr std::size_t kFirst = 64, kPart = 256U << 10;

bool are_zeros(ByteSpan bytes) {
  return std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{0}; });
}

bool is_zeros(SalvageState& state, const chunk::ChunkRecord& record) {
  std::vector<std::byte> part(kPart);
  for (std::uint64_t at = 0; at < record.stored_size;) {
    const std::uint64_t most = at == 0 ? kFirst : kPart;
    const auto bytes =
        MutableByteSpan(part).first(static_cast<std::size_t>(std::min(most, record.stored_size - at)));
    if (!state.made->read_at(record.address + at, bytes) || !are_zeros(bytes)) return false;
    at += bytes.size();
    if (at >= record.stored_size) break;
    if (state.decoded_left < record.stored_size || !state.go_on()) return true;
    if (at == kFirst) state.decoded_left -= record.stored_size;
  }
  return record.stored_size > 0;
}

}  // namespace

std::vector<std::uint64_t> zero_chunks(SalvageState& state, const OpenedDataset& dataset,
                                       std::span<const PlacedChunk> chunks) {
  std::vector<std::uint64_t> out;
  const object::DatasetDescription& description = dataset.description;
  // Streams of deflate and bzip2 do not begin with zeros, so that such chunks are errors.
  if (!has_filter(description, format::kFletcher32) || has_filter(description, format::kDeflate) ||
      has_filter(description, format::kBzip2))
    return out;
  for (const PlacedChunk& one : chunks)
    if (!is_stored_plain(dataset, one) && is_zeros(state, one.record)) out.push_back(one.number);
  std::ranges::sort(out);
  return out;
}

}  // namespace h5mount::salvage

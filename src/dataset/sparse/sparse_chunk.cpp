#include "sparse_chunk.h"

#include <algorithm>
#include <bit>

#include "../core/element_selection.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "h5mount/format/dataspace.h"

namespace h5mount::dataset {
namespace {

struct BlockHeader {
  std::uint64_t run_count;
  std::uint64_t value_bytes;
};

constexpr std::uint64_t kMaxSelectionBytes = 256U << 20;

// The format written by H5Sencode: a dataspace message for the extent, then a serialised selection.
struct EncodedSelection {
  format::Dataspace extent;
  format::Selection selection;
};

Result<EncodedSelection> decode_encoded_selection(format::Cursor& c, std::size_t rank) {
  EncodedSelection out;
  c.u8("message");
  c.require_equal(1, "not a dataspace");
  c.version(0, 0);
  const std::uint8_t lengths = c.u8("size_of_lengths");
  c.require(std::has_single_bit(lengths) && lengths >= 2 && lengths <= 32, "not 2, 4, 8, 16 or 32");
  const std::uint32_t extent_bytes = c.u32("extent_length");
  format::Cursor inner = c.part(extent_bytes, "extent", "Dataspace");
  const format::Field extent = c.last();
  H5_TRY(c.finish());
  inner.set_sizes({8, lengths});
  H5_ASSIGN(out.extent, format::decode_dataspace(inner));
  H5_ASSIGN(out.selection, format::decode_selection(c));
  c.require(c.remaining() == 0, {"length", c.here(), c.remaining()}, "bytes are left over");
  c.require_equal(rank, extent.part("rank", out.extent.rank()), "not the dataset's");
  return c.finish(std::move(out));
}

}  // namespace

Result<SparseSections> decode_sparse_sections(const chunk::ChunkRecord& record, bool filtered,
                                              std::uint64_t chunk_bytes) {
  format::Cursor c(record.section_fields, record.address, "StructuredChunk", {});
  const std::uint64_t split = c.u64("section_offset");
  c.require(split <= record.stored_size, "beyond the chunk");
  SparseSections s;
  s.selection.stored = s.selection.plain = split;
  s.values.offset = split;
  s.values.stored = s.values.plain = record.stored_size - split;
  format::Field selection_size = c.last().part("unfiltered_size", s.selection.plain);
  format::Field values_size = c.last().part("unfiltered_size", s.values.plain);
  if (filtered) {
    s.selection.plain = c.u64("unfiltered_size");
    selection_size = c.last();
    s.values.plain = c.u64("unfiltered_size");
    values_size = c.last();
    s.selection.filter_mask = c.u32("filter_mask");
    s.values.filter_mask = c.u32("filter_mask");
  }
  c.require(s.selection.plain >= 4 && s.selection.plain <= kMaxSelectionBytes, selection_size,
            "no size of an encoded selection");
  c.require(s.values.plain <= chunk_bytes, values_size, "more values than the chunk has elements");
  c.require(s.selection.stored <= 2 * kMaxSelectionBytes && s.values.stored <= 2 * chunk_bytes + (1U << 20),
            {"chunk_size", record.address, record.stored_size}, "no sound size", ErrorCode::LimitExceeded);
  return c.finish(s);
}

Result<ByteSpan> without_checksum(ByteSpan section, std::uint64_t offset, std::string_view structure) {
  format::Cursor whole(section, offset, structure, {});
  const ByteSpan body = whole.bytes(section.size() < 4 ? section.size() + 1 : section.size() - 4, "section");
  whole.checksum();
  return whole.finish(body);
}

SparseChunk::SparseChunk(cache::BlockPtr block) : block_(std::move(block)) {
  const std::byte* at = block_->bytes().data();
  const auto header = load_le<BlockHeader>(at);
  runs_ = {reinterpret_cast<const Run*>(at + sizeof header), static_cast<std::size_t>(header.run_count)};
  values_ = block_->bytes().subspan(sizeof header + runs_.size_bytes(),
                                    static_cast<std::size_t>(header.value_bytes));
}

Result<std::shared_ptr<cache::Block>> SparseChunk::make_block(ByteSpan encoded, std::uint64_t offset,
                                                              ByteSpan values,
                                                              std::span<const std::uint64_t> chunk_dims,
                                                              std::uint64_t element_size, bool checksummed) {
  if (checksummed) {
    H5_ASSIGN(encoded, without_checksum(encoded, offset, "EncodedSelection"));
  }
  format::Cursor cursor(encoded, offset, "EncodedSelection", {});
  H5_ASSIGN(const EncodedSelection decoded, decode_encoded_selection(cursor, chunk_dims.size()));
  const auto& extent = decoded.extent.dims;
  for (std::size_t i = 0; i < extent.size(); ++i)
    if (extent[i] > chunk_dims[i])
      return fail(Error(ErrorCode::InvalidValue, "EncodedSelection", "extent", offset)
                      .with_found(extent[i])
                      .with_expected(chunk_dims[i]));
  H5_ASSIGN(const auto selected, ElementSelection::make(decoded.selection, extent));
  const auto bytes = checked_mul(selected.count(), element_size);
  if (!bytes || *bytes != values.size())
    return fail(Error(ErrorCode::InvalidValue, "StructuredChunk", "values", offset)
                    .with_found(values.size())
                    .with_expected(bytes.value_or(0))
                    .with_detail("section 1 does not hold one value for each selected element"));
  // If the encoded extent is smaller than the chunk, its rows are shorter than the chunk's.
  const bool same_rows = std::ranges::equal(extent, chunk_dims);
  std::vector<Run> runs;
  bool too_many = false;
  std::uint64_t total = 1;
  for (const std::uint64_t d : extent) total *= d;
  const auto add = [&](std::uint64_t linear, std::uint64_t n, std::uint64_t ordinal) {
    while (n > 0) {
      std::uint64_t part = n, at = linear;
      if (!same_rows) {
        part = std::min(n, extent.back() - linear % extent.back());
        std::uint64_t place[limits::kMaxRank];
        row_major_place(linear, extent, place);
        at = row_major_number(place, chunk_dims);
      }
      if (!runs.empty() && runs.back().linear == at)
        runs.pop_back();  // a point is listed twice: the later value counts
      if (runs.size() >= values.size() / element_size + 1) return too_many = true, false;
      runs.push_back({at, part, ordinal});
      linear += part, ordinal += part, n -= part;
    }
    return true;
  };
  selected.for_each_in_range(0, total, add);
  if (too_many) return fail(Error(ErrorCode::Internal, "more runs than elements"));
  const BlockHeader header{runs.size(), values.size()};
  const std::size_t run_bytes = runs.size() * sizeof(Run);
  auto block = std::make_shared<cache::Block>(sizeof header + run_bytes + values.size());
  std::byte* out = block->bytes().data();
  std::memcpy(out, &header, sizeof header);
  if (run_bytes > 0) std::memcpy(out + sizeof header, runs.data(), run_bytes);
  if (!values.empty()) std::memcpy(out + sizeof header + run_bytes, values.data(), values.size());
  return block;
}

}  // namespace h5mount::dataset

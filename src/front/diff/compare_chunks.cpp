// Datasets that lie in the same chunks, chunk by chunk: as they are stored where that decides, else decoded.
#include <algorithm>
#include <cstring>

#include "compared_side.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"

namespace h5mount::front {
namespace {

using dataset::StoredChunks;
using Stored = StoredChunks::Stored;

constexpr std::uint64_t kStepsPerChunkPair = 2 * limits::kStepsPerIndexedChunk;
constexpr std::uint64_t kChunksBytes = 4U << 20;    // decoded, of what one worker compares at a time
constexpr std::uint64_t kMostChunks = 4096;         // of one part
constexpr std::uint64_t kStoredBytes = 128U << 10;  // that are read at once

// Where the chunks lie in the dataset.
struct ChunkGrid {
  std::vector<std::uint64_t> dims, chunk, grid;

  explicit ChunkGrid(const object::DatasetDescription& dataset)
      : dims(dataset.space.dims), chunk(dataset.layout.chunk_dims) {
    for (std::size_t i = 0; i < dims.size(); ++i) grid.push_back(divide_up(dims[i], chunk[i]));
  }
  std::uint64_t elements() const {
    std::uint64_t n = 1;
    for (const std::uint64_t dim : chunk) n *= dim;
    return n;
  }
  // The chunk that begins with an element; the number of chunks for the number of elements.
  std::optional<std::uint64_t> chunk_at(std::uint64_t element) const {
    std::vector<std::uint64_t> at(dims.size());
    for (std::size_t i = dims.size(); i-- > 1; element /= dims[i]) at[i] = element % dims[i];
    at[0] = element;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (at[i] % chunk[i] != 0 && at[0] != dims[0]) return std::nullopt;
      at[i] = divide_up(at[i], chunk[i]);
    }
    return row_major_number(at, grid);
  }
  std::vector<std::uint64_t> origin(std::uint64_t number) const {
    std::vector<std::uint64_t> at(dims.size());
    row_major_place(number, grid, at);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] *= chunk[i];
    return at;
  }
  std::uint64_t first_element(std::uint64_t number) const { return row_major_number(origin(number), dims); }
};

// The elements of one chunk that are in the dataset.
class ChunkElements {
 public:
  ChunkElements(const ChunkGrid& grid, std::uint64_t number) : grid_(grid), origin_(grid.origin(number)) {
    for (std::size_t i = 0; i < origin_.size(); ++i)
      extent_.push_back(std::min(grid.chunk[i], grid.dims[i] - origin_[i]));
  }
  std::uint64_t number_of(std::uint64_t in_chunk) const {
    std::vector<std::uint64_t> at(origin_.size());
    row_major_place(in_chunk, grid_.chunk, at);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += origin_[i];
    return row_major_number(at, grid_.dims);
  }
  // Visits them as runs that lie one behind the other in the chunk: run(first, count).
  template <class Run>
  Status for_each_run(Run run) const {
    std::size_t whole = extent_.size();  // dimensions from here on are not cut
    std::uint64_t count = 1;
    while (whole > 0 && extent_[whole - 1] == grid_.chunk[whole - 1]) count *= extent_[--whole];
    if (whole > 0) count *= extent_[--whole];
    std::vector<std::uint64_t> at(extent_.size());
    do {
      H5_TRY(run(row_major_number(at, grid_.chunk), count));
    } while (next_row_major(std::span(at).first(whole), std::span(extent_).first(whole)));
    return {};
  }

 private:
  const ChunkGrid& grid_;
  const std::vector<std::uint64_t> origin_;
  std::vector<std::uint64_t> extent_;
};

// The chunks [first, first + count) of both sides; one thread.
class ChunksPart {
 public:
  ChunksPart(const ComparedSides& sides, const ChunkGrid& grid, bool stored_decide, bool same_fill,
             ElementsPart& part)
      : sides_(sides), grid_(grid), stored_decide_(stored_decide), same_fill_(same_fill), part_(part) {}

  Status compare(std::uint64_t first, std::size_t count) {
    H5_TRY(part_.budget().spend(kStepsPerChunkPair * count));
    of_a_.resize(count);
    of_b_.resize(count);
    const Status a = dataset::stored_chunks_of(sides_.a.reader())->find_stored_run(first, of_a_);
    const Status b = dataset::stored_chunks_of(sides_.b.reader())->find_stored_run(first, of_b_);
    // Some of them may be found when they are read by themselves.
    const bool found = a && b;
    if (found) announce();
    for (std::size_t i = 0; i < count;) {
      const std::size_t end = found && stored_decide_ ? end_of_run(i) : i;
      if (end > i)
        H5_TRY(compare_stored(first, i, end));
      else if (!same_fill_ || !found || of_a_[i].bytes != 0 || of_b_[i].bytes != 0)
        H5_TRY(compare_decoded(first + i));
      i = std::max(i + 1, end);
    }
    return {};
  }

 private:
  // Whether the stored bytes of two chunks may be held against each other.
  bool comparable(std::size_t i) const {
    return of_a_[i].bytes == of_b_[i].bytes && of_a_[i].filtered && of_b_[i].filtered &&
           of_a_[i].source != nullptr && of_b_[i].source != nullptr;
  }
  static bool follows(const Stored& next, const Stored& before) {
    return next.source == before.source && next.address == before.address + before.bytes;
  }
  // The chunks from `i` on whose stored bytes are read at once; `i` itself: none.
  std::size_t end_of_run(std::size_t i) const {
    if (!comparable(i)) return i;
    std::uint64_t bytes = of_a_[i].bytes;
    for (++i; i < of_a_.size() && comparable(i); ++i) {
      bytes += of_a_[i].bytes;
      if (bytes > kStoredBytes || !follows(of_a_[i], of_a_[i - 1]) || !follows(of_b_[i], of_b_[i - 1])) break;
    }
    return i;
  }

  Status compare_stored(std::uint64_t first, std::size_t begin, std::size_t end) {
    H5_TRY(part_.budget().spend(steps_of_bytes(of_a_[begin].bytes)));
    if (end == begin + 1) return stored_equal(begin) ? Status() : compare_decoded(first + begin);
    const std::uint64_t bytes = of_a_[end - 1].address + of_a_[end - 1].bytes - of_a_[begin].address;
    const ByteSpan a = read(of_a_[begin], 0, bytes, stored_a_), b = read(of_b_[begin], 0, bytes, stored_b_);
    const bool both = !a.empty() && !b.empty();
    if (both && std::memcmp(a.data(), b.data(), a.size()) == 0) return {};
    for (std::size_t i = begin, at = 0; i < end; at += of_a_[i++].bytes)
      if (!both || std::memcmp(a.data() + at, b.data() + at, of_a_[i].bytes) != 0)
        H5_TRY(compare_decoded(first + i));
    return {};
  }

  bool stored_equal(std::size_t i) {
    for (std::uint64_t at = 0; at < of_a_[i].bytes; at += kStoredBytes) {
      const std::uint64_t n = std::min(kStoredBytes, of_a_[i].bytes - at);
      const ByteSpan a = read(of_a_[i], at, n, stored_a_), b = read(of_b_[i], at, n, stored_b_);
      if (a.empty() || b.empty() || std::memcmp(a.data(), b.data(), a.size()) != 0) return false;
    }
    return true;
  }

  // Empty: it cannot be read, as decoding will tell.
  static ByteSpan read(const Stored& stored, std::uint64_t offset, std::uint64_t bytes, ScratchBuffer& into) {
    const MutableByteSpan out = into.grown(static_cast<std::size_t>(std::max(bytes, kStoredBytes)))
                                    .first(static_cast<std::size_t>(bytes));
    return stored.source->read_at(stored.address + offset, out) ? ByteSpan(out) : ByteSpan();
  }

  Status compare_decoded(std::uint64_t chunk) {
    dataset::Pieces a, b;
    H5_TRY(decode(sides_.a, chunk, a));
    H5_TRY(decode(sides_.b, chunk, b));
    if (a.total() == 0 || b.total() == 0) return {};  // noted
    PieceBytes bytes_a(sides_.a.cache(), a, 0), bytes_b(sides_.b.cache(), b, 0);
    const ChunkElements elements(grid_, chunk);
    part_.begin_again(elements.number_of(0));
    return elements.for_each_run([&](std::uint64_t first, std::uint64_t count) {
      return compare_bytes(
          bytes_a, bytes_b, first, count, [&](std::uint64_t i) { return elements.number_of(i); }, part_);
    });
  }

  Status decode(const ComparedSide& side, std::uint64_t chunk, dataset::Pieces& out) {
    const std::uint64_t bytes = grid_.elements() * side.element_size();
    H5_TRY(side.budget.spend(steps_of_bytes(bytes)));
    const Status read = side.reader().read_chunk(chunk, 0, bytes, out, side.budget);
    return read ? read : part_.note(&side == &sides_.a ? Which::A : Which::B, read.error());
  }

  // Far sources begin to fetch what is going to be read.
  void announce() const {
    for (const auto* side : {&of_a_, &of_b_}) {
      std::vector<ByteRange> ranges;
      const io::ByteSource* source = nullptr;
      for (const Stored& stored : *side) {
        if (stored.bytes == 0 || !stored.source || !stored.source->far()) continue;
        if (source != nullptr && source != stored.source.get()) break;
        source = stored.source.get();
        ranges.push_back({stored.address, stored.address + stored.bytes});
      }
      if (source != nullptr) source->will_read(ranges);
    }
  }

  const ComparedSides& sides_;
  const ChunkGrid& grid_;
  const bool stored_decide_, same_fill_;
  ElementsPart& part_;
  std::vector<Stored> of_a_, of_b_;
  ScratchBuffer stored_a_, stored_b_;
};

}  // namespace

Result<bool> have_same_fill(const ComparedSides& sides) {
  if (sides.a.fill.empty() || sides.b.fill.empty()) return false;
  ElementComparison::Work work{sides.a.context, sides.b.context};
  ElementComparison::Differing differing;
  H5_TRY(sides.comparison.compare(sides.a.fill, sides.b.fill, 0, work, differing));
  return differing.count == 0 && !work.failure_a && !work.failure_b;
}

bool have_same_chunks(const ComparedSides& sides) {
  const auto& a = sides.a.description();
  const auto& b = sides.b.description();
  return dataset::stored_chunks_of(sides.a.reader()) != nullptr &&
         dataset::stored_chunks_of(sides.b.reader()) != nullptr && a.space.dims == b.space.dims &&
         !a.space.dims.empty() && a.layout.chunk_dims.size() == a.space.dims.size() &&
         a.layout.chunk_dims == b.layout.chunk_dims;
}

Status compare_chunks(const ComparedSides& sides, std::uint64_t begin, std::uint64_t end) {
  const ChunkGrid grid(sides.a.description());
  const auto first = grid.chunk_at(begin), last = grid.chunk_at(end);
  if (!first || !last) return fail({ErrorCode::UnsupportedFeature, "a part of chunks"});
  const bool stored_decide =
      sides.comparison.bytes_decide() &&
      dataset::same_decoding(sides.a.description().pipeline.filters, sides.b.description().pipeline.filters);
  H5_ASSIGN(const bool same_fill, have_same_fill(sides));
  const std::uint64_t bytes =
      std::max<std::uint64_t>(1, grid.elements() * std::max(sides.a.element_size(), sides.b.element_size()));
  const std::uint64_t of_part = std::clamp<std::uint64_t>(kChunksBytes / bytes, 1, kMostChunks);
  const auto chunk = [&](std::uint64_t i) { return *first + i * of_part; };
  return compare_parts(
      sides.workers, divide_up(*last - *first, of_part), of_part * bytes, sides.total,
      [&](std::uint64_t i) { return sides.part(grid.first_element(chunk(i))); },
      [&](std::uint64_t i, ElementsPart& part) {
        return ChunksPart(sides, grid, stored_decide, same_fill, part)
            .compare(chunk(i), static_cast<std::size_t>(std::min(of_part, *last - chunk(i))));
      });
}

}  // namespace h5mount::front

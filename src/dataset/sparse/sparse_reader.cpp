#include "sparse_reader.h"

#include <algorithm>

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kMinHole = 64U << 10;        // the shortest gap that SEEK_HOLE reports
constexpr std::uint64_t kMaxChunksAhead = 1U << 10;  // chunks in one row block

}  // namespace

Result<std::shared_ptr<const DatasetReader>> SparseReader::open(const ReadEnvironment& environment,
                                                                const object::OpenedFilePtr& file,
                                                                object::DatasetDescription description) {
  H5_ASSIGN(auto store, SparseStore::open(environment, file, description));
  return std::shared_ptr<const SparseReader>(
      new SparseReader(environment, std::move(description), std::move(store)));
}

SparseReader::SparseReader(const ReadEnvironment& environment, object::DatasetDescription description,
                           std::unique_ptr<SparseStore> store)
    : DatasetReader(std::move(description)),
      store_(std::move(store)),
      plan_(store_->plan()),
      fill_(this->description().fill, this->description().element_size),
      allocation_(plan_, store_->index()),
      list_(*store_),
      readahead_(environment.cache, environment.workers, environment.counters, plan_.full_row_block_bytes(),
                 plan_.chunks_per_row_block() <= kMaxChunksAhead ? plan_.row_block_count() : 0) {}

Status SparseReader::read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const {
  if (offset >= size()) return {};
  length = std::min(length, size() - offset);
  if (length == 0) return {};
  ReadPattern* const pattern = access.pattern;
  const bool forward = pattern != nullptr && pattern->note(offset, length);
  H5_ASSIGN(const Blocks blocks, blocks_of(offset, length, access.budget));
  if (std::ranges::none_of(blocks, [](const auto& b) { return b.second != nullptr; })) {
    fill_.append(offset, length, out);
  } else {
    auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(length));
    assemble(blocks, offset, block->bytes());
    out.add(block->bytes(), block);
  }
  if (forward) readahead_.advance(shared_from_this(), plan_.row_block_at(offset + length - 1), *pattern);
  return {};
}

void SparseReader::make_unit(std::uint64_t row_block) const {
  const std::uint64_t chunks = plan_.chunks_per_row_block();
  for (std::uint64_t chunk = row_block * chunks; chunk < (row_block + 1) * chunks; ++chunk)
    (void)store_->chunk_block(chunk, Unbounded());
}

Status SparseReader::read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  H5_TRY(check_inside(offset, out.size()));
  H5_ASSIGN(const Blocks blocks, blocks_of(offset, out.size(), budget));
  assemble(blocks, offset, out);
  return {};
}

Result<SparseReader::Blocks> SparseReader::blocks_of(std::uint64_t offset, std::uint64_t length,
                                                     RequestBudget& budget) const {
  Blocks blocks;
  Status status;
  plan_.for_each_image_run(offset, length, [&](std::uint64_t chunk, std::uint64_t, std::uint64_t) {
    if (blocks.contains(chunk)) return true;
    auto block = store_->chunk_block(chunk, budget);
    if (!block) return status = fail(std::move(block).error()), false;
    blocks.emplace(chunk, std::move(*block));
    return true;
  });
  H5_TRY(std::move(status));
  return blocks;
}

void SparseReader::assemble(const Blocks& blocks, std::uint64_t offset, MutableByteSpan out) const {
  fill_.write(offset, out);
  const std::uint64_t e = plan_.element_size();
  std::byte* to = out.data();
  plan_.for_each_image_run(
      offset, out.size(), [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
        std::byte* const run = to;
        to += bytes;
        const cache::BlockPtr& block = blocks.at(chunk);
        if (!block) return true;
        const SparseChunk sparse(block);
        const auto runs = sparse.runs();
        auto it = std::ranges::upper_bound(runs, at / e, {}, &SparseChunk::Run::linear);
        if (it != runs.begin()) --it;
        for (; it != runs.end() && it->linear * e < at + bytes; ++it) {
          const std::uint64_t begin = std::max(at, it->linear * e);
          const std::uint64_t end = std::min(at + bytes, (it->linear + it->length) * e);
          if (begin < end)
            std::memcpy(run + (begin - at),
                        sparse.values().data() + it->ordinal * e + (begin - it->linear * e),
                        static_cast<std::size_t>(end - begin));
        }
        return true;
      });
}

Result<std::uint64_t> SparseReader::find_data(std::uint64_t offset, RequestBudget& budget) const {
  if (offset < size() && !fill_.is_zero()) return offset;
  do {
    H5_TRY(budget.spend(limits::kStepsPerIndexedChunk));
    H5_ASSIGN(offset, allocation_.find_data(offset, budget));
    const std::uint64_t end = plan_.row_block_offset(plan_.row_block_at(offset) + 1);
    const std::uint64_t found = list_.next_defined(offset, budget);
    if (found < end) return found;
    offset = end;
  } while (offset < size());
  return fail(Error(ErrorCode::NotFound, "no data after this offset"));
}

// Gaps that are not worth two system calls are not reported as holes.
Result<std::uint64_t> SparseReader::find_hole(std::uint64_t offset, RequestBudget& budget) const {
  if (offset >= size()) return fail(Error(ErrorCode::NotFound, "offset beyond the end"));
  if (!fill_.is_zero()) return size();
  for (std::uint64_t at = offset; at < size();) {
    H5_TRY(budget.spend(limits::kStepsPerIndexedChunk));
    H5_ASSIGN(const std::uint64_t hole, allocation_.find_hole(at, budget));
    if (hole == at) return at;
    const std::uint64_t end = plan_.row_block_offset(plan_.row_block_at(at) + 1);
    const std::uint64_t found = list_.next_defined(at, budget);
    if (found >= end || found - at >= kMinHole) return at;
    at = std::min(end, list_.end_of_defined(found, budget));
  }
  return size();
}

}  // namespace h5mount::dataset

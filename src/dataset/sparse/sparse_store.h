// SparseStore: the chunks of a sparse dataset (layout class 4) by row-major number. Each is read, decoded and
// cached as selection and values, never as a dense chunk. Threads: any; no lock is held while reading or
// decoding.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "../chunked/chunk_plan.h"
#include "h5mount/dataset/open_dataset.h"
#include "h5mount/filter/filter.h"
#include "sparse_chunk.h"

namespace h5mount::dataset {

class SparseStore {
 public:
  // Kinds of blocks under `owner` in the cache.
  static constexpr std::uint64_t kChunk = 0, kRowBlockList = 1;

  static Result<std::unique_ptr<SparseStore>> open(const ReadEnvironment& environment,
                                                   const object::OpenedFilePtr& file,
                                                   const object::DatasetDescription& description);
  ~SparseStore();
  SparseStore(const SparseStore&) = delete;
  SparseStore& operator=(const SparseStore&) = delete;

  const ChunkPlan& plan() const { return plan_; }
  const chunk::ChunkIndex& index() const { return *index_; }
  std::span<const std::uint64_t> dims() const { return dims_; }
  cache::BlockCache& cache() const { return *cache_; }
  std::uint64_t owner() const { return owner_; }
  std::optional<Error> problem() const;

  // The flat block of a chunk (sparse_chunk.h), through the cache; null if the chunk was never written.
  Result<cache::BlockPtr> chunk_block(std::uint64_t chunk, RequestBudget& budget) const;

  // Visits the chunk's defined elements within the extent: visit(number of the element in the image, its
  // bytes).
  template <class Visit>
  Status for_each_element(std::uint64_t chunk, RequestBudget& budget, Visit visit) const;

 private:
  SparseStore(const ReadEnvironment& environment, const metadata::FollowedFile& file,
              const object::DatasetDescription& description, const chunk::ChunkGeometry& geometry);

  Result<SparseSections> sections_of(std::uint64_t chunk, const chunk::ChunkRecord& record) const;
  Result<std::shared_ptr<cache::Block>> load_chunk(std::uint64_t chunk, const chunk::ChunkRecord& record,
                                                   RequestBudget& budget) const;
  Result<std::shared_ptr<cache::Block>> load_section(const chunk::ChunkRecord& record,
                                                     const SparseSections::Section& section,
                                                     unsigned number) const;
  Error located(const Error& error, std::uint64_t chunk, const chunk::ChunkRecord* record = nullptr) const;

  std::shared_ptr<cache::BlockCache> cache_;
  const std::shared_ptr<Counters> counters_;
  std::shared_ptr<const io::ByteSource> source_;
  std::uint64_t base_address_;  // the base address of `source_`, for error messages
  ChunkPlan plan_;
  std::vector<std::uint64_t> dims_, chunk_dims_;
  std::uint64_t dataset_address_;
  bool filtered_;
  bool partial_unfiltered_;
  std::uint8_t checksummed_;  // bit i: section i ends with a checksum
  std::unique_ptr<chunk::ChunkIndex> index_;
  std::map<unsigned, std::shared_ptr<const filter::FilterPipeline>> pipelines_;  // by section
  std::uint64_t owner_;
};

template <class Visit>
Status SparseStore::for_each_element(std::uint64_t chunk, RequestBudget& budget, Visit visit) const {
  H5_ASSIGN(const cache::BlockPtr block, chunk_block(chunk, budget));
  if (!block) return {};
  const SparseChunk sparse(block);
  const std::size_t rank = dims_.size();
  const std::uint64_t e = plan_.element_size();
  std::uint64_t scaled[limits::kMaxRank], at[limits::kMaxRank];
  plan_.scaled_of(chunk, std::span(scaled, rank));
  for (const SparseChunk::Run& s : sparse.runs()) {
    for (std::uint64_t k = 0; k < s.length; ++k) {
      row_major_place(s.linear + k, chunk_dims_, at);
      bool inside = true;
      for (std::size_t i = 0; i < rank; ++i) {
        at[i] += scaled[i] * chunk_dims_[i];
        inside = inside && at[i] < dims_[i];
      }
      if (!inside) continue;
      const auto value = static_cast<std::size_t>((s.ordinal + k) * e);
      visit(row_major_number(std::span(at, rank), dims_),
            sparse.values().subspan(value, static_cast<std::size_t>(e)));
    }
  }
  return {};
}

}  // namespace h5mount::dataset

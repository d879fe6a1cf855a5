// SparseReader: sparse storage (layout class 4) as the dense array that its file is, and as the list that it holds.
// A chunk is read and decoded as selection and values and cached so; it is never made dense.
#pragma once

#include <map>
#include <mutex>
#include <unordered_map>

#include "allocation_map.h"
#include "fill_pattern.h"
#include "h5mount/dataset/dataset_reader.h"
#include "h5mount/filter/filter.h"
#include "sparse_chunk.h"

namespace h5mount {

class SparseReader final : public DatasetReader, public SparseForm {
 public:
  static Result<std::shared_ptr<const DatasetReader>> open(const ReadEnvironment& environment, OpenedFilePtr file,
                                                           DatasetDescription description);
  ~SparseReader() override;

  Status read(std::uint64_t offset, std::uint64_t length, ReadPattern* pattern, Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out) const override;
  Result<std::uint64_t> storage_bytes() const override;
  std::optional<std::uint64_t> storage_bytes_known() const override;
  Result<std::uint64_t> find_data(std::uint64_t offset) const override;
  Result<std::uint64_t> find_hole(std::uint64_t offset) const override;
  std::optional<Error> problem() const override;

  const SparseForm* sparse_form() const override { return this; }
  Result<std::uint64_t> count() const override;
  Status read_coordinates(std::uint64_t offset, std::uint64_t length, Pieces& out) const override;
  Status read_values(std::uint64_t offset, std::uint64_t length, Pieces& out) const override;

 private:
  SparseReader(const ReadEnvironment& environment, OpenedFilePtr file, DatasetDescription description,
               const ChunkGeometry& geometry);

  // The chunks that a range of the image touches.
  using Blocks = std::unordered_map<std::uint64_t, BlockPtr>;
  Result<Blocks> blocks_of(std::uint64_t offset, std::uint64_t length) const;
  void assemble(const Blocks& blocks, std::uint64_t offset, MutableByteSpan out) const;

  // The chunk's flat block; null where it was never written.
  Result<BlockPtr> chunk_block(std::uint64_t chunk) const;
  Result<std::shared_ptr<Block>> load_chunk(std::uint64_t chunk, const ChunkRecord& record) const;
  Result<std::shared_ptr<Block>> load_section(const ChunkRecord& record, const SparseSections::Section& section,
                                              unsigned number) const;
  Error located(const Error& error, std::uint64_t chunk, const ChunkRecord* record = nullptr) const;
  Result<std::shared_ptr<const AllocationMap>> allocation() const;

  // The list form: elements of one band, in image order: an array of image element numbers, then their values.
  struct BandCounts {
    std::vector<std::uint64_t> bands;   // with any defined element, ascending
    std::vector<std::uint64_t> before;  // elements in all bands before; one entry more than bands
    std::vector<std::uint64_t> chunks;  // with elements, in order: 8 bytes for each that the file holds
  };
  Result<std::shared_ptr<const BandCounts>> band_counts() const;
  Result<std::uint64_t> count_in_chunk(std::uint64_t chunk) const;
  // `expected`: how many there will be, where that is known (0: not).
  Result<BlockPtr> band_list(std::uint64_t band, std::uint64_t expected) const;
  Result<std::vector<std::uint64_t>> chunks_of_band(std::uint64_t band) const;
  Result<std::shared_ptr<Block>> make_band_list(std::uint64_t band, std::uint64_t expected) const;
  std::uint64_t next_defined(std::uint64_t at) const;
  std::uint64_t end_of_defined(std::uint64_t at) const;
  template <class Visit>  // visit(image element, value bytes), elements within the extent, chunk by chunk
  Status for_each_element(std::uint64_t chunk, Visit visit) const;
  template <class Render>  // render(list, first, count, out bytes) for items of `item_bytes`
  Status read_list(std::uint64_t item_bytes, std::uint64_t offset, std::uint64_t length, Pieces& out,
                   Render render) const;

  std::shared_ptr<BlockCache> cache_;
  OpenedFilePtr file_;
  ChunkPlan plan_;
  FillPattern fill_;
  bool filtered_;
  std::unique_ptr<ChunkIndex> index_;
  std::map<unsigned, std::shared_ptr<const FilterPipeline>> pipelines_;  // by section
  std::uint64_t owner_;

  mutable std::mutex mutex_;  // held only to look at and set the pointers
  mutable std::shared_ptr<const AllocationMap> allocation_;
  mutable std::shared_ptr<const BandCounts> band_counts_;
};

}  // namespace h5mount

// ConcatenatedReader: see dataset/concatenated_dataset.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "../core/fill_pattern.h"
#include "h5mount/dataset/stored_chunks.h"
#include "open_parts.h"

namespace h5mount::dataset {

class ConcatenatedReader : public DatasetReader, public std::enable_shared_from_this<ConcatenatedReader> {
 public:
  static Result<NextReader> open(const ReadEnvironment& environment, ConcatenatedDataset whole,
                                 const DatasetReaderPtr& previous, std::size_t most_open = OpenParts::kMost);

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override;
  Status read_runs(std::span<const ByteRun> runs, MutableByteSpan out, RequestBudget& budget) const override;
  Status read_chunk(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length, Pieces& out,
                    RequestBudget& budget) const override;
  std::optional<StoredRun> stored_place(std::uint64_t offset) const override;
  NamedSources named_sources(std::size_t most, RequestBudget& budget) const override;
  bool sources_changed() const override { return parts_.changed(); }
  std::size_t memory_bytes() const override { return parts_.memory_bytes(); }

  // For `open`.
  ConcatenatedReader(const ReadEnvironment& environment, std::shared_ptr<const ConcatenatedDataset> whole,
                     const OpenParts* before, std::size_t most_open);

 protected:
  const ConcatenatedDataset& whole() const { return *whole_; }
  const OpenParts& parts() const { return parts_; }
  // The part in which a chunk begins.
  std::size_t part_of_chunk(std::uint64_t chunk) const;
  // The number of the part's chunk whose elements are those of a chunk of the whole; nullopt: there is none.
  std::optional<std::uint64_t> chunk_in_part(std::uint64_t chunk, std::size_t part,
                                             const OpenPart& open) const;
  // Passes pieces of a part on: mapped ones so that they are confirmed when they were copied.
  Result<Pieces> passed_on(std::size_t part, const OpenPartPtr& open, Pieces pieces,
                           ReadPattern* pattern) const;

 private:
  // Bytes of one part, and where they are in what is read.
  struct PartRun {
    std::size_t part;
    std::uint64_t row, at;  // and the byte within the part of that row
    std::uint64_t bytes;
    std::uint64_t image;  // in the image of the whole
    std::size_t out;
  };
  class PassedOn;

  bool is_outer() const { return rows_ == 1; }
  std::uint64_t begin_of(std::size_t part) const { return starts_[part] * inner_; }  // in a row
  std::size_t part_at(std::uint64_t place) const;
  std::uint64_t split(const ByteRun& range, std::size_t out, std::vector<PartRun>& runs) const;
  Status read_piece(const PartRun& run, ReadAccess access, Pieces& out) const;
  Status read_parts(std::vector<PartRun>& runs, MutableByteSpan out, RequestBudget& budget) const;
  Status read_part(std::span<const PartRun> runs, MutableByteSpan out, RequestBudget& budget) const;
  Status copy_from(const OpenPart& open, std::span<const PartRun> runs, MutableByteSpan out,
                   RequestBudget& budget) const;
  void read_ahead(std::uint64_t end, ReadPattern& pattern) const;
  void close_behind(std::uint64_t offset, ReadPattern& pattern) const;
  void begin_part(std::size_t part, bool soon, ReadPattern& pattern) const;
  std::vector<ByteRange> stale_since(const ConcatenatedReader& before) const;
  bool same_elements(const ConcatenatedReader& before) const;

  const std::shared_ptr<const ConcatenatedDataset> whole_;
  const std::vector<std::uint64_t>& starts_;
  const FillPattern gap_;
  const OpenParts parts_;
  const std::shared_ptr<cache::WorkerPool> workers_;
  const std::shared_ptr<Counters> counters_;
  std::uint64_t rows_ = 1;       // positions of the dimensions before
  std::uint64_t inner_ = 1;      // bytes from one place to the next
  std::uint64_t row_bytes_ = 0;  // of all places
};

// The same if the chunks of its parts are its own.
class ConcatenatedChunks final : public ConcatenatedReader, public StoredChunks {
 public:
  using ConcatenatedReader::ConcatenatedReader;

  Status find_stored_run(std::uint64_t first, std::span<Stored> out) const override;
  Status read_stored(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                     Pieces& out) const override;
  Status verify_stored(std::uint64_t chunk) const override;

 private:
  template <class Use>
  Status use_chunk(std::uint64_t chunk, Use&& use) const;
  Status find_in_part(std::size_t part, const OpenPart& open, std::uint64_t first,
                      std::span<Stored> out) const;
};

}  // namespace h5mount::dataset

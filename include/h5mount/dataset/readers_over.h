// Readers over another reader, for what is derived from a dataset. Threads: any.
#pragma once

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

// A reader whose elements are made whole.
class ElementsReader : public DatasetReader {
 public:
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const final;

 protected:
  using DatasetReader::DatasetReader;

 private:
  // Makes the elements from `first` on; `out` is of their size.
  virtual Status read_elements(std::uint64_t first, MutableByteSpan out, RequestBudget& budget) const = 0;
};

// What the kinds below ask the other reader.
class ReaderOver : public DatasetReader {
 public:
  bool sources_changed() const override { return base_->sources_changed(); }
  std::optional<Error> problem() const override { return base_->problem(); }
  MissingSources missing_sources() const override { return base_->missing_sources(); }

 protected:
  ReaderOver(object::DatasetDescription shown, DatasetReaderPtr base)
      : DatasetReader(std::move(shown)), base_(std::move(base)) {}
  const DatasetReaderPtr& base() const { return base_; }

 private:
  const DatasetReaderPtr base_;
};

// The same image under another description.
class SameImageReader : public ReaderOver {
 public:
  SameImageReader(object::DatasetDescription shown, DatasetReaderPtr base)
      : ReaderOver(std::move(shown), std::move(base)) {}

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override {
    return base()->read(offset, length, access, out);
  }
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override {
    return base()->read_into(offset, out, budget);
  }
  Result<WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const override {
    return base()->written_run(offset, budget);
  }
};

// Units of `shown` bytes, each of which is made of `stored` bytes of the other image.
class UnitsReader : public ReaderOver {
 public:
  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override;
  Result<WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const override;

  // The bytes that become stale with those of the other image.
  std::vector<ByteRange> stale(std::span<const ByteRange> of_base) const;

 protected:
  UnitsReader(object::DatasetDescription shown, DatasetReaderPtr base, std::uint64_t stored_bytes,
              std::uint64_t shown_bytes)
      : ReaderOver(std::move(shown), std::move(base)), stored_(stored_bytes), shown_(shown_bytes) {}

 private:
  // Makes whole units.
  virtual Status make(ByteSpan stored, MutableByteSpan shown) const = 0;
  Status make_units(std::uint64_t first, ByteSpan stored, MutableByteSpan shown) const;
  Status fill(std::uint64_t offset, MutableByteSpan out, ReadAccess access) const;
  Status fill_some(std::uint64_t offset, MutableByteSpan out, ReadAccess access) const;

  const std::uint64_t stored_, shown_;
};

}  // namespace h5mount::dataset

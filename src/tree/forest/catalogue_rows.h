// CatalogueRows: the rows of one file of a catalogue, one after the other in a spool. Threads: one.
#pragma once

#include "h5mount/tree/catalogue_row.h"
#include "spool.h"

namespace h5mount::tree {

class CatalogueRows {
 public:
  // Begins again with no rows. More bytes than `most` are an error (TooLarge).
  void clear(std::uint64_t most);
  Status add(const CatalogueRow& row);
  std::uint64_t bytes() const { return spool_.size(); }

  // Reads the row at `at`, which is moved to the next one; false at the end.
  Result<bool> read(std::uint64_t& at, CatalogueRow& row) const;
  template <class Take>
  Status for_each(Take&& take) const {
    CatalogueRow row;
    for (std::uint64_t at = 0;;) {
      H5_ASSIGN(const bool more, read(at, row));
      if (!more) return {};
      H5_TRY(take(row));
    }
  }

 private:
  Spool spool_;
  std::uint64_t most_ = 0;
};

// A line of metadata.jsonl, with its newline. `file`: its path in the forest.
std::string row_line(std::string_view file, const CatalogueRow& row);

}  // namespace h5mount::tree

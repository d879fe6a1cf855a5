// Datasets one behind the other along a dimension, as one dataset. On the outermost dimension their images
// lie one behind the other, and a read passes on the pieces of the part's reader; on an inner one rows are
// interleaved. Parts are opened when a read first touches them, and a bounded number is kept open; ahead of
// a reader that goes forward the next part is opened and told. Threads: any; no lock is held while a part is
// opened or read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/dataset/open_dataset.h"

namespace h5mount::dataset {

// A part, opened. Its shape is that of the whole but for the dimension; its type is converted as those of
// the sources of virtual datasets are, values of variable length and all.
struct OpenedPart {
  DatasetReaderPtr reader;     // null: a gap, which is the fill value
  object::OpenedFilePtr file;  // in which it lies
  // Opens that file again, for values of variable length that are read later.
  std::function<Result<std::shared_ptr<metadata::FollowedFile>>()> reopen = nullptr;
};

class ConcatenatedParts {
 public:
  virtual ~ConcatenatedParts() = default;
  // Of a scalar there is one part, with one place. Part i has the places [starts[i], starts[i + 1]);
  // ascending, one more than there are parts. Constant.
  virtual const std::vector<std::uint64_t>& starts() const = 0;
  // Equal for parts, of this dataset and of one of its next states, that have the same elements in their
  // first places and differ at most in how many there are.
  virtual std::uint64_t identity(std::size_t part) const = 0;
  // Opens a part. Errors are those of reading its places.
  virtual Result<OpenedPart> open(std::size_t part, RequestBudget& budget) const = 0;
  // The part's file, for messages and lists; empty: it has no name.
  virtual std::string name(std::size_t part) const { return (void)part, std::string(); }
  // Fails if the part's file is no longer the one that was planned with. Costs little.
  virtual Status check(std::size_t part) const = 0;
};

struct ConcatenatedDataset {
  object::OpenedFilePtr file;  // of the dataset that is made
  object::DatasetDescription description;
  std::size_t dimension = 0;
  std::vector<std::byte> gap_fill;  // an element; empty: zeros
  std::shared_ptr<const ConcatenatedParts> parts;
  bool stored_chunks = false;  // the chunks of the parts are those of the whole (dataset/stored_chunks.h)
};

// `previous`: the reader of an earlier state that this function has made, or null.
Result<NextReader> open_concatenated(const ReadEnvironment& environment, ConcatenatedDataset whole,
                                     const DatasetReaderPtr& previous);

}  // namespace h5mount::dataset

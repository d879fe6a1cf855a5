// Version 2 B-trees (specification III.A.2). The reader is generic: the caller interprets the records.
//
// A search reads one node a level. Decoded nodes are kept in a small bounded cache of the tree, so one object
// serves many searches; after the file has changed, open the tree again. Depth, node sizes and record counts
// are bounded; a walk that meets a child for the second time ends with Cycle. Threads: const functions from
// any thread; no lock is held while reading.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "h5mount/format/btree2_node.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class BTree2 {
 public:
  // Fails with InvalidValue for a tree of other records than `expected`.
  static Result<std::shared_ptr<const BTree2>> open(FileMetadataPtr file, std::uint64_t header_address,
                                                    const format::BTree2Records& expected);
  virtual ~BTree2() = default;

  virtual std::uint8_t type() const = 0;  // 1 … 11 (12, 13: sparse chunks)
  virtual std::uint16_t record_size() const = 0;
  virtual std::uint64_t record_count() const = 0;  // as the header states it
  virtual std::uint64_t file_offset() const = 0;   // absolute offset of the header

  // Returns a negative number if the record searched for lies before `record`, 0 if it is `record`, and a
  // positive number if it lies after.
  using Compare = std::function<Result<int>(ByteSpan record)>;
  // Any record that compares equal, with the absolute file offset of its bytes; nullopt if there is none.
  struct Record {
    std::vector<std::byte> bytes;
    std::uint64_t file_offset = 0;
  };
  virtual Result<std::optional<Record>> find(const Compare& compare) const = 0;

  // Visits all records in key order (for_each), or those from the first one on that does not lie before the
  // record searched for (for_each_from). `visit` returns false to stop.
  using Visit = std::function<Result<bool>(ByteSpan record, std::uint64_t file_offset)>;
  // `damaged` receives the error of a node that cannot be read; only the records below that node are missing.
  // Without `damaged` the walk ends with that error. An error of `visit` always ends it.
  using Damaged = std::function<void(const Error&)>;
  virtual Status for_each(const Visit& visit, const Damaged& damaged) const = 0;
  Status for_each(const Visit& visit) const { return for_each(visit, nullptr); }
  virtual Status for_each_from(const Compare& compare, const Visit& visit) const = 0;

  // Asks a far source for the nodes that may have records of interest, a level at a time: `between` says
  // whether any lies after one record and before another (empty: there is no such bound). Waits only for the
  // nodes that name others. Errors are met by the searches that follow.
  using Between = std::function<bool(ByteSpan after, ByteSpan before)>;
  virtual void will_visit(const Between& between) const = 0;
};

}  // namespace h5mount::metadata

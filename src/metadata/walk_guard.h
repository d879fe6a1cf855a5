// Ends walks over trees whose nodes lead back to each other. Levels that fall end a loop, but not a lattice:
// 64 levels of nodes whose children are all the same node are 2^64 steps. So no node may be met twice, and
// since nodes of a sound file do not overlap, together they cannot be larger than the file: that bounds what
// the set does not remember.
#pragma once

#include <algorithm>
#include <unordered_set>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class WalkGuard {
 public:
  explicit WalkGuard(const FileMetadata& file) : file_(file) {}

  // Called before a node of `bytes` at `address` is read; 0 where its size is known only then, and is
  // charged.
  Status enter(std::uint64_t address, std::uint64_t bytes, std::string_view structure) {
    if (met_.size() < kRemembered && !met_.insert(address).second)
      return fail(Error(ErrorCode::Cycle, structure, "address", file_.base_address() + address)
                      .with_detail("met twice"));
    return charge(address, bytes, structure);
  }

  Status charge(std::uint64_t address, std::uint64_t bytes, std::string_view structure) {
    bytes_ += std::max(bytes, kLeastNode);
    if (bytes_ > most_bytes_) most_bytes_ = file_.addresses()->stored_bytes();  // a file may grow
    if (bytes_ > most_bytes_)
      return fail(Error(ErrorCode::Cycle, structure, "address", file_.base_address() + address)
                      .with_detail("more nodes than the file has room for"));
    return {};
  }

 private:
  static constexpr std::uint64_t kLeastNode = 4;        // a signature: an unread node is charged as well
  static constexpr std::size_t kRemembered = 1U << 18;  // some 10 MiB at most
  const FileMetadata& file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t most_bytes_ = 0;  // those of the file, as last asked for
  std::unordered_set<std::uint64_t> met_;
};

}  // namespace h5mount::metadata

// WalkGuard: ends walks over trees whose nodes lead back to each other. Falling levels end a loop, but not a
// lattice: 64 levels of nodes whose children are all the same node are 2^64 steps. So no node may be visited
// twice. Since nodes of a sound file do not overlap, together they are no larger than the file: that bounds
// the walk beyond the addresses that the set can hold.
#pragma once

#include <algorithm>
#include <unordered_set>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class WalkGuard {
 public:
  explicit WalkGuard(const FileMetadata& file) : file_(file) {}

  // To be called before a node of `bytes` bytes at `address` is read. `bytes` is 0 if its size is not known
  // yet; `charge` is then to be called after the read.
  Status enter(std::uint64_t address, std::uint64_t bytes, std::string_view structure) {
    if (met_.size() < kRemembered && !met_.insert(address).second)
      return fail(Error(ErrorCode::Cycle, structure, "address", file_.base_address() + address)
                      .with_detail("visited twice"));
    return charge(address, bytes, structure);
  }

  Status charge(std::uint64_t address, std::uint64_t bytes, std::string_view structure) {
    bytes_ += std::max(bytes, kMinNode);
    if (bytes_ > most_bytes_) most_bytes_ = file_.source()->stored_bytes();  // the file may have grown
    if (bytes_ > most_bytes_)
      return fail(Error(ErrorCode::Cycle, structure, "address", file_.base_address() + address)
                      .with_detail("the nodes together are larger than the file"));
    return {};
  }

 private:
  static constexpr std::uint64_t kMinNode = 4;  // a signature: nodes that cannot be read are charged too
  static constexpr std::size_t kRemembered = 1U << 18;  // at most some 10 MiB
  const FileMetadata& file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t most_bytes_ = 0;  // stored bytes of the file when last queried
  std::unordered_set<std::uint64_t> met_;
};

}  // namespace h5mount::metadata

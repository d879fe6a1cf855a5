// DirectoryPage: one reply to a request for a part of a listing. Positions in a directory: 0 is `.`, 1 is
// `..`, n + 2 is entry n of the listing. The offset of an entry in a reply is the position after it, combined
// with the number of the entry's listing. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../ops/adapter.h"
#include "../ops/guard.h"

namespace h5mount::fuse {

inline constexpr std::size_t kDots = 2;

// The offset that the kernel is given with an entry, and with which it requests the following entries.
struct ListingOffset {
  static constexpr unsigned kPositionBits = 40;
  std::uint64_t position = 0;
  std::uint64_t listing = 0;  // 0: of a directory that lasts, all listings of which are alike

  off_t packed() const { return static_cast<off_t>(listing << kPositionBits | position); }
  static ListingOffset unpacked(off_t offset) {
    const std::uint64_t bits = offset < 0 ? 0 : static_cast<std::uint64_t>(offset);
    return {bits & ((std::uint64_t{1} << kPositionBits) - 1), bits >> kPositionBits};
  }
};

// The range of a listing that one request reads.
struct PageRequest {
  std::size_t position, size;
  bool plus;  // with room for attributes
  EntryAttributes attributes = EntryAttributes::None;
  bool operator==(const PageRequest&) const = default;
};

// Entries with attributes are looked up, which counts references; the destructor drops these unless the
// kernel has accepted the reply.
class DirectoryPage {
 public:
  // `listing_number` is that of `listing`. Fills the reply.
  DirectoryPage(Adapter& adapter, tree::NodeId directory, const PageRequest& request,
                const tree::DirectoryListing& listing, std::uint64_t listing_number, RequestBudget& budget);
  ~DirectoryPage();
  DirectoryPage(const DirectoryPage&) = delete;
  DirectoryPage& operator=(const DirectoryPage&) = delete;

  const PageRequest& request() const { return request_; }
  std::size_t without() const { return without_; }  // entries without attributes
  std::size_t end() const { return end_; }          // the position after the last entry

  // Fails with Stale if a file changed while the page was filled.
  Status send(Reply& reply);

 private:
  bool add(const tree::DirectoryListing& listing, std::size_t position, RequestBudget& budget);
  bool brings_attributes(std::size_t position) const;
  std::size_t needed() const;
  void look_up(const tree::DirectoryListing& listing, std::size_t index, fuse_entry_param& entry,
               RequestBudget& budget);

  Adapter& adapter_;
  const tree::NodeId directory_;
  const PageRequest request_;
  const std::uint64_t listing_number_;
  std::size_t end_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::size_t without_ = 0;
  std::string name_;
  std::string computed_name_;  // for names that the listing computes
  std::vector<tree::NodeId> looked_up_;
  tree::FilesRead read_;
  Status unchanged_;
};

}  // namespace h5mount::fuse

// ColumnAhead: for a reader at equal distances, decodes the pages that it will need next and stores them in
// the kernel's page cache before they are requested. A page that needs no request costs such a reader less
// than any reply. One per open file. Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/tree.h"
#include "stride_pattern.h"

namespace h5mount::fuse {

class ColumnAhead : public std::enable_shared_from_this<ColumnAhead> {
 public:
  // Returns null if pages of the file cannot be stored.
  static std::shared_ptr<ColumnAhead> make(const tree::OpenNode& file, tree::NodeId node,
                                           const std::shared_ptr<tree::KernelPages>& kernel);
  ColumnAhead(tree::FixedImage image, tree::NodeId node, std::shared_ptr<tree::KernelPages> kernel);
  // Notes a request that was served.
  void note(std::uint64_t offset, std::uint64_t length);
  // Jobs that are running end soon.
  void stop() { run_ = kStopped; }

 private:
  struct Pages {
    std::uint64_t begin;  // in the node's bytes
    dataset::Pieces pieces;
  };
  void store_batch(std::uint64_t run, const StridePattern::Batch& batch, std::uint64_t first,
                   std::uint64_t last);
  bool store(std::span<const Pages> pages);
  bool as_opened();

  static constexpr std::uint64_t kStopped = format::kUnlimited;
  const tree::FixedImage image_;
  const tree::NodeId node_;
  const std::shared_ptr<tree::KernelPages> kernel_;
  std::atomic<bool> changed_ = false;   // the file; no more pages are prepared then
  std::atomic<std::uint64_t> run_ = 0;  // jobs of other runs do nothing
  Mutex mutex_;
  StridePattern pattern_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::fuse

// PagePrefetch: stores pages of an open file in the kernel's cache before they are requested, if its
// requests so far are those of a reader at equal distances (column_ahead.h). One per open file. Threads: any.
#pragma once

#include <memory>

#include "column_ahead.h"

namespace h5mount::fuse {

class PagePrefetch {
 public:
  // Returns null if pages of the file cannot be stored.
  static std::unique_ptr<PagePrefetch> make(const tree::OpenNode& file, tree::NodeId node,
                                            const std::shared_ptr<tree::KernelPages>& kernel);
  PagePrefetch(tree::FixedImage image, tree::NodeId node, const std::shared_ptr<tree::KernelPages>& kernel);
  ~PagePrefetch();  // jobs that are running end soon
  PagePrefetch(const PagePrefetch&) = delete;
  PagePrefetch& operator=(const PagePrefetch&) = delete;

  // Notes a request that was served.
  void note(std::uint64_t offset, std::uint64_t length);

 private:
  // Once the file has changed, no more pages are prepared.
  const std::shared_ptr<std::atomic<bool>> changed_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<ColumnAhead> column_;
};

}  // namespace h5mount::fuse

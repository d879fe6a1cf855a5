// ColumnAhead: has the pages that a reader at equal distances will ask for decoded and handed to the kernel
// before it asks: a request that the kernel need not make costs such a reader less than any answer could. One
// per open file. Threads: any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "h5mount/tree/tree.h"
#include "h5mount/view/text_lines.h"
#include "stride_pattern.h"

namespace h5mount::tree {

using view::DatasetReaderPtr;

class ColumnAhead : public std::enable_shared_from_this<ColumnAhead> {
 public:
  // `as_opened`: whether the file is still what the reader was opened on; asked before anything is handed on.
  ColumnAhead(DatasetReaderPtr reader, std::shared_ptr<cache::WorkerPool> workers,
              std::shared_ptr<KernelPages> kernel, NodeId node, std::function<bool()> as_opened);

  void note(std::uint64_t offset, std::uint64_t length);
  // What is under way comes to an end soon.
  void stop() { run_ = kStopped; }

 private:
  void hand_on(std::uint64_t run, const StridePattern::Batch& batch, std::uint64_t first,
               std::uint64_t last) const;

  static constexpr std::uint64_t kStopped = format::kUnlimited;
  const DatasetReaderPtr reader_;
  const std::shared_ptr<cache::WorkerPool> workers_;
  const std::shared_ptr<KernelPages> kernel_;
  const NodeId node_;
  const std::function<bool()> as_opened_;
  std::atomic<std::uint64_t> run_ = 0;  // batches of another one are left
  std::mutex mutex_;
  StridePattern pattern_;
};

}  // namespace h5mount::tree

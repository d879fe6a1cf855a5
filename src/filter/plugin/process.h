// PluginProcess: the parent's handle of one helper process. The helper is not trusted: every exchange has a
// timeout, every reply a bound. Threads: one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"
#include "h5mount/base/helper_process.h"
#include "h5mount/filter/plugins.h"

namespace h5mount::filter {

class PluginProcess {
 public:
  // Starts a helper and waits for its greeting. Fails with NotFound if no directory has a plugin for `id`.
  static Result<std::unique_ptr<PluginProcess>> start(const PluginOptions& options, int id,
                                                      std::uint64_t memory);

  // Decodes to the front of `out` and returns the number of bytes written. After FilterFailed `usable` is
  // false if the helper must be replaced.
  Result<std::size_t> decode(ByteSpan in, std::span<const std::uint32_t> values, MutableByteSpan out);
  bool usable() const { return usable_ && helper_->running(); }

 private:
  PluginProcess(std::unique_ptr<HelperProcess> helper, std::chrono::milliseconds timeout)
      : helper_(std::move(helper)), timeout_(timeout) {}
  Status greet();
  Status send(ByteSpan bytes, HelperProcess::Deadline deadline) {
    return judged(helper_->send(bytes, deadline));
  }
  Status receive(MutableByteSpan bytes, HelperProcess::Deadline deadline) {
    return judged(helper_->receive(bytes, deadline));
  }
  Status judged(const Status& exchange) const;  // reports its error as the filter's

  const std::unique_ptr<HelperProcess> helper_;
  const std::chrono::milliseconds timeout_;
  std::string name_;
  bool usable_ = true;
};

}  // namespace h5mount::filter

// PluginProcess: the parent's handle of one helper process. The helper is not trusted: every exchange has a
// timeout, every reply a bound. Threads: one at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"
#include "h5mount/filter/plugins.h"

namespace h5mount::filter {

class PluginProcess {
 public:
  // Starts a helper and waits for its greeting. NotFound where no directory has a plugin for `id`.
  static Result<std::unique_ptr<PluginProcess>> start(const PluginOptions& options, int id,
                                                      std::uint64_t memory);
  ~PluginProcess();
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;

  const std::string& plugin_name() const { return name_; }

  // Decodes to the front of `out` and returns the bytes written. On FilterFailed `usable` is false where the
  // helper must be replaced.
  Result<std::size_t> decode(ByteSpan in, std::span<const std::uint32_t> values, MutableByteSpan out);
  bool usable() const { return usable_; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  PluginProcess(pid_t pid, int socket, std::chrono::milliseconds timeout)
      : pid_(pid), socket_(socket), timeout_(timeout) {}
  Status greet();
  Status send(ByteSpan bytes, Deadline deadline);
  Status receive(MutableByteSpan bytes, Deadline deadline);
  Status wait_for(short events, Deadline deadline);
  Error ended();  // the error that describes how the helper ended
  int reap(bool kill);

  pid_t pid_;
  int socket_;
  std::chrono::milliseconds timeout_;
  std::string name_;
  bool usable_ = true;
};

}  // namespace h5mount::filter

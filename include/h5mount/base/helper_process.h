// HelperProcess: another process that works for this one and is not trusted: it runs code of others, or
// communicates with others. It has one stream socket to this process, as its standard input, and the
// descriptors that it is given.
//
//   H5_ASSIGN(auto helper, HelperProcess::start({.path = program, .words = {"a-name", "7"}}));
//   H5_TRY(helper->receive(greeting, Clock::now() + limit));  // the time that it may take to start
//
// Every exchange has its deadline. A helper that misses one is killed, and so is one that this process no
// longer needs. If this process dies, the socket is closed: a helper must end when it reads that, and needs a
// timer of its own if it runs code that may not come back to reading. A helper gives up its rights itself
// (filter/plugin/confine.h). Threads: one at a time; starting holds no lock, and none must be held.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount {

class HelperProcess {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  struct Program {
    std::string path;
    std::vector<std::string> words;     // its arguments, of which the first is its name
    std::vector<int> descriptors = {};  // of this process; in the helper they are 3, 4…
    std::vector<std::string> environment = {};
  };

  // Standard output and error are /dev/null, no signal is blocked or ignored, and all other descriptors that
  // are marked O_CLOEXEC, as all of this program's are, are closed.
  static Result<std::unique_ptr<HelperProcess>> start(const Program& program);
  ~HelperProcess();  // kills it
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // Transfers all bytes. Fails with TimedOut if the deadline has passed, or if the helper's own timer has
  // ended the helper; with Io, and the reason, if the helper has ended otherwise. After an error the helper
  // no longer runs.
  Status send(ByteSpan bytes, Deadline deadline);
  Status receive(MutableByteSpan bytes, Deadline deadline);
  bool running() const { return pid_ > 0; }

 private:
  HelperProcess(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  Status wait_for(short events, Deadline deadline);
  Error ended();
  int reap(std::chrono::milliseconds patience);

  pid_t pid_;  // 0: reaped
  UniqueFd socket_;
};

}  // namespace h5mount

// The guard around every operation: whatever the operation does, the kernel gets exactly one reply, no
// exception reaches libfuse, and an error is reported to the tree, which logs it with the names of file and
// object (Tree::report).
#pragma once

#include <fuse_lowlevel.h>

#include <cerrno>
#include <exception>
#include <new>
#include <utility>

#include "adapter.h"

namespace h5mount::fuse {

// The obligation to answer one request, and its budget. `take` passes it to the caller, who must then reply.
class Reply {
 public:
  explicit Reply(fuse_req_t request) : request_(request) {
    budget_.poll([](void* asked) { return fuse_req_interrupted(static_cast<fuse_req_t>(asked)) != 0; },
                 request);
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  fuse_req_t take() {
    budget_.poll(nullptr, nullptr);  // the request is freed with the reply
    return std::exchange(request_, nullptr);
  }
  RequestBudget& budget() { return budget_; }
  fuse_req_t peek() const { return request_; }
  bool answered() const { return request_ == nullptr; }
  void error(int errno_value) {
    if (!answered()) fuse_reply_err(take(), errno_value);
  }

 private:
  fuse_req_t request_;
  RequestBudget budget_;
};

// Separate from `guard` so that they are not instantiated for every operation. Neither throws.
void report_failure(tree::Tree& tree, fuse_ino_t node, const Error& error) noexcept;
void report_accident(tree::Tree& tree, const char* operation, fuse_ino_t node, const char* what) noexcept;

// Runs `body(reply)`, which returns a Status and replies itself where it succeeds.
template <class Body>
void guard(fuse_req_t request, const char* operation, fuse_ino_t node, Body&& body) noexcept {
  Reply reply(request);
  tree::Tree& tree = *adapter_of(request).tree;  // `request` is invalid once it was answered
  tree::tree_counters().requests.fetch_add(1, std::memory_order_relaxed);
  try {
    const std::shared_ptr<void> pin = tree.pin();
    const Status status = std::forward<Body>(body)(reply);
    if (!status) {
      // A process that was interrupted is told so; nothing is wrong with the file.
      if (status.error().code() != ErrorCode::Interrupted) report_failure(tree, node, status.error());
      reply.error(status.error().errno_value());
    } else if (!reply.answered()) {
      report_accident(tree, operation, node, "no reply was made");
    }
  } catch (const std::bad_alloc&) {
    reply.error(ENOMEM);
  } catch (const std::exception& exception) {
    report_accident(tree, operation, node, exception.what());
  } catch (...) {
    report_accident(tree, operation, node, "unknown exception");
  }
  reply.error(EIO);
}

}  // namespace h5mount::fuse

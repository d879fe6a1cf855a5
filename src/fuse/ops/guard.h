// The guard around every operation: whatever the operation does, the kernel gets exactly one reply, no
// exception reaches libfuse, and an error is reported to the tree, which logs it with the names of file and
// object (Tree::report).
#pragma once

#include <fuse_lowlevel.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "../loop/request_watch.h"
#include "adapter.h"

namespace h5mount::fuse {

// The obligation to answer one request, and its budget. The watch answers instead if nobody waits any more
// (request_watch.h), and the request is then freed; so it is used here only to answer. Each function that
// answers returns 0, or -errno if the kernel did not take the answer.
class Reply {
 public:
  Reply(Adapter& adapter, std::shared_ptr<ActiveRequest> request)
      : adapter_(adapter), request_(std::move(request)), entry_(adapter.requests, request_) {
    request_->begin();
  }

  Adapter& adapter() const { return adapter_; }
  pid_t client() const { return request_->client(); }
  RequestBudget& budget() { return request_->budget(); }
  bool answered() const { return request_->answered(); }

  // `answer(request)` is one of libfuse's functions that reply.
  template <class Answer>
  int with(Answer&& answer) {
    fuse_req_t const request = request_->take();
    return request == nullptr ? -ENOENT : std::forward<Answer>(answer)(request);
  }
  int error(int errno_value) {
    return with([&](fuse_req_t request) { return fuse_reply_err(request, errno_value); });
  }

 private:
  Adapter& adapter_;
  const std::shared_ptr<ActiveRequest> request_;
  const RequestWatch::Entry entry_;
};

// Separate from `guard` so that they are not instantiated for every operation. Neither throws.
void report_failure(tree::Tree& tree, fuse_ino_t node, const Error& error) noexcept;
void report_accident(tree::Tree& tree, const char* operation, fuse_ino_t node, const char* what) noexcept;

// Answers ENOMEM, as there is no memory to work for the request. `request`: null if it was answered already.
inline void refuse(fuse_req_t request) noexcept {
  if (request != nullptr) fuse_reply_err(request, ENOMEM);
}

// Runs `body(reply)`, which returns a Status and sends the reply itself if it succeeds.
template <class Body>
void guard(Adapter& adapter, const std::shared_ptr<ActiveRequest>& request, const char* operation,
           fuse_ino_t node, Body&& body) noexcept {
  std::optional<Reply> made;
  try {
    made.emplace(adapter, request);
  } catch (const std::bad_alloc&) {
    return refuse(request->take());
  }
  Reply& reply = *made;
  tree::Tree& tree = *adapter.tree;
  Counters::add(tree.counters()->requests);
  try {
    const std::shared_ptr<void> pin = tree.pin();
    const Status status = std::forward<Body>(body)(reply);
    if (!status) {
      // A process that was interrupted is told so, but it is not reported: nothing is wrong with the file.
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

template <class Body>
void guard(fuse_req_t request, const char* operation, fuse_ino_t node, Body&& body) noexcept {
  std::shared_ptr<ActiveRequest> active;
  try {
    active = std::make_shared<ActiveRequest>(request);
  } catch (const std::bad_alloc&) {
    return refuse(request);
  }
  guard(adapter_of(request), active, operation, node, std::forward<Body>(body));
}

}  // namespace h5mount::fuse

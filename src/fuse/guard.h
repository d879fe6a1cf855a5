// The wall around every operation: whatever happens inside, the kernel gets exactly one reply, an exception does not
// reach libfuse, and an error is logged once.
#pragma once

#include <fuse_lowlevel.h>

#include <cerrno>
#include <exception>
#include <new>
#include <utility>

#include "adapter.h"
#include "h5mount/base/log.h"

namespace h5mount::fuse {

// The right to answer one request. Whoever takes the request must reply with it.
class Reply {
 public:
  explicit Reply(fuse_req_t request) : request_(request) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  fuse_req_t take() { return std::exchange(request_, nullptr); }
  fuse_req_t peek() const { return request_; }
  bool answered() const { return request_ == nullptr; }
  void error(int errno_value) {
    if (!answered()) fuse_reply_err(take(), errno_value);
  }

 private:
  fuse_req_t request_;
};

// Words for the log, apart from `guard` so that they are not instantiated for every operation.
void log_failed(const char* operation, fuse_ino_t node, const Error& error);
void log_accident(const char* operation, fuse_ino_t node, const char* what);

// Runs `body(reply)`, which returns a Status and replies itself where it succeeds.
template <class Body>
void guard(fuse_req_t request, const char* operation, fuse_ino_t node, Body&& body) noexcept {
  Reply reply(request);
  try {
    const RequestScope scope(*adapter_of(request).tree);
    const Status status = std::forward<Body>(body)(reply);
    if (!status) {
      log_failed(operation, node, status.error());
      reply.error(status.error().errno_value());
    } else if (!reply.answered()) {
      log_accident(operation, node, "no reply was made");
    }
  } catch (const std::bad_alloc&) {
    reply.error(ENOMEM);
  } catch (const std::exception& exception) {
    log_accident(operation, node, exception.what());
  } catch (...) {
    log_accident(operation, node, "unknown exception");
  }
  reply.error(EIO);
}

}  // namespace h5mount::fuse

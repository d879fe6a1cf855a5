#include "h5mount/front/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "write_pieces.h"

namespace h5mount::front {
namespace {

constexpr std::uint64_t kMaxPendingBytes = 1U << 20;
constexpr std::size_t kMaxPendingPieces = IOV_MAX;
constexpr int kPipeBytes = 1 << 20;  // the limit for unprivileged processes; the default is 64 KiB

// The descriptor may be non-blocking, because of another process that shares it.
void wait_until_writable(int descriptor) {
  pollfd wanted = {descriptor, POLLOUT, 0};
  ::poll(&wanted, 1, -1);
}

}  // namespace

Output::Output(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {
  ::fcntl(descriptor_, F_SETPIPE_SZ, kPipeBytes);  // fails on what is no pipe
}

void Output::text_to_pieces() {
  if (text_.empty()) return;
  const auto owner = std::make_shared<const std::string>(std::exchange(text_, {}));
  pending_.add(std::as_bytes(std::span(*owner)), owner);
}

Status Output::flush_if_full() {
  const bool full = pending_.total() + text_.size() >= kMaxPendingBytes;
  return full || pending_.list().size() >= kMaxPendingPieces ? flush() : Status{};
}

void Output::count(std::uint64_t bytes) {
  added_ += bytes;
  if (counter_ != nullptr) counter_->store(added_, std::memory_order_relaxed);
}

Status Output::add(std::string_view text) {
  text_ += text;
  count(text.size());
  return flush_if_full();
}

Status Output::add(const dataset::Pieces& pieces) {
  text_to_pieces();
  pending_.append(pieces);
  count(pieces.total());
  return flush_if_full();
}

Status Output::flush() {
  text_to_pieces();
  const dataset::Pieces pending = std::exchange(pending_, {});
  if (before_writing_ && pending.total() > 0) before_writing_();
  const Status done = write_pieces(pending, name_, [this](const ::iovec* vectors, int count) {
    for (;;) {
      const ssize_t written = ::writev(descriptor_, vectors, count);
      if (written >= 0 || errno != EAGAIN) return written;
      wait_until_writable(descriptor_);
    }
  });
  if (!done && done.error().code() == ErrorCode::Io) broken_ = true;
  return done;
}

}  // namespace h5mount::front

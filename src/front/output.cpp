#include "h5mount/front/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

namespace h5mount::front {
namespace {

constexpr std::uint64_t kMaxPendingBytes = 1U << 20;
constexpr std::size_t kMaxPendingPieces = IOV_MAX;
constexpr int kPipeBytes = 1 << 20;  // the limit for unprivileged processes; the default is 64 KiB

// Another process that shares the descriptor may have made it non-blocking.
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

Status Output::add(std::string_view text) {
  text_ += text;
  added_ += text.size();
  return flush_if_full();
}

Status Output::add(const dataset::Pieces& pieces) {
  text_to_pieces();
  pending_.append(pieces);
  added_ += pieces.total();
  return flush_if_full();
}

Status Output::flush() {
  text_to_pieces();
  const dataset::Pieces pending = std::exchange(pending_, {});
  const auto& list = pending.list();
  std::size_t first = 0, skipped = 0;  // skipped: bytes of the first piece that are already written
  while (first < list.size()) {
    std::array<::iovec, IOV_MAX> vectors;
    std::size_t count = 0;
    for (std::size_t i = first; i < list.size() && count < vectors.size(); ++i, ++count) {
      const ByteSpan bytes = list[i].bytes.subspan(i == first ? skipped : 0);
      vectors[count] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    }
    const ssize_t done = ::writev(descriptor_, vectors.data(), static_cast<int>(count));
    if (done < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        wait_until_writable(descriptor_);
        continue;
      }
      if (errno == EFAULT && pending.kernel_only())
        return fail(Error(ErrorCode::Stale, "the file was cut short while it was read"));
      broken_ = true;
      return fail(io_error(errno, name_));
    }
    skipped += static_cast<std::size_t>(done);
    while (first < list.size() && skipped >= list[first].bytes.size()) skipped -= list[first++].bytes.size();
  }
  return {};
}

}  // namespace h5mount::front

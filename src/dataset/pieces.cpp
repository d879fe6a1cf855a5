#include "h5mount/dataset/pieces.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "h5mount/base/unique_fd.h"

namespace h5mount::dataset {
namespace {

Status truncated() {
  return fail(io_error(EIO, "the file was truncated while it was read"));
}

// Does the same as copy_by_kernel, more slowly, if this system refuses process_vm_readv: writing a page that
// the file no longer has fails too, and does not end the process.
Status copy_through_pipe(std::span<const Piece> pieces, std::byte* to) {
  constexpr std::size_t kStep = 1U << 16;  // what an empty pipe takes at once
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(io_error(errno, "a pipe to copy through"));
  const UniqueFd out(ends[0]), in(ends[1]);
  for (const Piece& piece : pieces) {
    for (std::size_t at = 0; at < piece.bytes.size();) {
      const ssize_t given = ::write(in.get(), &piece.bytes[at], std::min(kStep, piece.bytes.size() - at));
      if (given < 0 && errno == EINTR) continue;
      if (given <= 0) return truncated();
      for (ssize_t taken = 0; taken < given;) {
        const ssize_t count = ::read(out.get(), to, static_cast<std::size_t>(given - taken));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return fail(io_error(count < 0 ? errno : EIO, "a pipe to copy through"));
        to += count;
        taken += count;
      }
      at += static_cast<std::size_t>(given);
    }
  }
  return {};
}

// Copies a run of `kernel_only` pieces, at most IOV_MAX of them.
Status copy_by_kernel(std::span<const Piece> pieces, std::size_t total, std::byte* to) {
  std::vector<::iovec> remote;
  remote.reserve(pieces.size());
  for (const Piece& piece : pieces)
    remote.push_back({const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size()});
  const ::iovec local{to, total};
  const ssize_t copied = ::process_vm_readv(::getpid(), &local, 1, remote.data(), remote.size(), 0);
  if (copied == static_cast<ssize_t>(total)) return {};
  // Seccomp profiles of some containers return EPERM, emulators of processors ENOSYS.
  if (copied < 0 && (errno == EPERM || errno == ENOSYS)) return copy_through_pipe(pieces, to);
  return truncated();
}

}  // namespace

Status copy_pieces(std::span<const Piece> pieces, MutableByteSpan out) {
  std::byte* to = out.data();
  for (std::size_t i = 0; i < pieces.size();) {
    if (!pieces[i].kernel_only) {
      std::memcpy(to, pieces[i].bytes.data(), pieces[i].bytes.size());
      to += pieces[i++].bytes.size();
      continue;
    }
    std::size_t end = i, total = 0;
    while (end < pieces.size() && pieces[end].kernel_only && end - i < IOV_MAX)
      total += pieces[end++].bytes.size();
    H5_TRY(copy_by_kernel(pieces.subspan(i, end - i), total, to));
    to += total;
    i = end;
  }
  return {};
}

}  // namespace h5mount::dataset

#include <sys/uio.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "h5mount/dataset/pieces.h"

namespace h5mount::dataset {
namespace {

// Copies a run of `kernel_only` pieces, at most IOV_MAX of them.
Status copy_by_kernel(std::span<const Piece> pieces, std::size_t total, std::byte* to) {
  std::vector<::iovec> remote;
  remote.reserve(pieces.size());
  for (const Piece& piece : pieces)
    remote.push_back({const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size()});
  const ::iovec local{to, total};
  const ssize_t copied = ::process_vm_readv(::getpid(), &local, 1, remote.data(), remote.size(), 0);
  if (copied == static_cast<ssize_t>(total)) return {};
  return fail(io_error(EIO, "the file was truncated while it was read"));
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

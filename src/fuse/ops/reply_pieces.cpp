#include "reply_pieces.h"

#include <sys/uio.h>

#include <climits>
#include <span>

#include "../loop/serving_loop.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kMaxVectors = IOV_MAX - 1;  // libfuse puts its header before them

::iovec to_iovec(ByteSpan bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// If the mapped file was truncated, writev ends with EFAULT. By then the kernel has found its request by the
// header and has ended it with EIO itself, so no reply is left to send; the error is only reported.
Status outcome(int result) {
  if (result == 0 || result == -ENOENT) return {};  // ENOENT: the reader was interrupted
  if (result == -EFAULT) return fail(io_error(EIO, "the file was truncated while it was read"));
  return fail(io_error(-result, "the reply failed"));
}

}  // namespace

Status flatten(std::span<const dataset::Piece> pieces, std::vector<std::byte>& out) {
  std::size_t bytes = 0;
  for (const dataset::Piece& piece : pieces) bytes += piece.bytes.size();
  out.resize(bytes);
  return dataset::copy_pieces(pieces, out);
}

Status reply_pieces(Reply& reply, const dataset::Pieces& pieces, std::size_t most) {
  if (pieces.total() > most)
    return fail(Error(ErrorCode::Internal, "a read returned more than was requested"));
  ServingLoop::reply_ahead(pieces.total());
  std::span<const dataset::Piece> alone = pieces.list();
  thread_local std::vector<std::byte> rest;
  const bool too_many = alone.size() > kMaxVectors;
  if (too_many) {
    H5_TRY(flatten(alone.subspan(kMaxVectors - 1), rest));
    alone = alone.first(kMaxVectors - 1);
  }
  thread_local std::vector<::iovec> vectors;
  vectors.clear();
  for (const dataset::Piece& piece : alone) vectors.push_back(to_iovec(piece.bytes));
  if (too_many) vectors.push_back(to_iovec(rest));
  return outcome(reply.with([](fuse_req_t request) {
    return fuse_reply_iov(request, vectors.data(), static_cast<int>(vectors.size()));
  }));
}

}  // namespace h5mount::fuse

// Writes pieces directly from the memory where they are, with a system call like writev(2).
#pragma once

#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string>

#include "h5mount/dataset/pieces.h"

namespace h5mount::front {

// `write(vectors, count)` is that call; it is repeated until all bytes are written. Fails with Stale if the
// file ended before its mapped pieces, else with Io, the system's reason and `what`.
template <class Write>
Status write_pieces(const dataset::Pieces& pieces, const std::string& what, Write&& write) {
  const auto& list = pieces.list();
  std::size_t first = 0, skipped = 0;  // skipped: bytes of the first piece that are already written
  while (first < list.size()) {
    std::array<::iovec, IOV_MAX> vectors;
    std::size_t count = 0;
    for (std::size_t i = first; i < list.size() && count < vectors.size(); ++i, ++count) {
      const ByteSpan bytes = list[i].bytes.subspan(i == first ? skipped : 0);
      vectors[count] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    }
    const ssize_t done = write(vectors.data(), static_cast<int>(count));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EFAULT && pieces.kernel_only())
      return fail(Error(ErrorCode::Stale, "the file was cut short while it was read"));
    if (done < 0) return fail(io_error(errno, what));
    skipped += static_cast<std::size_t>(done);
    while (first < list.size() && skipped >= list[first].bytes.size()) skipped -= list[first++].bytes.size();
  }
  return {};
}

}  // namespace h5mount::front

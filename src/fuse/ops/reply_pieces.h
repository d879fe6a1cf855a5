// Replies to a read with pieces, written from where their bytes lie.
#pragma once

#include "guard.h"
#include "h5mount/dataset/pieces.h"

namespace h5mount::fuse {

// `most` is the size of the request: the kernel discards a longer reply.
Status reply_pieces(Reply& reply, const dataset::Pieces& pieces, std::size_t most);

// Copies the pieces into one contiguous buffer. The kernel copies `kernel_only` pieces, so a file truncated
// meanwhile causes an error, not a SIGBUS.
Status flatten(std::span<const dataset::Piece> pieces, std::vector<std::byte>& out);

}  // namespace h5mount::fuse

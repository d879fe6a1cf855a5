// A read's answer, written from where its bytes lie.
#pragma once

#include "guard.h"
#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::fuse {

// `most` is what the kernel asked for; more than that would leave it without a reply.
Status reply_pieces(Reply& reply, const dataset::Pieces& pieces, std::size_t most);

// The pieces in one run of memory. Pages that only the kernel may read are copied by the kernel, so that a
// file cut short behind them is an error and no SIGBUS.
Status flatten(const dataset::Pieces& pieces, std::vector<std::byte>& out);

}  // namespace h5mount::fuse

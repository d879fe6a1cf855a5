// Pieces: what a read returns, as spans of memory that need not be copied. Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"

namespace h5mount::dataset {

// A reply: spans in order, each kept alive by its owner. A `kernel_only` span may be handed to writev but
// never dereferenced (it is mapped from a file that may shrink).
struct Piece {
  ByteSpan bytes;
  std::shared_ptr<const void> owner;
  bool kernel_only = false;
};

class Pieces {
 public:
  void add(ByteSpan bytes, std::shared_ptr<const void> owner, bool kernel_only = false) {
    if (bytes.empty()) return;
    total_ += bytes.size();
    pieces_.push_back({bytes, std::move(owner), kernel_only});
  }
  void append(const Pieces& more) {
    for (const Piece& piece : more.pieces_) add(piece.bytes, piece.owner, piece.kernel_only);
  }
  bool kernel_only() const {
    for (const Piece& piece : pieces_)
      if (piece.kernel_only) return true;
    return false;
  }
  void append(Pieces&& others) {
    total_ += others.total_;
    if (pieces_.empty())
      pieces_ = std::move(others.pieces_);
    else
      std::ranges::move(others.pieces_, std::back_inserter(pieces_));
    others = Pieces();
  }
  const std::vector<Piece>& list() const { return pieces_; }
  std::uint64_t total() const { return total_; }

 private:
  std::vector<Piece> pieces_;
  std::uint64_t total_ = 0;
};

// Copies the pieces one after another. The kernel copies `kernel_only` pieces, so if a file was truncated
// meanwhile the result is an error (Io) and no SIGBUS.
Status copy_pieces(std::span<const Piece> pieces, MutableByteSpan out);

}  // namespace h5mount::dataset

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

namespace h5mount::io {
class ByteSource;
}

namespace h5mount::dataset {

// The state of a file whose mapped bytes were passed on.
class MappedBytes {
 public:
  virtual ~MappedBytes() = default;
  // Fails if the bytes may have changed since then.
  virtual Status confirm_unchanged() const = 0;
};

// A reply: spans in order, each kept alive by its owner. A span that is mapped from a file (`kernel_only`)
// may be handed to writev but never dereferenced, as the file may shrink: its bytes are read from the source.
struct Piece {
  ByteSpan bytes;
  std::shared_ptr<const void> owner;
  const io::ByteSource* mapped_from = nullptr;  // lives as long as the mapping
  std::uint64_t address = 0;                    // in it
  // If the source is not that of the open file, which whoever opened it asks itself: to be asked once the
  // bytes were copied. It lives as long as the owner.
  const MappedBytes* of = nullptr;

  bool kernel_only() const { return mapped_from != nullptr; }
};

class Pieces {
 public:
  void add(ByteSpan bytes, std::shared_ptr<const void> owner) {
    if (bytes.empty()) return;
    total_ += bytes.size();
    pieces_.push_back({bytes, std::move(owner)});
  }
  // Adds bytes of a source as a mapped piece; returns false if the source has no mapping of them.
  bool add_mapped(const io::ByteSource& source, std::uint64_t address, std::uint64_t length,
                  std::shared_ptr<const void> owner = nullptr, const MappedBytes* of = nullptr);
  void append(const Pieces& more) {
    total_ += more.total_;
    pieces_.insert(pieces_.end(), more.pieces_.begin(), more.pieces_.end());
  }
  bool kernel_only() const {
    for (const Piece& piece : pieces_)
      if (piece.kernel_only()) return true;
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

// Copies the pieces one after another, mapped ones by reading their source, so that the result is an error
// and no SIGBUS if a file was truncated meanwhile.
Status copy_pieces(std::span<const Piece> pieces, MutableByteSpan out);

}  // namespace h5mount::dataset

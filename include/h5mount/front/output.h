// Output: a descriptor to which text and pieces of datasets are written in order, many of them in one call.
// Pieces are not copied. Threads: one at a time.
//
// Pieces of a file that is read forward are decoded ahead, so that decoding and writing overlap. vmsplice
// would save one copy (512 MiB into a pipe took 0.10 s instead of 0.18 s), but the pages of a spliced block
// may not be used again before the reader has taken them, and nothing says when that is: it needs blocks
// whose memory is unmapped, where the cache passes it on to the next block (cache/block.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "h5mount/dataset/pieces.h"

namespace h5mount::front {

class Output {
 public:
  // The descriptor remains the caller's; a pipe is enlarged. `name`: its name in messages.
  explicit Output(int descriptor, std::string name = "standard output");

  // The data is written by the call that fills the buffer, or by flush.
  Status add(std::string_view text);
  Status add(const dataset::Pieces& pieces);
  // Fails with Io if a write failed; `broken` is true from then on. Fails with Stale if the mapped file was
  // truncated before its pages were copied; the data added is lost.
  Status flush();

  bool broken() const { return broken_; }
  std::uint64_t added() const { return added_; }  // bytes since the start, written or not
  // From now on `bytes` follows `added`, for other threads; null: no more.
  void count_in(std::atomic<std::uint64_t>* bytes) { counter_ = bytes; }
  // From now on called whenever something is about to be written; null: no more.
  void before_writing(std::function<void()> call) { before_writing_ = std::move(call); }

 private:
  void count(std::uint64_t bytes);
  void text_to_pieces();
  Status flush_if_full();

  int descriptor_;
  std::string name_;
  dataset::Pieces pending_;
  std::string text_;  // follows the pieces
  std::uint64_t added_ = 0;
  std::atomic<std::uint64_t>* counter_ = nullptr;
  std::function<void()> before_writing_;
  bool broken_ = false;
};

}  // namespace h5mount::front

// Output: a descriptor that text and pieces of datasets are written to in order, many of them with one call.
// Pieces go from where they lie. Threads: one.
#pragma once

#include <string>
#include <string_view>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::front {

class Output {
 public:
  // The descriptor stays the caller's; a pipe is enlarged. `name`: as messages call it.
  explicit Output(int descriptor, std::string name = "standard output");

  // What was added is written by the call that fills the buffer, or by flush.
  Status add(std::string_view text);
  Status add(const dataset::Pieces& pieces);
  // Io: the descriptor took no more, and `broken` is true from then on. Stale: the mapped file was cut short
  // before its pages were copied; what was added is lost.
  Status flush();

  bool broken() const { return broken_; }
  std::uint64_t added() const { return added_; }  // bytes since the start, written or not

 private:
  void text_to_pieces();
  Status flush_if_full();

  int descriptor_;
  std::string name_;
  dataset::Pieces pending_;
  std::string text_;  // what follows the pieces
  std::uint64_t added_ = 0;
  bool broken_ = false;
};

}  // namespace h5mount::front

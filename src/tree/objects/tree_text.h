// TreeText: a text about a whole file, held in memory as long as it is open. It is made piece by piece, and
// each piece is charged to the cache and to the mount's open texts before it is made: a small file can ask
// for any amount. Threads: one while it is made, then any.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../core/served_file.h"

namespace h5mount::tree {

class TreeText {
 public:
  // `Counted`: only the number of bytes is kept, and nothing is charged.
  enum class Bytes : std::uint8_t { Held, Counted };
  explicit TreeText(const MountContext& context, Bytes bytes = Bytes::Held);
  ~TreeText();
  TreeText(const TreeText&) = delete;
  TreeText& operator=(const TreeText&) = delete;

  // Fails with TooLarge if the text would exceed what one text may take, and with OutOfMemory or TooLarge if
  // other texts take the rest.
  Status append(std::string_view bytes);
  // Takes back all bytes behind the first `size`.
  void cut(std::uint64_t size);
  // Replaces bytes that are there.
  void replace(std::uint64_t offset, std::string_view bytes);
  std::uint64_t size() const { return size_; }
  std::uint64_t left() const { return most_ - size_; }

  // Appends the bytes [offset, offset + length), cut at the end, of `text`.
  static void read(const std::shared_ptr<const TreeText>& text, std::uint64_t offset, std::uint64_t length,
                   dataset::Pieces& out);

  // The most bytes that one text may have.
  static std::uint64_t most_bytes(const MountContext& context);

 private:
  const std::shared_ptr<ByteBudget> open_texts_;
  const Bytes bytes_;
  const std::uint64_t most_;
  cache::BlockCache::Charge charge_;
  std::vector<std::string> pieces_;  // all but the last of the same size
  std::uint64_t size_ = 0;
};
using TreeTextPtr = std::shared_ptr<const TreeText>;

// Opens it as a file. `sized`: as for open_text.
std::shared_ptr<OpenNode> open_tree_text(TreeTextPtr text, bool sized);

}  // namespace h5mount::tree

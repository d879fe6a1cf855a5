#include "tree_text.h"

#include <algorithm>

#include "../core/open_files.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/view/view.h"

namespace h5mount::tree {

namespace {

// The amount that malloc gives back at once when it is freed (limit_malloc): another thread has another heap.
constexpr std::size_t kPieceBytes = 4U << 20;

}  // namespace

std::uint64_t TreeText::most_bytes(const MountContext& context) {
  // The rest of what a mount may take is needed by the walk that makes the text, and by what malloc keeps.
  constexpr std::uint64_t kAboveCache = limits::kMemoryAboveCache / 2;
  return std::min<std::uint64_t>(limits::kMaxOpenTextBytes,
                                 context.environment.cache->budget() + kAboveCache);
}

TreeText::TreeText(const MountContext& context, Bytes bytes)
    : open_texts_(context.open_texts),
      bytes_(bytes),
      most_(most_bytes(context)),
      charge_(context.environment.cache->no_charge()) {}

TreeText::~TreeText() {
  if (bytes_ == Bytes::Held) open_texts_->give_back(size_);
}

Status TreeText::append(std::string_view bytes) {
  if (bytes.size() > left())
    return fail(Error(ErrorCode::TooLarge, "a text longer than cache_size can hold")
                    .with_expected(most_)
                    .with_found(size_ + bytes.size()));
  if (bytes_ == Bytes::Counted) {
    size_ += bytes.size();
    return {};
  }
  H5_TRY(charge_.resize(static_cast<std::size_t>(size_ + bytes.size())));
  if (!open_texts_->take(bytes.size())) return fail({ErrorCode::TooLarge, "too much text is open at once"});
  size_ += bytes.size();
  while (!bytes.empty()) {
    if (pieces_.empty() || pieces_.back().size() == kPieceBytes) {
      pieces_.emplace_back();
      // A text that grows by itself takes up to twice its length.
      if (pieces_.size() > 1) pieces_.back().reserve(kPieceBytes);
    }
    const std::size_t some = std::min(bytes.size(), kPieceBytes - pieces_.back().size());
    pieces_.back().append(bytes.substr(0, some));
    bytes.remove_prefix(some);
  }
  return {};
}

void TreeText::cut(std::uint64_t size) {
  if (bytes_ == Bytes::Held) {
    open_texts_->give_back(size_ - size);
    pieces_.resize(static_cast<std::size_t>(divide_up(size, kPieceBytes)));
    if (size % kPieceBytes != 0) pieces_.back().resize(static_cast<std::size_t>(size % kPieceBytes));
    (void)charge_.resize(static_cast<std::size_t>(size));  // less never fails
  }
  size_ = size;
}

void TreeText::replace(std::uint64_t offset, std::string_view bytes) {
  if (bytes_ == Bytes::Counted) return;
  for (; !bytes.empty(); ++offset, bytes.remove_prefix(1))
    pieces_[static_cast<std::size_t>(offset / kPieceBytes)][static_cast<std::size_t>(offset % kPieceBytes)] =
        bytes[0];
}

void TreeText::read(const std::shared_ptr<const TreeText>& text, std::uint64_t offset, std::uint64_t length,
                    dataset::Pieces& out) {
  while (length > 0 && offset < text->size_) {
    const std::string& piece = text->pieces_[static_cast<std::size_t>(offset / kPieceBytes)];
    const std::uint64_t begin = offset % kPieceBytes;
    const std::uint64_t some = std::min<std::uint64_t>(length, piece.size() - begin);
    view::add_text(std::shared_ptr<const std::string>(text, &piece), begin, some, out);
    offset += some;
    length -= some;
  }
}

std::shared_ptr<OpenNode> open_tree_text(TreeTextPtr text, bool sized) {
  const std::uint64_t size = text->size();
  const auto read = [text = std::move(text)](std::uint64_t offset, std::uint64_t length,
                                             dataset::Pieces& out) -> Status {
    TreeText::read(text, offset, length, out);
    return {};
  };
  return open_text(size, read, sized);
}

}  // namespace h5mount::tree

#include "open_files.h"

#include <algorithm>

namespace h5mount::tree {

namespace {

class OpenText : public OpenNode {
 public:
  explicit OpenText(std::shared_ptr<const std::string> text) : text_(std::move(text)) {}

  bool keeps_pages() const override { return false; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out) override {
    add_part(text_, offset, length, out);
    return {};
  }

  Result<std::uint64_t> seek_data(std::uint64_t offset) override {
    if (offset >= text_->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    return offset;
  }

  Result<std::uint64_t> seek_hole(std::uint64_t offset) override {
    if (offset >= text_->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    return text_->size();
  }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace

void add_part(const std::shared_ptr<const std::string>& text, std::uint64_t offset, std::uint64_t length,
              dataset::Pieces& out) {
  if (offset >= text->size()) return;
  const auto begin = static_cast<std::size_t>(offset);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(length, text->size() - begin));
  out.add(as_bytes(*text).subspan(begin, count), text);
}

std::shared_ptr<OpenNode> open_text(std::string text) {
  return open_text(std::make_shared<const std::string>(std::move(text)));
}

std::shared_ptr<OpenNode> open_text(std::shared_ptr<const std::string> text) {
  return std::make_shared<OpenText>(std::move(text));
}

}  // namespace h5mount::tree

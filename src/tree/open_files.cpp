#include "open_files.h"

#include "h5mount/view/view.h"

namespace h5mount::tree {

namespace {

class OpenText : public OpenNode {
 public:
  OpenText(std::shared_ptr<const std::string> text, bool sized) : text_(std::move(text)), sized_(sized) {}

  bool keeps_pages() const override { return false; }
  bool direct() const override { return !sized_; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out, RequestBudget&) override {
    view::add_text(text_, offset, length, out);
    return {};
  }

  Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget&) override {
    if (offset >= text_->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    return offset;
  }

  Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget&) override {
    if (offset >= text_->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    return text_->size();
  }

 private:
  std::shared_ptr<const std::string> text_;
  bool sized_;
};

}  // namespace

std::shared_ptr<OpenNode> open_text(std::string text) {
  return open_text(std::make_shared<const std::string>(std::move(text)));
}

std::shared_ptr<OpenNode> open_text(std::shared_ptr<const std::string> text, bool sized) {
  return std::make_shared<OpenText>(std::move(text), sized);
}

}  // namespace h5mount::tree

#include "open_files.h"

#include "h5mount/view/view.h"

namespace h5mount::tree {

namespace {

class OpenText : public OpenWithoutHoles {
 public:
  OpenText(std::uint64_t size, ReadText read, bool sized)
      : size_(size), read_(std::move(read)), sized_(sized) {}

  bool keeps_pages() const override { return false; }
  bool direct() const override { return !sized_; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out, RequestBudget&) override {
    return read_(offset, length, out);
  }

 private:
  std::uint64_t size() const override { return size_; }

  const std::uint64_t size_;
  const ReadText read_;
  const bool sized_;
};

}  // namespace

std::shared_ptr<OpenNode> open_text(std::string text) {
  return open_text(std::make_shared<const std::string>(std::move(text)));
}

std::shared_ptr<OpenNode> open_text(std::shared_ptr<const std::string> text, bool sized) {
  const std::uint64_t size = text->size();
  const auto read = [text = std::move(text)](std::uint64_t offset, std::uint64_t length,
                                             dataset::Pieces& out) -> Status {
    view::add_text(text, offset, length, out);
    return {};
  };
  return open_text(size, read, sized);
}

std::shared_ptr<OpenNode> open_text(std::uint64_t size, ReadText read, bool sized) {
  return std::make_shared<OpenText>(size, std::move(read), sized);
}

}  // namespace h5mount::tree

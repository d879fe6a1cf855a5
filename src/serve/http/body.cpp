#include "body.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace h5mount::serve {
namespace {

class TextBody final : public Body {
 public:
  TextBody(std::string text, MemoryCharge charge) : text_(std::move(text)), charge_(std::move(charge)) {}
  std::optional<std::uint64_t> size() const override { return text_.size(); }
  Result<std::size_t> read(MutableByteSpan out, RequestWork&) override {
    const std::size_t count = std::min(out.size(), text_.size() - given_);
    std::memcpy(out.data(), text_.data() + given_, count);
    given_ += count;
    return count;
  }

 private:
  std::string text_;
  MemoryCharge charge_;
  std::size_t given_ = 0;
};

}  // namespace

BodyPtr make_text_body(std::string text, MemoryCharge charge) {
  return std::make_unique<TextBody>(std::move(text), std::move(charge));
}

Result<std::string> read_all(Body& body, RequestWork& work) {
  std::string out;
  std::array<std::byte, 16384> buffer;
  for (;;) {
    H5_ASSIGN(const std::size_t count, body.read(buffer, work));
    if (count == 0) return out;
    out.append(reinterpret_cast<const char*>(buffer.data()), count);
  }
}

}  // namespace h5mount::serve

#include "h5mount/base/checked.h"
#include "h5mount/io/read_target.h"

namespace h5mount::io {
namespace {

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::vector<std::byte> bytes, std::string name)
      : bytes_(std::move(bytes)), name_(std::move(name)) {}

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return fill_whole(offset, out, [&](ReadTarget& to) { return fill_from(offset, to); });
  }
  std::uint64_t size() const override { return bytes_.size(); }
  ByteSpan mapped(std::uint64_t offset, std::uint64_t length) const override {
    if (!range_within(offset, length, bytes_.size())) return {};
    return ByteSpan(bytes_).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  }
  std::string name() const override { return name_; }

 private:
  Status fill_from(std::uint64_t offset, ReadTarget& to) const {
    if (!range_within(offset, to.left(), bytes_.size()))
      return fail(Error(ErrorCode::Truncated, "Memory", "bytes", offset).with_detail("the file ends before"));
    to.copy(ByteSpan(bytes_).subspan(static_cast<std::size_t>(offset)));
    return {};
  }

  const std::vector<std::byte> bytes_;
  const std::string name_;
};

}  // namespace

std::shared_ptr<ByteSource> make_memory_source(std::vector<std::byte> bytes, std::string name) {
  return std::make_shared<MemorySource>(std::move(bytes), std::move(name));
}

}  // namespace h5mount::io

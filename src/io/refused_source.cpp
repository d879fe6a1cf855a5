// A member of a set of files that must not be opened: reads of its range fail, all others succeed.
#include "h5mount/io/read_target.h"

namespace h5mount::io {
namespace {

class RefusedSource final : public ByteSource {
 public:
  RefusedSource(Error why, std::uint64_t size, std::string name)
      : why_(std::move(why)), size_(size), name_(std::move(name)) {}

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return fill_whole(offset, out, [&](ReadTarget& to) { return fill_from(offset, to); });
  }
  std::uint64_t size() const override { return size_; }
  std::uint64_t stored_bytes() const override { return 0; }
  std::string name() const override { return name_; }

 private:
  Status fill_from(std::uint64_t, ReadTarget& to) const {
    if (to.left() == 0) return {};
    return fail(why_);
  }

  const Error why_;
  const std::uint64_t size_;
  const std::string name_;
};

}  // namespace

std::shared_ptr<ByteSource> make_refused_source(Error why, std::uint64_t size, std::string name) {
  return std::make_shared<RefusedSource>(std::move(why), size, std::move(name));
}

}  // namespace h5mount::io

// A range of another source, such as an HDF5 file after its user block.
#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/io/read_target.h"

namespace h5mount::io {
namespace {

class SubRangeSource final : public ByteSource {
 public:
  SubRangeSource(std::shared_ptr<ByteSource> parent, std::uint64_t start, std::optional<std::uint64_t> length)
      : parent_(std::move(parent)), start_(start), length_(length) {}

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return fill_whole(offset, out, [&](ReadTarget& to) { return fill_from(offset, to); });
  }
  Result<std::size_t> read_cached(std::uint64_t offset, MutableByteSpan out) const override {
    const auto absolute = inside(offset, out.size());
    return absolute ? parent_->read_cached(*absolute, out) : Result<std::size_t>(0);
  }
  std::uint64_t size() const override {
    const std::uint64_t whole = parent_->size();
    const std::uint64_t left = whole > start_ ? whole - start_ : 0;
    return length_ ? std::min(*length_, left) : left;
  }
  std::uint64_t stored_bytes() const override { return length_ ? size() : parent_->stored_bytes(); }
  void will_read(std::span<const ByteRange> ranges) const override {
    std::vector<ByteRange> shifted;
    shifted.reserve(ranges.size());
    const std::uint64_t length = size();
    for (const ByteRange& range : ranges) {
      const std::uint64_t end = std::min(range.end, length);
      if (range.begin < end) shifted.push_back({start_ + range.begin, start_ + end});
    }
    parent_->will_read(shifted);
  }
  bool far() const override { return parent_->far(); }
  std::size_t block_bytes() const override { return parent_->block_bytes(); }
  SourceState& state() override { return parent_->state(); }
  ByteSpan mapped(std::uint64_t offset, std::uint64_t length) const override {
    const auto absolute = inside(offset, length);
    return absolute ? parent_->mapped(*absolute, length) : ByteSpan{};
  }
  std::optional<Place> place_of(std::uint64_t offset, std::uint64_t length) const override {
    const auto absolute = inside(offset, length);
    return absolute ? parent_->place_of(*absolute, length) : std::nullopt;
  }
  std::string name() const override { return parent_->name(); }

 private:
  Status fill_from(std::uint64_t offset, ReadTarget& to) const {
    const auto absolute = inside(offset, to.left());
    if (!absolute)
      return fail(
          Error(ErrorCode::Truncated, "SubRange", "bytes", offset).with_detail("the part ends before"));
    return to.read(*parent_, *absolute, to.left());
  }

  // The offset in the parent; the parent itself checks its own end.
  std::optional<std::uint64_t> inside(std::uint64_t offset, std::uint64_t length) const {
    if (length_ && !range_within(offset, length, *length_)) return std::nullopt;
    return checked_add(start_, offset);
  }

  const std::shared_ptr<ByteSource> parent_;
  const std::uint64_t start_;
  const std::optional<std::uint64_t> length_;
};

}  // namespace

std::shared_ptr<ByteSource> make_sub_range_source(std::shared_ptr<ByteSource> parent, std::uint64_t offset,
                                                  std::optional<std::uint64_t> length) {
  return std::make_shared<SubRangeSource>(std::move(parent), offset, length);
}

}  // namespace h5mount::io

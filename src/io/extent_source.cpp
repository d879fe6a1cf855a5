// A single address space made of several sources, each covering an extent of it.
#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/io/read_target.h"

namespace h5mount::io {
namespace {

// The state of all members together: a change to one member is a change to the set.
class ExtentState final : public SourceState {
 public:
  ExtentState(const std::vector<SourceExtent>& extents, const ByteSource& set)
      : extents_(extents), set_(set) {}

  bool checks_reads() const override {
    return std::ranges::all_of(
        extents_, [](const SourceExtent& extent) { return extent.source->state().checks_reads(); });
  }

  Status refresh() override {
    for (const auto& extent : extents_) H5_TRY(extent.source->state().refresh());
    return {};
  }

  Result<SourceStamp> stamp() override {
    SourceStamp all;
    for (const auto& extent : extents_) {
      H5_ASSIGN(const SourceStamp one, extent.source->state().stamp());
      all.modified = std::max(all.modified, one.modified);
      all.sum += one.sum;
      all.changed += one.changed;
      all.attributes += one.attributes;
      all.replaced = all.replaced || one.replaced;
    }
    all.size = set_.size();
    return all;
  }

  bool name_taken() const override {
    return std::ranges::any_of(
        extents_, [](const SourceExtent& extent) { return extent.source->state().name_taken(); });
  }

  std::vector<std::string> watchable() const override {
    std::vector<std::string> all;
    for (const auto& extent : extents_)
      std::ranges::copy(extent.source->state().watchable(), std::back_inserter(all));
    return all;
  }

 private:
  const std::vector<SourceExtent>& extents_;
  const ByteSource& set_;
};

class ExtentSource final : public ByteSource {
 public:
  ExtentSource(std::vector<SourceExtent> extents, std::string name)
      : extents_(std::move(extents)), name_(std::move(name)) {
    std::ranges::sort(extents_, {}, &SourceExtent::start);
  }

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return fill_whole(offset, out, [&](ReadTarget& to) { return fill_from(offset, to); });
  }

  std::uint64_t size() const override {
    std::uint64_t end = 0;
    for (const auto& extent : extents_) {
      const std::uint64_t held = std::min(extent.length, extent.source->size());
      if (held != 0) end = std::max(end, checked_add(extent.start, held).value_or(~std::uint64_t{0}));
    }
    return end;
  }

  std::uint64_t stored_bytes() const override {
    std::uint64_t sum = 0;
    for (const auto& extent : extents_) sum += extent.source->stored_bytes();
    return sum;
  }

  // Each member is told of its part.
  void will_read(std::span<const ByteRange> ranges) const override {
    std::vector<ByteRange> inside;
    for (const SourceExtent& extent : extents_) {
      inside.clear();
      for (const ByteRange& range : ranges) {
        const std::uint64_t begin = std::max(range.begin, extent.start);
        const std::uint64_t length = std::min(extent.length, range.end > begin ? range.end - begin : 0);
        if (begin - extent.start >= extent.length || length == 0) continue;
        const std::uint64_t inner = begin - extent.start;
        inside.push_back({inner, inner + std::min(length, extent.length - inner)});
      }
      if (!inside.empty()) extent.source->will_read(inside);
    }
  }

  bool far() const override {
    return std::ranges::any_of(extents_, [](const SourceExtent& extent) { return extent.source->far(); });
  }

  std::size_t block_bytes() const override {
    std::size_t most = ByteSource::block_bytes();
    for (const SourceExtent& extent : extents_) most = std::max(most, extent.source->block_bytes());
    return most;
  }

  SourceState& state() override { return state_; }

  ByteSpan mapped(std::uint64_t offset, std::uint64_t length) const override {
    const SourceExtent* extent = find(offset);
    if (extent == nullptr || !range_within(offset - extent->start, length, extent->length)) return {};
    return extent->source->mapped(offset - extent->start, length);
  }

  std::optional<Place> place_of(std::uint64_t offset, std::uint64_t length) const override {
    const SourceExtent* extent = find(offset);
    if (extent == nullptr || !range_within(offset - extent->start, length, extent->length))
      return std::nullopt;
    return extent->source->place_of(offset - extent->start, length);
  }

  std::string name() const override { return name_; }

 private:
  Status fill_from(std::uint64_t offset, ReadTarget& to) const {
    while (to.left() > 0) {
      const SourceExtent* extent = find(offset);
      if (extent == nullptr)
        return fail(
            Error(ErrorCode::Truncated, "FileSet", "bytes", offset).with_detail("no member file holds this"));
      const std::uint64_t inner = offset - extent->start;
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(to.left(), extent->length - inner));
      if (auto read = to.read(*extent->source, inner, part); !read)
        return fail(read.error().within("member " + extent->source->name()));
      offset += part;
    }
    return {};
  }

  const SourceExtent* find(std::uint64_t offset) const {
    const auto after = std::ranges::upper_bound(extents_, offset, {}, &SourceExtent::start);
    if (after == extents_.begin()) return nullptr;
    const SourceExtent& extent = *std::prev(after);
    return offset - extent.start < extent.length ? &extent : nullptr;
  }

  std::vector<SourceExtent> extents_;
  const std::string name_;
  ExtentState state_{extents_, *this};
};

}  // namespace

std::shared_ptr<ByteSource> make_extent_source(std::vector<SourceExtent> extents, std::string name) {
  return std::make_shared<ExtentSource>(std::move(extents), std::move(name));
}

}  // namespace h5mount::io

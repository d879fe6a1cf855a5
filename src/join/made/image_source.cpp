#include "image_source.h"

#include <algorithm>

#include "h5mount/base/checked.h"

namespace h5mount::join {

class ImageSource::State final : public io::SourceState {
 public:
  explicit State(const ImageSource& source) : source_(source) {}
  bool checks_reads() const override { return false; }
  Result<io::SourceStamp> stamp() override {
    if (looked) looked();
    const MutexLock lock(source_.mutex_);
    io::SourceStamp stamp;
    stamp.size = source_.image_->end;
    stamp.sum = source_.version_;
    return stamp;
  }
  std::vector<std::string> watchable() const override {
    return watched ? watched() : std::vector<std::string>();
  }

  std::function<void()> looked;
  std::function<std::vector<std::string>()> watched;

 private:
  const ImageSource& source_;
};

namespace {

// `out` lies within the image.
Status fill_from_image(const SparseImage& image, std::uint64_t offset, io::ReadTarget& to) {
  if (!range_within(offset, to.left(), image.end))
    return fail(Error(ErrorCode::Truncated, "MadeFile", "bytes", offset).with_detail("the file ends before"));
  // The first segment that ends behind the offset.
  auto segment = std::ranges::upper_bound(image.segments, offset, {}, [](const SparseImage::Segment& one) {
    return one.address + one.bytes.size();
  });
  while (to.left() > 0) {
    const std::uint64_t until = segment == image.segments.end() ? image.end : segment->address;
    if (offset < until) {
      const auto gap = static_cast<std::size_t>(std::min<std::uint64_t>(until - offset, to.left()));
      std::ranges::fill(to.rest().first(gap), std::byte{0});
      to.filled(gap);
      offset += gap;
      continue;
    }
    const ByteSpan bytes =
        ByteSpan(segment->bytes).subspan(static_cast<std::size_t>(offset - segment->address));
    const std::size_t taken = std::min(bytes.size(), to.left());
    to.copy(bytes.first(taken));
    offset += taken;
    ++segment;
  }
  return {};
}

}  // namespace

ImageSource::ImageSource()
    : image_(std::make_shared<const SparseImage>()), state_(std::make_unique<State>(*this)) {}

ImageSource::~ImageSource() = default;

void ImageSource::ask(std::function<void()> looked, std::function<std::vector<std::string>()> watchable) {
  state_->looked = std::move(looked);
  state_->watched = std::move(watchable);
}

void ImageSource::replace(SparseImage image) {
  auto newest = std::make_shared<const SparseImage>(std::move(image));
  const MutexLock lock(mutex_);
  image_.swap(newest);  // the old one is freed without the lock
  ++version_;
}

ImageSource::ImagePtr ImageSource::newest() const {
  const MutexLock lock(mutex_);
  return image_;
}

Status ImageSource::fill_from(std::uint64_t offset, io::ReadTarget& to) const {
  return fill_from_image(*newest(), offset, to);
}

Result<std::size_t> ImageSource::read_cached(std::uint64_t offset, MutableByteSpan out) const {
  const ImagePtr image = newest();
  const std::uint64_t there = offset < image->end ? image->end - offset : 0;
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(there, out.size()));
  const MutableByteSpan part = out.first(bytes);
  H5_TRY(
      io::fill_whole(offset, part, [&](io::ReadTarget& to) { return fill_from_image(*image, offset, to); }));
  return bytes;
}

std::uint64_t ImageSource::size() const {
  return newest()->end;
}

std::uint64_t ImageSource::stored_bytes() const {
  std::uint64_t bytes = 0;
  for (const SparseImage::Segment& segment : newest()->segments) bytes += segment.bytes.size();
  return bytes;
}

io::SourceState& ImageSource::state() {
  return *state_;
}

std::optional<io::ByteSource::Place> ImageSource::place_of(std::uint64_t /*offset*/,
                                                           std::uint64_t /*length*/) const {
  return std::nullopt;
}

}  // namespace h5mount::join

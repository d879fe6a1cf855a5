#include "h5mount/view/text_image.h"

#include <algorithm>
#include <cstring>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::view {

namespace {

constexpr std::uint64_t kFirstSpacing = 64U
                                        << 10;  // bytes of text between checkpoints, doubled as they crowd
constexpr std::size_t kMostCheckpoints = 64U << 10;  // 1 MiB of them
constexpr std::uint64_t kBatchBytes = 256U << 10;    // of elements read at a time
constexpr std::uint64_t kMaxLineBytes = 64U << 20;   // one line's elements, as stored
// All of the text together. Elements may share what they refer to, so that a small file can ask for any
// amount; a sound one shares little.
constexpr std::uint64_t kMostText = 1ULL << 30;
constexpr std::uint64_t kMostPerFileByte = 1024;
constexpr std::uint64_t kMostKeptAtFirst = 16U << 20;  // text that the measuring pass leaves in the cache

}  // namespace

bool is_shown_as_text(const format::Datatype& type) {
  return type.has_variable_part || type.has_reference;
}

TextImage::TextImage(DatasetReaderPtr reader, text::ValueContext context,
                     std::shared_ptr<cache::BlockCache> cache, LineFormat lines)
    : reader_(std::move(reader)),
      context_(std::move(context)),
      cache_(std::move(cache)),
      lines_(lines),
      owner_(cache::BlockCache::new_owner()) {}

TextImage::~TextImage() {
  if (cache_) cache_->erase_owner(owner_);
}

Status append_element_line(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                           std::string& out) {
  const bool bare = type.cls == format::DatatypeClass::VariableLength && type.variable_string;
  return bare ? text::append_string(type, element, context, out)
              : text::append_json(type, element, context, out);
}

// 0 where that is beyond every bound.
std::uint64_t TextImage::line_bytes() const {
  return checked_mul(reader_->description().element_size, lines_.elements).value_or(0);
}

template <class Each>
Status TextImage::render(std::uint64_t first, std::uint64_t last, std::string& text, Each&& each) const {
  const std::uint64_t size = line_bytes();
  if (size == 0 || size > kMaxLineBytes)
    return fail(Error(ErrorCode::LimitExceeded, "line too large to be shown as text").with_found(size));
  const std::uint64_t batch = std::max<std::uint64_t>(1, kBatchBytes / size);
  std::vector<std::byte> bytes;
  while (first < last) {
    const std::uint64_t count = std::min(batch, last - first);
    bytes.resize(static_cast<std::size_t>(count * size));
    H5_TRY(reader_->read_into(first * size, bytes));
    for (std::uint64_t i = 0; i < count; ++i) {
      H5_TRY(lines_.append(
          *reader_->description().type,
          ByteSpan(bytes).subspan(static_cast<std::size_t>(i * size), static_cast<std::size_t>(size)),
          context_, text));
      text += '\n';
      H5_TRY(each(first + i));
    }
    first += count;
  }
  return {};
}

// The pass that finds the checkpoints.
class TextImage::Measuring {
 public:
  // Goes on from the image's last checkpoint.
  explicit Measuring(TextImage& image) : image_(image) {
    if (image_.context_.file) most_ += kMostPerFileByte * image_.context_.file->addresses()->stored_bytes();
    if (image_.checkpoints_.empty()) image_.checkpoints_.push_back({});
  }

  Status run(std::uint64_t count) {
    H5_TRY(image_.render(image_.checkpoints_.back().line, count, text_, [&](std::uint64_t element) -> Status {
      if (text_.size() >= spacing_ && element + 1 < count) end_stretch(element + 1);
      if (image_.checkpoints_.back().offset <= most_) return {};
      return fail(Error(ErrorCode::LimitExceeded, "more text than a file of this size can sensibly have"));
    }));
    if (count > image_.checkpoints_.back().line) end_stretch(count);
    return {};
  }

 private:
  void end_stretch(std::uint64_t next_element) {
    auto& checkpoints = image_.checkpoints_;
    const std::uint64_t offset = checkpoints.back().offset + text_.size();
    if (offset <= kMostKeptAtFirst) image_.keep(checkpoints.size() - 1, text_);
    checkpoints.push_back({next_element, offset});
    text_.clear();
    if (text_.capacity() > 4 * spacing_) text_.shrink_to_fit();
    if (checkpoints.size() > kMostCheckpoints) thin_out();
  }

  // Every second one goes, never the last.
  void thin_out() {
    auto& checkpoints = image_.checkpoints_;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < checkpoints.size(); i += 2) checkpoints[kept++] = checkpoints[i];
    if (checkpoints.size() % 2 == 0) checkpoints[kept++] = checkpoints.back();
    checkpoints.resize(kept);
    spacing_ *= 2;
    image_.cache_->erase_owner(image_.owner_);
    image_.owner_ = cache::BlockCache::new_owner();
  }

  TextImage& image_;
  std::string text_;
  std::uint64_t spacing_ = kFirstSpacing;
  std::uint64_t most_ = kMostText;
};

Result<std::shared_ptr<const TextImage>> TextImage::measure(
    DatasetReaderPtr reader, text::ValueContext context, std::shared_ptr<cache::BlockCache> cache,
    const TextImage* before, std::uint64_t same_elements_bytes, LineFormat lines) {
  const std::shared_ptr<TextImage> image(
      new TextImage(std::move(reader), std::move(context), std::move(cache), lines));
  const object::DatasetDescription& description = image->reader_->description();
  const std::uint64_t count = image->line_bytes() == 0 ? 0 : description.image_bytes / image->line_bytes();
  if (count > limits::kMaxTextElements)
    return fail(Error(ErrorCode::LimitExceeded, "too many lines to be shown as text").with_found(count));
  if (before != nullptr && before->lines_.elements == lines.elements && count > 0) {
    const std::uint64_t same = std::min(count, same_elements_bytes / image->line_bytes());
    // The last checkpoint is the old end; the stretch before it goes on growing.
    for (std::size_t i = 0; i + 1 < before->checkpoints_.size() && before->checkpoints_[i].line <= same; ++i)
      image->checkpoints_.push_back(before->checkpoints_[i]);
    if (!image->checkpoints_.empty()) image->same_bytes_ = image->checkpoints_.back().offset;
  }
  H5_TRY(Measuring(*image).run(count));
  return image;
}

void TextImage::keep(std::size_t index, const std::string& text) const {
  (void)cache_->get_or_load({owner_, 0, index}, text.size(), [&](cache::Block& block) -> Status {
    std::memcpy(block.bytes().data(), text.data(), text.size());
    return {};
  });
}

Result<cache::BlockPtr> TextImage::stretch(std::size_t index) const {
  const Checkpoint& from = checkpoints_[index];
  const Checkpoint& to = checkpoints_[index + 1];
  const auto size = static_cast<std::size_t>(to.offset - from.offset);
  return cache_->get_or_load({owner_, 0, index}, size, [&](cache::Block& block) -> Status {
    std::string text;
    text.reserve(size);
    H5_TRY(render(from.line, to.line, text, [](std::uint64_t) -> Status { return {}; }));
    if (text.size() != size)
      return fail({ErrorCode::Stale, "the text's length changed since it was measured"});
    std::memcpy(block.bytes().data(), text.data(), size);
    return {};
  });
}

Status TextImage::read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out) const {
  if (offset >= size()) return {};
  const std::uint64_t end = offset + std::min(length, size() - offset);
  const auto after = std::ranges::upper_bound(checkpoints_, offset, {}, &Checkpoint::offset);
  for (auto index = static_cast<std::size_t>(after - checkpoints_.begin()) - 1; offset < end; ++index) {
    H5_ASSIGN(const cache::BlockPtr block, stretch(index));
    const std::uint64_t begin = checkpoints_[index].offset;
    const std::uint64_t stop = std::min(end, checkpoints_[index + 1].offset);
    out.add(block->bytes().subspan(static_cast<std::size_t>(offset - begin),
                                   static_cast<std::size_t>(stop - offset)),
            block);
    offset = stop;
  }
  return {};
}

}  // namespace h5mount::view

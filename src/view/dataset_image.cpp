#include "dataset_image.h"

#include "h5mount/base/log.h"

namespace h5mount {

namespace {

constexpr std::uint64_t kBlockBytes = 512;

std::optional<std::uint64_t> storage_by_layout(const DatasetDescription& description) {
  const DataLayout& layout = description.layout;
  if (layout.cls == LayoutClass::Compact) return layout.compact_data.size();
  if (layout.cls == LayoutClass::Contiguous && description.external.empty())
    return layout.address == kUndefinedAddress ? 0 : description.image_bytes;
  return std::nullopt;
}

}  // namespace

Result<DatasetReaderPtr> open_reader(const FileView& file, const DatasetDescription& description) {
  return DatasetReader::open(file.context().environment, file.file(), description);
}

// A file that does not grow has one version; it is pinned only once bytes are wanted, so that a node that was merely
// listed holds nothing.
Result<std::shared_ptr<DatasetImage::Version>> DatasetImage::version() {
  if (!grows()) {
    const std::lock_guard lock(mutex_);
    if (version_) return version_;
  }
  H5_ASSIGN(OpenedObjectPtr object, file_->object(address_));
  const std::lock_guard lock(mutex_);
  if (!version_ || (grows() && version_->object != object)) version_ = std::make_shared<Version>(std::move(object));
  return version_;
}

Result<DatasetReaderPtr> DatasetImage::reader(Version& version) {
  return version.reader.get([&]() -> Result<DatasetReaderPtr> {
    H5_ASSIGN(const DatasetDescriptionPtr description, description_of(*file_, *version.object));
    return open_reader(*file_, *description);
  });
}

Result<TextImagePtr> DatasetImage::text(Version& version) {
  return version.text.get([&]() -> Result<TextImagePtr> {
    H5_ASSIGN(DatasetReaderPtr bytes, reader(version));
    return TextImage::measure(std::move(bytes), file_->value_context(), file_->context().environment.cache);
  });
}

Result<DatasetImage::Bytes> DatasetImage::bytes() {
  H5_ASSIGN(const std::shared_ptr<Version> now, version());
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(*file_, *now->object));
  Bytes out;
  if (is_shown_as_text(*description->type)) {
    H5_ASSIGN(out.text, text(*now));
  } else {
    H5_ASSIGN(out.raw, reader(*now));
  }
  return out;
}

void DatasetImage::measure(StatDepth depth, NodeStat& stat) {
  const auto object = file_->object(address_);
  if (!object) return;
  const auto description = description_of(*file_, **object);
  if (!description) return;
  if (!is_shown_as_text(*(*description)->type))
    stat.size = (*description)->image_bytes;
  else if ((*description)->image_bytes > 0)
    measure_text(depth, stat);
  measure_blocks(depth, **description, stat);
}

void DatasetImage::measure_text(StatDepth depth, NodeStat& stat) {
  std::optional<TextImagePtr> known;
  if (depth == StatDepth::Listing) {
    const std::lock_guard lock(mutex_);
    if (version_) known = version_->text.peek();
  } else if (const auto now = version()) {
    auto made = text(**now);
    if (!made) return log_error(made.error());
    known = *std::move(made);
  }
  if (known)
    stat.size = (*known)->size();
  else
    stat.complete = false;
}

void DatasetImage::measure_blocks(StatDepth depth, const DatasetDescription& description, NodeStat& stat) {
  std::optional<std::uint64_t> bytes = storage_by_layout(description);
  if (!bytes) {
    std::shared_ptr<Version> pinned;
    {
      const std::lock_guard lock(mutex_);
      pinned = version_;
    }
    const auto opened = pinned ? reader(*pinned) : open_reader(*file_, description);
    if (!opened) return;
    if (depth == StatDepth::Full) {
      if (const auto exact = (*opened)->storage_bytes()) bytes = *exact;
    } else {
      bytes = (*opened)->storage_bytes_known();
      if (!bytes) stat.complete = false;
    }
  }
  stat.blocks = bytes.value_or(0) / kBlockBytes + (bytes.value_or(0) % kBlockBytes != 0 ? 1 : 0);
}

}  // namespace h5mount

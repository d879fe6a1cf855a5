#include "dataset_image.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "h5mount/base/checked.h"
#include "h5mount/metadata/torn_retry.h"
#include "open_nodes.h"

namespace h5mount::tree {

namespace {

constexpr std::uint64_t kBlockBytes = 512;

constexpr std::uint64_t kMostCounted = 4096;  // chunks that a growing dataset's storage is counted for

std::uint64_t chunk_count(const object::DatasetDescription& description) {
  std::uint64_t bytes = description.element_size;
  for (const std::uint64_t dim : description.layout.chunk_dims) bytes *= std::max<std::uint64_t>(dim, 1);
  return description.image_bytes / std::max<std::uint64_t>(bytes, 1);
}

std::optional<std::uint64_t> storage_by_layout(const object::DatasetDescription& description) {
  const format::DataLayout& layout = description.layout;
  if (layout.cls == format::LayoutClass::Compact) return layout.compact_data.size();
  if (layout.cls == format::LayoutClass::Virtual) return 0;  // its sources have it
  if (layout.cls == format::LayoutClass::Contiguous && description.external.empty())
    return layout.address == format::kUndefinedAddress ? 0 : description.image_bytes;
  return std::nullopt;
}

// Bytes of storage as far as the depth allows to count them; nothing where they are not known.
Result<std::optional<std::uint64_t>> storage_of(const dataset::DatasetReader& reader, StatDepth depth,
                                                NodeStat& stat) {
  if (depth != StatDepth::Full) {
    const auto known = reader.storage_bytes_known();
    if (!known) stat.complete = false;
    return known;
  }
  H5_ASSIGN(const std::uint64_t exact, reader.storage_bytes());
  return exact;
}

}  // namespace

Result<DatasetReaderPtr> open_reader(const ServedFile& file, const object::DatasetDescription& description) {
  return dataset::DatasetReader::open(file.context().environment, file.file(), description);
}

// A file that does not grow has one version; it is pinned only once bytes are wanted, so that a node that was
// merely listed holds nothing.
Result<std::shared_ptr<DatasetImage::Version>> DatasetImage::version() {
  if (!grows()) {
    const std::lock_guard lock(mutex_);
    if (version_) return version_;
  }
  H5_ASSIGN(OpenedObjectPtr object, file_->object(address_));
  std::shared_ptr<Version> before;
  {
    const std::lock_guard lock(mutex_);
    before = version_;
  }
  const bool outgrown = before && grows() && before->outgrown();
  const std::lock_guard lock(mutex_);
  if (!version_ || (version_ == before && is_next(object, outgrown))) {
    auto next = std::make_shared<Version>(std::move(object), ++versions_);
    if (version_) note_successor(*next, *version_);
    version_ = std::move(next);
  }
  return version_;
}

// Whether `object` is of a later state than the version that is there.
bool DatasetImage::is_next(const OpenedObjectPtr& object, bool outgrown) const {
  if (!grows()) return false;
  if (version_->object->generation != object->generation)
    return version_->object->generation < object->generation;
  return outgrown || (is_virtual_ && version_->object != object);
}

void DatasetImage::note_successor(Version& next, const Version& before) const {
  next.reader_before = before.reader.peek().value_or(before.reader_before);
  const auto text = before.text.peek();
  next.text_before = text.value_or(before.text_before);
  if (!text) next.same = before.same.load();
}

Result<DatasetDescriptionPtr> DatasetImage::describe(const OpenedObject& object) {
  H5_ASSIGN(DatasetDescriptionPtr description, description_of(*file_, object));
  if (description->layout.cls == format::LayoutClass::Virtual) is_virtual_ = true;
  return description;
}

Result<DatasetReaderPtr> DatasetImage::reader(Version& version) {
  return version.reader.get([&]() -> Result<DatasetReaderPtr> {
    H5_ASSIGN(const DatasetDescriptionPtr description, describe(*version.object));
    if (!grows()) return open_reader(*file_, *description);
    // The index of chunks was written before the extent, so it must be read after it.
    if (metadata().following()) metadata().forget();
    return metadata::retry_torn(metadata(), "chunk index", [&] {
      return dataset::DatasetReader::open_next(context().environment, file_->file(), *description,
                                               version.reader_before);
    });
  });
}

Result<TextImagePtr> DatasetImage::text(Version& version) {
  return version.text.get([&]() -> Result<TextImagePtr> {
    H5_ASSIGN(DatasetReaderPtr bytes, reader(version));
    // Text of elements that may read otherwise now begins with the first of them.
    std::uint64_t same = version.same;
    for (const dataset::ByteRange& range : bytes->take_outdated()) same = std::min(same, range.begin);
    version.same = same;
    return TextImage::measure(std::move(bytes), file_->value_context(), context().environment.cache,
                              version.text_before.get(), same);
  });
}

Result<DatasetImage::Bytes> DatasetImage::bytes() {
  H5_ASSIGN(const std::shared_ptr<Version> now, version());
  H5_ASSIGN(const DatasetDescriptionPtr description, describe(*now->object));
  Bytes out;
  if (is_shown_as_text(*description->type)) {
    H5_ASSIGN(out.text, text(*now));
  } else {
    H5_ASSIGN(out.raw, reader(*now));
  }
  return out;
}

Result<DatasetReaderPtr> DatasetImage::newest_reader() {
  H5_ASSIGN(const std::shared_ptr<Version> now, version());
  return reader(*now);
}

void DatasetImage::note_failure(std::uint64_t offset, const Error& error) {
  file_->failures().note(address_, metadata().generation(), offset, error);
  file_->report(file_->path_of(place_), error);
}

void DatasetImage::note_missing_sources(const DatasetReaderPtr& reader) {
  if (!reader || !is_virtual_) return;
  const dataset::MissingSources missing = reader->missing_sources();
  if (missing.count == 0) return;
  const std::uint64_t fresh =
      file_->failures().note_missing(address_, metadata().generation(), missing.count);
  if (fresh == 0) return;
  tree_counters().missing_sources.fetch_add(fresh, std::memory_order_relaxed);
  if (fresh < missing.count) return;
  file_->report(file_->path_of(place_),
                Error(ErrorCode::NotFound, "virtual source " + missing.first +
                                               " is missing: what it would hold reads as the fill value; "
                                               "user.hdf5.sources lists all sources"));
}

void DatasetImage::measure(StatDepth depth, NodeStat& stat, NodeId node) {
  std::shared_ptr<Version> pinned;
  {
    const std::lock_guard lock(mutex_);
    pinned = version_;
  }
  if (grows()) {
    const std::lock_guard lock(kernel_mutex_);
    stat.size = published_size_;  // where the size cannot be had at the moment
  }
  if (pinned && grows()) {
    const auto now = version();
    if (!now) return;
    pinned = *now;
  }
  const auto object = pinned && grows() ? Result<OpenedObjectPtr>(pinned->object) : file_->object(address_);
  if (!object) return;
  const auto description = describe(**object);
  if (!description) return;
  if (!is_shown_as_text(*(*description)->type))
    stat.size = (*description)->image_bytes;
  else if ((*description)->image_bytes > 0)
    // What is there of the text goes on being measured as it grows, so that no look-up shows it empty.
    measure_text(pinned && pinned->text_before ? StatDepth::Size : depth, stat);
  const bool sized = stat.complete;
  measure_blocks(depth, **description, stat);
  if (pinned && grows() && sized) publish(pinned, node, stat);
  if (is_virtual_) stat.complete = false;  // nothing tells the kernel when a source grows
}

void DatasetImage::catch_up(NodeId node) {
  NodeStat stat;
  measure(StatDepth::Size, stat, node);
}

// While it lives, no size is published: what the version makes wrong of the kernel's pages is being found
// out.
class DatasetImage::Invalidating {
 public:
  explicit Invalidating(DatasetImage& image) : image_(image) {}
  ~Invalidating() {
    const std::lock_guard lock(image_.kernel_mutex_);
    image_.invalidating_ = false;
  }
  Invalidating(const Invalidating&) = delete;
  Invalidating& operator=(const Invalidating&) = delete;

 private:
  DatasetImage& image_;
};

// True where the caller is to find out what the version makes wrong, false where that was done; nothing where
// the published size stands: a newer version was published, or another thread is just finding out.
std::optional<bool> DatasetImage::begin_invalidating(const Version& version, NodeStat& stat) {
  const std::lock_guard lock(kernel_mutex_);
  if (version.number < published_version_ || invalidating_) {
    stat.size = published_size_;
    stat.complete = stat.complete && !invalidating_;
    return std::nullopt;
  }
  invalidating_ = version.number > invalidated_version_;
  return invalidating_;
}

// A version is unpublished, then being invalidated, then published: its size is given only after what it
// makes wrong of the kernel's pages is gone, which is the page that the old end lay in, and what was read of
// chunks that were not finished. Meanwhile, and where that takes long (a read of such a page is under way),
// the old size is given and the kernel asks again.
void DatasetImage::publish(const std::shared_ptr<Version>& version, NodeId node, NodeStat& stat) {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto kernel = context().open_nodes->kernel();
  if (!kernel || node == 0) return;
  const std::optional<bool> first = begin_invalidating(*version, stat);
  if (!first) return;
  KernelPages::Ticket ticket = 0;
  {
    std::optional<Invalidating> invalidating;
    if (*first) invalidating.emplace(*this);
    std::vector<dataset::ByteRange> ranges;
    if (*first) ranges = outdated(*version);
    const std::lock_guard lock(kernel_mutex_);
    if (stat.size > published_size_ && published_size_ % kPage != 0)
      ranges.push_back({published_size_ / kPage * kPage, published_size_});
    if (!ranges.empty()) ticket_ = kernel->forget(node, ranges);
    if (*first) invalidated_version_ = version->number;
    ticket = ticket_;
  }
  const bool gone = kernel->wait(ticket);
  const std::lock_guard lock(kernel_mutex_);
  if (gone && version->number >= published_version_) {
    published_size_ = stat.size;
    published_version_ = version->number;
  } else {
    stat.size = published_size_;
    stat.complete = false;
  }
}

std::vector<dataset::ByteRange> DatasetImage::outdated(Version& version) {
  if (version.text_before) {
    const auto made = text(version);
    return {{made ? (*made)->same_bytes() : 0, format::kUnlimited}};
  }
  if (!version.reader_before) return {};
  const auto made = reader(version);
  return made ? (*made)->take_outdated() : std::vector<dataset::ByteRange>{{0, format::kUnlimited}};
}

void DatasetImage::measure_text(StatDepth depth, NodeStat& stat) {
  std::optional<TextImagePtr> known;
  if (depth == StatDepth::Listing) {
    const std::lock_guard lock(mutex_);
    if (version_) known = version_->text.peek();
  } else if (const auto now = version()) {
    auto made = text(**now);
    if (!made) return note_failure(0, made.error());
    known = *std::move(made);
  }
  if (known)
    stat.size = (*known)->size();
  else
    stat.complete = false;
}

// At least 1 wherever SEEK_DATA finds bytes: `tar --sparse` writes a file without blocks as one hole.
void DatasetImage::measure_blocks(StatDepth depth, const object::DatasetDescription& description,
                                  NodeStat& stat) {
  std::optional<std::uint64_t> bytes = storage_by_layout(description);
  // Text has no holes, and neither has what a virtual dataset shows of its sources.
  bool all_data =
      is_shown_as_text(*description.type) || description.layout.cls == format::LayoutClass::Virtual;
  if (!bytes || (*bytes == 0 && !all_data && stat.size > 0)) {
    std::shared_ptr<Version> pinned;
    {
      const std::lock_guard lock(mutex_);
      pinned = version_;
    }
    // Counting takes the whole index; while it grows that would be done over and over.
    const std::uint64_t chunks = chunk_count(description);
    if (!bytes && grows() && chunks > kMostCounted) {
      stat.blocks = description.image_bytes / kBlockBytes;
      return;
    }
    const auto opened = pinned ? reader(*pinned) : open_reader(*file_, description);
    if (!opened) return;
    if (const auto counted = storage_of(**opened, depth, stat))
      bytes = *counted;
    else
      file_->report(file_->path_of(place_), counted.error());
    // Storage that is known to be none costs nothing to search.
    all_data = all_data || !bytes || (*bytes == 0 && (*opened)->find_data(0));
  }
  stat.blocks = divide_up(bytes.value_or(0), kBlockBytes);
  if (stat.blocks == 0 && stat.size > 0 && all_data) stat.blocks = 1;
}

}  // namespace h5mount::tree

#include "dataset_image.h"

#include <algorithm>
#include <array>
#include <utility>

#include "../core/open_nodes.h"
#include "h5mount/base/checked.h"
#include "h5mount/metadata/torn_retry.h"

namespace h5mount::tree {

namespace {

constexpr std::uint64_t kBlockBytes = 512;

constexpr std::uint64_t kMostCounted = 4096;  // chunks up to which a growing dataset's storage is counted

std::uint64_t chunk_count(const object::DatasetDescription& description) {
  std::uint64_t bytes = description.element_size;
  for (const std::uint64_t dim : description.layout.chunk_dims) bytes *= std::max<std::uint64_t>(dim, 1);
  return description.image_bytes / std::max<std::uint64_t>(bytes, 1);
}

std::optional<std::uint64_t> storage_by_layout(const object::DatasetDescription& description) {
  const format::DataLayout& layout = description.layout;
  if (layout.cls == format::LayoutClass::Compact) return layout.compact_data.size();
  if (layout.cls == format::LayoutClass::Virtual) return 0;  // its sources have the storage
  if (layout.cls == format::LayoutClass::Contiguous && description.external.empty())
    return layout.address == format::kUndefinedAddress ? 0 : description.image_bytes;
  return std::nullopt;
}

// Bytes of storage, counted as far as the depth allows; nothing where they are unknown.
Result<std::optional<std::uint64_t>> storage_of(const dataset::DatasetReader& reader, StatDepth depth,
                                                NodeStat& stat, RequestBudget& budget) {
  if (depth != StatDepth::Full) {
    const auto known = reader.storage_bytes_known();
    if (!known) stat.complete = false;
    return known;
  }
  H5_ASSIGN(const std::uint64_t exact, reader.storage_bytes(&budget));
  return exact;
}

}  // namespace

Result<DatasetReaderPtr> open_reader(const ServedFile& file, const object::DatasetDescription& description,
                                     RequestBudget* budget) {
  return dataset::DatasetReader::open_next(file.context().environment, file.file(), description, nullptr,
                                           budget);
}

DatasetImage::Version::Version(OpenedObjectPtr opened, const Version* before)
    : object(std::move(opened)),
      number(before != nullptr ? before->number + 1 : 1),
      begins(before != nullptr && object->snapshot->following() && !before->object->snapshot->following()),
      all_stale(begins || (before != nullptr && before->all_stale)),
      reader_before(continued(before) ? before->reader.peek().value_or(before->reader_before) : nullptr),
      text_before(continued(before) ? before->text.peek().value_or(before->text_before) : nullptr),
      same(!continued(before) || before->text.peek() ? format::kUnlimited : before->same.load()),
      publisher(before != nullptr ? before->publisher : std::make_shared<SizePublisher>()) {}

std::shared_ptr<DatasetImage> DatasetImage::copy() const {
  auto out = std::make_shared<DatasetImage>(file_, address_, place_);
  out->is_virtual_ = is_virtual();
  return out;
}

// A file that does not grow has one version. It is kept only once bytes are needed, so that a node that was
// merely listed holds nothing.
Result<DatasetImage::VersionPtr> DatasetImage::version(RequestBudget& budget) {
  VersionPtr newest = version_.load();
  if (newest && !grows()) return newest;
  H5_ASSIGN(OpenedObjectPtr object, file_->object(address_, budget));
  if (newest && !continues(*newest, object)) return newest;
  auto next = std::make_shared<Version>(std::move(object), newest.get());
  return version_.compare_exchange(newest, next) ? next : newest;
}

// Whether `object` is of a later state than the version.
bool DatasetImage::continues(const Version& before, const OpenedObjectPtr& object) const {
  if (!grows()) return false;
  if (before.object->snapshot != object->snapshot)
    return before.object->snapshot->number() < object->snapshot->number();
  return before.outgrown() || (is_virtual() && before.object != object);
}

Result<DatasetDescriptionPtr> DatasetImage::describe(const OpenedObject& object, RequestBudget* budget) {
  H5_ASSIGN(DatasetDescriptionPtr description, description_of(*file_, object, budget));
  if (description->layout.cls == format::LayoutClass::Virtual) is_virtual_ = true;
  return description;
}

Result<DatasetReaderPtr> DatasetImage::reader(Version& version, RequestBudget& budget) {
  return version.reader.get(
      [&]() -> Result<DatasetReaderPtr> {
        H5_ASSIGN(const DatasetDescriptionPtr description, describe(*version.object, &budget));
        if (!grows()) return open_reader(*file_, *description, &budget);
        return metadata::retry_torn(followed(), "chunk index", budget, [&](const auto&) {
          return dataset::DatasetReader::open_next(context().environment, file_->file(), *description,
                                                   version.reader_before, &budget);
        });
      },
      &budget);
}

Result<ComputedFilePtr> DatasetImage::text(Version& version, RequestBudget& budget) {
  return version.text.get_once(
      [&]() -> Result<ComputedFilePtr> {
        H5_ASSIGN(DatasetReaderPtr bytes, reader(version, budget));
        // The earlier text is valid up to the first element that may read otherwise now.
        std::uint64_t same = version.same;
        for (const dataset::ByteRange& range : bytes->take_outdated()) same = std::min(same, range.begin);
        version.same = same;
        const std::array<dataset::ByteRange, 1> stale{{{same, format::kUnlimited}}};
        return view::make_element_lines(
            {std::move(bytes), file_->value_context(file_->file()->reread(), nullptr), context().environment,
             file_->file(), &budget},
            version.text_before.get(), stale);
      },
      &budget);
}

Result<DatasetImage::Bytes> DatasetImage::bytes(RequestBudget& budget) {
  H5_ASSIGN(const VersionPtr now, version(budget));
  H5_ASSIGN(const DatasetDescriptionPtr description, describe(*now->object, &budget));
  Bytes out;
  if (is_shown_as_text(*description->type)) {
    H5_ASSIGN(out.text, text(*now, budget));
  } else {
    H5_ASSIGN(out.raw, reader(*now, budget));
  }
  return out;
}

Result<DatasetImage::NumberedReader> DatasetImage::newest_numbered_reader(RequestBudget& budget) {
  H5_ASSIGN(const VersionPtr now, version(budget));
  H5_ASSIGN(DatasetReaderPtr made, reader(*now, budget));
  return NumberedReader{std::move(made), now->number};
}

Result<DatasetReaderPtr> DatasetImage::newest_reader(RequestBudget& budget) {
  H5_ASSIGN(NumberedReader newest, newest_numbered_reader(budget));
  return std::move(newest.reader);
}

Result<DatasetDescriptionPtr> DatasetImage::newest_description(RequestBudget& budget, bool measured) {
  H5_ASSIGN(const OpenedObjectPtr object, file_->object(address_, budget));
  return describe(*object, measured ? &budget : nullptr);
}

void DatasetImage::note_failure(std::uint64_t offset, const Error& error) {
  file_->failures().note(address_, file_->metadata()->number(), offset, error);
  if (file_->context().options.logs_failed_reads) file_->report(file_->path_of(place_), error);
}

void DatasetImage::note_missing_sources(const DatasetReaderPtr& reader) {
  if (!reader || !is_virtual_) return;
  const dataset::MissingSources missing = reader->missing_sources();
  if (missing.count == 0) return;
  const std::uint64_t fresh =
      file_->failures().note_missing(address_, file_->metadata()->number(), missing.count);
  if (fresh == 0) return;
  Counters::add(file_->context().environment.counters->missing_sources, fresh);
  if (fresh < missing.count) return;
  file_->report(file_->path_of(place_),
                Error(ErrorCode::NotFound, "virtual source " + missing.first +
                                               " is missing: what it would hold reads as the fill value; "
                                               "user.hdf5.sources lists all sources"));
}

void DatasetImage::measure(StatDepth depth, NodeStat& stat, NodeId node, RequestBudget& budget) {
  VersionPtr pinned = version_.load();
  const bool growing = grows();
  if (pinned && growing) {
    stat.size = pinned->publisher->size();  // the newest size cannot be determined at the moment
    const auto now = version(budget);
    if (!now) return;
    pinned = *now;
  }
  const auto object =
      pinned && growing ? Result<OpenedObjectPtr>(pinned->object) : file_->object(address_, budget);
  if (!object) return set_unreadable_size(stat);
  // A listing opens no sources.
  const bool cheap = depth == StatDepth::Listing && !pinned;
  const auto description = describe(**object, cheap ? nullptr : &budget);
  if (!description) {
    if (concerns_one_request(description.error())) stat.complete = false;
    if (description.error().code() == ErrorCode::TooLarge) return;  // no size can say it
    return set_unreadable_size(stat);
  }
  if (!is_shown_as_text(*(*description)->type))
    stat.size = (*description)->image_bytes;
  else if ((*description)->image_bytes > 0)
    // A measured text is measured again as it grows, so that a listing does not show it empty.
    measure_text(pinned && pinned->text_before ? StatDepth::Size : depth, stat, budget);
  const bool sized = stat.complete;
  measure_blocks(depth, **description, stat, budget);
  if (pinned && growing && sized) publish(*pinned, node, stat, budget);
  if (is_virtual_) stat.complete = false;  // the kernel is not notified when a source grows
}

void DatasetImage::catch_up(NodeId node) {
  RequestBudget budget(RequestBudget::unbounded());
  NodeStat stat;
  measure(StatDepth::Size, stat, node, budget);
}

void DatasetImage::publish(Version& version, NodeId node, NodeStat& stat, RequestBudget& budget) {
  const auto kernel = context().open_nodes->kernel();
  if (!kernel || node == 0) return;
  const SizePublisher::Size published = version.publisher->publish(
      kernel.get(), node, version.number, stat.size, [&] { return stale_ranges(version, budget); });
  stat.size = published.bytes;
  stat.complete = stat.complete && published.newest;
}

SizePublisher::Ranges DatasetImage::stale_ranges(Version& version, RequestBudget& budget) {
  if (version.all_stale.exchange(false)) return {{0, format::kUnlimited}};
  if (version.text_before) {
    const auto made = text(version, budget);
    if (!made) return {{0, format::kUnlimited}};
    const std::array<dataset::ByteRange, 1> stale{{{version.same, format::kUnlimited}}};
    return (*made)->stale_since(*version.text_before, stale);
  }
  if (!version.reader_before) return {};
  const auto made = reader(version, budget);
  return made ? (*made)->take_outdated() : SizePublisher::Ranges{{0, format::kUnlimited}};
}

void DatasetImage::measure_text(StatDepth depth, NodeStat& stat, RequestBudget& budget) {
  std::optional<ComputedFilePtr> known;
  if (depth == StatDepth::Listing) {
    if (const VersionPtr newest = version_.load()) known = newest->text.peek();
  } else if (const auto now = version(budget)) {
    auto made = text(**now, budget);
    if (!made) {
      if (made.error().code() == ErrorCode::Interrupted || made.error().code() == ErrorCode::TimedOut)
        stat.complete = false;
      else
        note_failure(0, made.error());
      if (!grows()) set_unreadable_size(stat);  // else it may be readable in a moment
      return;
    }
    known = *std::move(made);
  }
  if (known)
    stat.size = (*known)->size();
  else
    stat.complete = false;
}

// At least 1 wherever SEEK_DATA finds bytes: `tar --sparse` writes a file without blocks as one hole.
void DatasetImage::measure_blocks(StatDepth depth, const object::DatasetDescription& description,
                                  NodeStat& stat, RequestBudget& budget) {
  std::optional<std::uint64_t> bytes = storage_by_layout(description);
  // Text has no holes, and neither has a virtual dataset's image.
  bool all_data =
      is_shown_as_text(*description.type) || description.layout.cls == format::LayoutClass::Virtual;
  if (!bytes || (*bytes == 0 && !all_data && stat.size > 0)) {
    const VersionPtr pinned = version_.load();
    // Counting reads the whole index; while it grows that would be repeated for each snapshot.
    const std::uint64_t chunks = chunk_count(description);
    if (!bytes && grows() && chunks > kMostCounted) {
      stat.blocks = description.image_bytes / kBlockBytes;
      return;
    }
    const auto opened = pinned ? reader(*pinned, budget) : open_reader(*file_, description, &budget);
    if (!opened) return;
    if (const auto counted = storage_of(**opened, depth, stat, budget))
      bytes = *counted;
    else if (counted.error().code() == ErrorCode::Interrupted ||
             counted.error().code() == ErrorCode::TimedOut)
      stat.complete = false;
    else
      file_->report(file_->path_of(place_), counted.error());
    // Where there is no storage, a search for data costs nothing.
    all_data = all_data || !bytes || (*bytes == 0 && (*opened)->find_data(0, &budget));
  }
  stat.blocks = divide_up(bytes.value_or(0), kBlockBytes);
  if (stat.blocks == 0 && stat.size > 0 && all_data) stat.blocks = 1;
}

}  // namespace h5mount::tree

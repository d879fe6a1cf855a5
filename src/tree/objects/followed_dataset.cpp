#include "followed_dataset.h"

#include <algorithm>
#include <utility>

#include "h5mount/base/checked.h"
#include "h5mount/dataset/open_dataset.h"
#include "h5mount/metadata/torn_retry.h"
#include "h5mount/view/text_lines.h"

namespace h5mount::tree {

namespace {

constexpr std::uint64_t kBlockBytes = 512;

constexpr std::uint64_t kMaxCounted = 4096;  // chunks up to which a growing dataset's storage is counted

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

// Bytes of storage, counted as far as the depth allows; nullopt if the number is unknown.
Result<std::optional<std::uint64_t>> storage_of(const dataset::DatasetReader& reader, StatDepth depth,
                                                NodeStat& stat, RequestBudget& budget) {
  if (depth != StatDepth::Full) {
    const auto known = reader.storage_bytes_known();
    if (!known) stat.complete = false;
    return known;
  }
  H5_ASSIGN(const std::uint64_t exact, reader.storage_bytes(budget));
  return exact;
}

}  // namespace

Result<DatasetReaderPtr> open_reader(const ServedFile& file, const object::DatasetDescription& description,
                                     RequestBudget& budget) {
  H5_ASSIGN(dataset::NextReader first, dataset::open_next_dataset(file.context().environment, file.file(),
                                                                  description, nullptr, budget));
  return std::move(first.reader);
}

Result<DataStatePtr> FollowedDataset::newest(RequestBudget& budget) {
  States::StatePtr state = states_.newest();
  if (!state || grows()) {
    H5_ASSIGN(OpenedObjectPtr object, file()->object(address(), budget));
    state = states_.advance(std::move(object), [&](const States::State& newest, const OpenedObjectPtr& of) {
      return is_later(newest, of);
    });
  }
  return state->value.get([&] { return make(*state, budget); }, budget);
}

bool FollowedDataset::is_later(const States::State& newest, const OpenedObjectPtr& object) const {
  if (!grows()) return false;
  if (newest.of->snapshot != object->snapshot)
    return newest.of->snapshot->number() < object->snapshot->number();
  if (!is_virtual()) return false;
  const auto made = newest.value.peek();
  return newest.of != object || (made && (*made)->reader->sources_changed());
}

Result<DataStatePtr> FollowedDataset::make(const States::State& state, RequestBudget& budget) {
  H5_ASSIGN(const DatasetDescriptionPtr description, noted(description_of(*file(), *state.of, budget)));
  auto made = std::make_shared<DataState>();
  made->number = state.number;
  made->followed = state.of->snapshot->following();
  const DataState* const before = state.before.get();
  // A file that was not followed may have changed anywhere by the time it begins to be. The earlier state may
  // also be made only now.
  const bool continues = before != nullptr && before->followed == made->followed;
  H5_ASSIGN(dataset::NextReader next,
            metadata::retry_torn(followed(), "chunk index", budget, [&](const auto&) {
              return dataset::open_next_dataset(context().environment, file()->file(), *description,
                                                continues ? before->reader : nullptr, budget);
            }));
  made->reader = std::move(next.reader);
  if (continues) {
    made->stale = before->stale;
    made->stale.add(state.number, next.stale);
  } else if (state.number > 1) {
    made->stale.add(state.number, {{dataset::kWholeImage}});
  }
  return made;
}

Result<DatasetDescriptionPtr> FollowedDataset::noted(Result<DatasetDescriptionPtr> description) {
  if (description && (*description)->layout.cls == format::LayoutClass::Virtual) set_virtual();
  return description;
}

Result<DatasetDescriptionPtr> FollowedDataset::newest_description(RequestBudget& budget, bool measured) {
  H5_ASSIGN(const OpenedObjectPtr object, file()->object(address(), budget));
  return noted(measured ? description_of(*file(), *object, budget) : known_description_of(*file(), *object));
}

void FollowedDataset::note_missing() {
  const States::ValuePtr newest = states_.newest_value();
  if (!newest) return;
  const dataset::MissingSources missing = newest->reader->missing_sources();
  if (missing.count == 0) return;
  const std::uint64_t fresh =
      file()->failures().note_missing(address(), file()->metadata()->number(), missing.count);
  if (fresh == 0) return;
  Counters::add(file()->context().environment.counters->missing_sources, fresh);
  if (fresh < missing.count) return;
  file()->report(file()->path_of(place()),
                 Error(ErrorCode::NotFound, "virtual source " + missing.first +
                                                " is missing: what it would hold reads as the fill value; "
                                                "user.hdf5.sources lists all sources"));
}

// Sets at least 1 block whenever SEEK_DATA finds bytes: `tar --sparse` writes a file without blocks as one
// hole.
void FollowedDataset::measure_blocks(StatDepth depth, const object::DatasetDescription& description,
                                     NodeStat& stat, RequestBudget& budget) {
  std::optional<std::uint64_t> bytes = storage_by_layout(description);
  // Text has no holes, and neither has a virtual dataset's image.
  bool all_data =
      view::is_shown_as_text(*description.type) || description.layout.cls == format::LayoutClass::Virtual;
  if (!bytes || (*bytes == 0 && !all_data && stat.size > 0)) {
    const States::ValuePtr known = states_.newest_value();
    // Counting reads the whole index; while the index grows, that would be repeated for each snapshot.
    if (!bytes && grows() && chunk_count(description) > kMaxCounted) {
      stat.blocks = description.image_bytes / kBlockBytes;
      return;
    }
    // A listing of a far file's datasets does not wait for the index of each.
    const bool counted = known && known->reader->storage_bytes_known();
    if (!bytes && !counted && description.layout.address != format::kUndefinedAddress &&
        file()->metadata()->source()->far()) {
      stat.blocks = divide_up(description.image_bytes, kBlockBytes);
      stat.complete = false;
      return;
    }
    const auto opened = known ? known->reader : open_reader(*file(), description, budget);
    if (!opened) return;
    if (const auto counted = storage_of(**opened, depth, stat, budget))
      bytes = *counted;
    else if (counted.error().code() == ErrorCode::Interrupted ||
             counted.error().code() == ErrorCode::TimedOut)
      stat.complete = false;
    else
      file()->report(file()->path_of(place()), counted.error());
    // If there is no storage, a search for data costs nothing.
    all_data = all_data || !bytes || (*bytes == 0 && (*opened)->find_data(0, budget));
  }
  stat.blocks = divide_up(bytes.value_or(0), kBlockBytes);
  if (stat.blocks == 0 && stat.size > 0 && all_data) stat.blocks = 1;
}

}  // namespace h5mount::tree

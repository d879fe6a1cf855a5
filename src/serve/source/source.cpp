#include "source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "h5mount/tree/tree.h"

namespace h5mount::serve {
namespace {

using std::chrono::nanoseconds;

// Two writes within a tick of the kernel's clock leave the same times, so the state of a file that was
// written within this time gets a tag that no other answer has.
constexpr std::int64_t kSettles = 50'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t now() {
  return nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::shared_ptr<const RecentFiles::Elements> RecentFiles::find_elements(std::uint64_t key,
                                                                        const tree::FileObject& object) {
  const std::shared_ptr<const void> file = object.opened_file();
  const std::uint64_t address = object.object().address;
  const MutexLock lock(mutex_);
  if (auto known = elements_.find(key); known && known->file == file && known->address == address)
    return known;
  auto made = std::make_shared<const Elements>(Elements{file, address, object.elements()});
  elements_.insert(key, made, least_bytes_);
  return made;
}

Result<view::ViewInput> RecentFiles::elements_of(const tree::FileObject& object, RequestBudget& budget) {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // of multiplicative hashing
  const auto file = reinterpret_cast<std::uintptr_t>(object.opened_file().get());
  const std::uint64_t key = file * kSpread ^ object.object().address;
  const auto elements = find_elements(key, object);
  H5_ASSIGN(view::ViewInput source, elements->newest(budget));
  elements_.charge(key, *elements, std::max(least_bytes_, source.reader->memory_bytes()));
  return source;
}

ServedSource::ServedSource(SourceToServe source)
    : name_(std::move(source.name)), open_(std::move(source.open)), run_(static_cast<std::uint64_t>(now())) {
  const auto opened = std::make_shared<const Opened>(Opened{std::move(source.opened)});
  (void)opening()->get([&]() -> Result<OpenedPtr> { return opened; }, Unbounded());
}

std::shared_ptr<ServedSource::Opening> ServedSource::opening() const {
  const MutexLock lock(mutex_);
  return opening_;
}

// Called by requests that find that another file has the source's name. The first call replaces the outdated
// opening; the others then use the new one.
void ServedSource::open_anew(const std::shared_ptr<Opening>& outdated) {
  const MutexLock lock(mutex_);
  if (opening_ == outdated) opening_ = std::make_shared<Opening>();
}

std::string ServedSource::version_text(std::uint64_t version, std::int64_t modified) {
  static const std::uint64_t program = fnv1a(H5MOUNT_VERSION);
  std::string out = fmt::format("{:x}", version ^ program);
  if (std::llabs(now() - modified) < kSettles) out += fmt::format(".{:x}.{:x}", run_, ++unsettled_);
  return out;
}

std::shared_ptr<const Snapshot> ServedSource::snapshot_of(const Opened& opened, const SourceState& state) {
  auto out = std::make_shared<Snapshot>();
  out->tree = opened.source.tree;
  out->pin = opened.source.tree->pin();
  out->shown = opened.source.shown;
  out->opening = opened.number;
  out->listings = opened.listings;
  out->recent = opened.recent;
  out->many = !opened.source.state;
  if (out->many) return out;
  out->modified = state.modified / kSecond;
  out->version = version_text(state.version, state.modified);
  return out;
}

std::shared_ptr<const Snapshot> ServedSource::of_file(std::shared_ptr<const Snapshot> snapshot,
                                                      const std::optional<tree::FileOfNode>& file) {
  if (!snapshot->many || !file) return snapshot;
  auto out = std::make_shared<Snapshot>(*snapshot);
  out->plain = file->plain;
  out->opening = file->number;
  out->modified = file->modified / kSecond;
  out->version = version_text(file->version, file->modified);
  return out;
}

Result<std::shared_ptr<const Snapshot>> ServedSource::current(RequestBudget& budget) {
  const auto open = [&]() -> Result<OpenedPtr> {
    H5_ASSIGN(OpenedSource opened, open_());
    return std::make_shared<const Opened>(Opened{std::move(opened), ++openings_});
  };
  auto opening = this->opening();
  if (const auto known = opening->peek()) {
    if (const SourceState state = (*known)->state(); state.current) return snapshot_of(**known, state);
    open_anew(opening);
    opening = this->opening();
  }
  H5_ASSIGN(const OpenedPtr opened, opening->get(open, budget));
  return snapshot_of(*opened, opened->state());
}

Result<ListingPtr> SharedListings::open(tree::Tree& tree, tree::NodeId directory, const std::string& version,
                                        RequestBudget& budget) {
  const auto made = [&] { return tree.open_directory(directory, budget); };
  // A listing that may differ although the file does not change is always made anew.
  if (!tree.lasts(directory)) return made();
  std::shared_ptr<Once> once;
  {
    const MutexLock lock(mutex_);
    std::erase_if(listings_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Once>& known = listings_[{directory, version}];
    once = known.lock();
    if (!once) known = once = std::make_shared<Once>();
  }
  H5_ASSIGN(const ListingPtr listing, once->get(made, budget));
  // The result keeps `once` as long as a client uses the listing.
  return ListingPtr(std::move(once), listing.get());
}

}  // namespace h5mount::serve

#include "levels.h"

#include <utility>

#include "h5mount/base/momentary.h"
#include "h5mount/metadata/will_read.h"

namespace h5mount::ahead {
namespace {

constexpr std::size_t kMaxStructures = 1U << 16;
constexpr std::uint64_t kMaxBytes = 64U << 20;
constexpr std::uint64_t kMaxReadAgain = 4 * kMaxBytes;

}  // namespace

Result<metadata::MetadataBlock> Levels::AskedFile::read(std::uint64_t address, std::uint64_t length,
                                                        std::string_view structure,
                                                        metadata::Among among) const {
  H5_TRY(levels_.ask(address, length, among));
  return levels_.file_.read(address, length, structure, among);
}

Result<metadata::MetadataBlock> Levels::AskedFile::read_up_to(std::uint64_t address, std::uint64_t length,
                                                              std::string_view structure,
                                                              metadata::Among among) const {
  H5_TRY(levels_.ask(address, length, among));
  return levels_.file_.read_up_to(address, length, structure, among);
}

// Succeeds for what was asked for with an earlier level.
Status Levels::ask(std::uint64_t address, std::uint64_t bytes, metadata::Among among) {
  const auto before = asked_.find(address);
  const bool known = before != asked_.end() && before->second.bytes >= bytes;
  if (known && before->second.now) {
    // A walk that missed something reads all again at each level.
    if (bytes > kMaxReadAgain - read_again_)
      return fail(Error(ErrorCode::LimitExceeded, "it is read too often"));
    read_again_ += bytes;
    return {};
  }
  if (known || add({address, bytes, nullptr, among})) missed_ = true;
  return fail(Error(ErrorCode::NotFound, "it is asked for"));
}

void Levels::add_walk(std::uint64_t address, Walk walk) {
  if (walked_.size() > kMaxStructures || address >= file_.source()->size()) return;
  if (walked_.insert(address).second) walks_.push_back(std::move(walk));
}

void Levels::expect(std::uint64_t address, std::uint64_t bytes, Decode decode, metadata::Among among) {
  if (!asked_.contains(address)) add({address, bytes, std::move(decode), among});
}

bool Levels::add(Place place) {
  if (asked_.size() > kMaxStructures || place.bytes > kMaxBytes - bytes_ ||
      place.address >= file_.source()->size())
    return false;
  bytes_ += place.bytes;
  asked_[place.address] = {place.bytes, false};
  next_.push_back(std::move(place));
  return true;
}

void Levels::run(unsigned levels) {
  MomentaryWatch watch;  // whoever needs what failed reads it again
  run_levels(levels);
  watch.forget();
}

// Runs all walks, also those that they add; what missed something runs again after the next level.
void Levels::walk_all() {
  std::vector<Walk> waiting;
  while (!walks_.empty())
    for (Walk& walk : std::exchange(walks_, {})) {
      if (!budget_.check()) return;
      missed_ = false;
      walk();
      if (missed_) waiting.push_back(std::move(walk));
    }
  walks_ = std::move(waiting);
}

void Levels::run_levels(unsigned levels) {
  for (; levels > 0; --levels) {
    walk_all();
    const std::vector<Place> level = std::exchange(next_, {});
    std::uint64_t bytes = 0;
    for (const Place& place : level) bytes += place.bytes;
    if (level.empty() || !budget_.spend(bytes)) return;
    tell(level);
    if (levels == 1) return;
    for (const Place& place : level) {
      if (!place.decode) continue;
      if (const auto block = file_.read_up_to(place.address, place.bytes, "ReadAhead", place.among))
        place.decode(*block);
    }
  }
}

void Levels::tell(const std::vector<Place>& level) {
  std::vector<ByteRange> structures, data;
  for (const Place& place : level) {
    asked_[place.address].now = true;
    (place.among == metadata::Among::Data ? data : structures)
        .push_back({place.address, place.address + place.bytes});
  }
  metadata::will_read_structures(file_, structures, data);
}

}  // namespace h5mount::ahead

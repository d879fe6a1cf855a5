#include "segments.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/thread.h"

namespace h5mount::remote {
namespace {

constexpr std::uint64_t kBlock = 64U << 10;
constexpr std::uint64_t kMaxGap = 64U << 10;  // between ranges that are joined to one request
constexpr std::uint64_t kMaxRequest = 8U << 20;
// Bytes that are wanted together are cut into as many requests as may be under way, as a single connection is
// slow. But pieces are not so small that they take no longer to come than to be asked for.
constexpr std::uint64_t kLeastPiece = 2U << 20;

// The reader that a segment was fetched ahead for does not want it any more.
constexpr std::chrono::seconds kForgottenAfter{5};
// Requests from this length on are for data. What they may hold leaves room for structures, which are little
// and read by everybody.
constexpr std::uint64_t kDataRequest = 1U << 20;
constexpr std::uint64_t kRoomForStructures = 8U << 20;

// Until no more than `most` bytes are held, as far as they have come. What a reader will copy stays, and
// where nobody waits (not `urgent`), what has come and is about to be read: dropping it would fetch it twice.
void drop_oldest(ClientParts& client, std::uint64_t most, bool urgent) H5_REQUIRES(client.mutex) {
  if (client.held_bytes <= most) return;
  const auto forgotten = Clock::now() - kForgottenAfter;
  for (auto at = client.kept.begin(); client.held_bytes > most && at != client.kept.end();) {
    Segment& oldest = **at;
    if (oldest.readers > 0 ||
        (!urgent && oldest.read < oldest.end - oldest.begin && oldest.came_at > forgotten)) {
      ++at;
      continue;
    }
    client.held_bytes -= oldest.end - oldest.begin;
    oldest.bytes = nullptr;
    at = client.kept.erase(at);
  }
}

using Bytes = std::shared_ptr<const std::string>;

void keep(ClientParts& client, const SegmentPtr& segment, Bytes bytes) H5_REQUIRES(client.mutex) {
  segment->kept = client.kept.insert(client.kept.end(), segment);  // may throw, and what follows may not
  segment->bytes = std::move(bytes);
  segment->done = true;
  segment->came_at = Clock::now();
}

// Ends the wait for a segment that does not come.
void give_up(ClientParts& client, Segment& segment, Error why) noexcept H5_REQUIRES(client.mutex) {
  if (segment.done) return;
  segment.error = std::move(why);
  segment.done = true;
  client.held_bytes -= segment.end - segment.begin;
  segment.came.notify_all();
}

// Whether the segment's fetch failed, or its bytes were dropped.
bool is_void(const Segment& segment) {
  return segment.done && segment.bytes == nullptr;
}

// The parts of `ranges` that are not in `there`; both are in order.
std::vector<ByteRange> without(const std::vector<ByteRange>& ranges, const std::vector<ByteRange>& there) {
  if (there.empty()) return ranges;
  std::vector<ByteRange> out;
  for (ByteRange range : ranges) {
    const auto first =
        std::ranges::partition_point(there, [&](const ByteRange& part) { return part.end <= range.begin; });
    for (auto at = first; at != there.end() && at->begin < range.end && range.begin < range.end; ++at) {
      if (at->begin > range.begin) out.push_back({range.begin, at->begin});
      range.begin = std::max(range.begin, at->end);
    }
    if (range.begin < range.end) out.push_back(range);
  }
  return out;
}

}  // namespace

Segments::~Segments() {
  const MutexLock lock(client_.mutex);
  for (const auto& [begin, segment] : by_begin_) {
    if (!segment->bytes) continue;
    client_.kept.erase(segment->kept);
    client_.held_bytes -= segment->end - segment->begin;
    segment->bytes = nullptr;
  }
}

void Segments::arrived(ClientParts& client, const SegmentPtr& segment, const Result<Bytes>& bytes) {
  const MutexLock lock(client.mutex);
  if (!bytes) return give_up(client, *segment, bytes.error());
  if (segment->done) return;
  // The analysis does not see that what runs here runs under the lock.
  const auto kept = [&]() H5_THREAD_ATTRIBUTE(no_thread_safety_analysis) { keep(client, segment, *bytes); };
  if (!run_guarded("a segment", kept)) return give_up(client, *segment, no_memory());
  drop_oldest(client, ClientParts::kMaxKeptBytes, true);
  segment->came.notify_all();
}

void Segments::add(std::uint64_t begin, const Bytes& bytes) {
  const auto segment = std::make_shared<Segment>(begin, begin + bytes->size(), false);
  const MutexLock lock(client_.mutex);
  keep(client_, segment, bytes);
  client_.held_bytes += bytes->size();
  by_begin_[begin] = segment;
  drop_oldest(client_, ClientParts::kMaxKeptBytes, true);
}

// Adds bytes that were on the disk, except those that have come meanwhile or are being fetched.
void Segments::add_loaded(std::uint64_t begin, const std::string& bytes) {
  const MutexLock lock(client_.mutex);
  for (const ByteRange& hole : missing_in({begin, begin + bytes.size()})) {
    const auto length = static_cast<std::size_t>(hole.end - hole.begin);
    const auto segment = std::make_shared<Segment>(hole.begin, hole.end, false);
    keep(client_, segment,
         std::make_shared<const std::string>(bytes, static_cast<std::size_t>(hole.begin - begin), length));
    client_.held_bytes += length;
    by_begin_[hole.begin] = segment;
  }
  drop_oldest(client_, ClientParts::kMaxKeptBytes, true);
}

// The parts of the range that have not come and are not being fetched. Segments that failed or were dropped
// are removed on the way.
Segments::Missing Segments::missing_in(ByteRange range) {
  Missing out;
  range.end = std::min(range.end, size_);
  auto at = by_begin_.upper_bound(range.begin);
  if (at != by_begin_.begin()) --at;
  while (at != by_begin_.end() && at->second->begin < range.end && range.begin < range.end) {
    const Segment& segment = *at->second;
    if (is_void(segment)) {
      at = by_begin_.erase(at);
      continue;
    }
    if (segment.begin > range.begin) out.push_back({range.begin, segment.begin});
    range.begin = std::max(range.begin, segment.end);
    ++at;
  }
  if (range.begin < range.end) out.push_back(range);
  return out;
}

bool Segments::is_there(ByteRange range) {
  return missing_in(range).empty();
}

bool Segments::has(ByteRange range) {
  const MutexLock lock(client_.mutex);
  return is_there(range);
}

bool Segments::is_free(std::uint64_t begin, std::uint64_t end) const {
  const auto at = by_begin_.lower_bound(begin);
  return at == by_begin_.end() || at->second->begin >= end;
}

// Nobody but the caller starts what is made here, so what is listed must be returned.
std::vector<SegmentPtr> Segments::make(const Missing& missing, bool ahead, bool urgent) {
  std::vector<SegmentPtr> out;
  try {
    make(missing, ahead, urgent, out);
  } catch (...) {
    for (const SegmentPtr& segment : out) give_up(client_, *segment, no_memory());
    throw;
  }
  return out;
}

void Segments::make(const Missing& missing, bool ahead, bool urgent, std::vector<SegmentPtr>& out) {
  std::uint64_t wanted = 0;
  for (const ByteRange& range : missing) wanted += range.end - range.begin;
  const std::uint64_t piece = std::clamp(wanted / ClientParts::kMaxAtOnce, kLeastPiece, kMaxRequest);
  for (const ByteRange& range : missing) {
    const std::uint64_t length = range.end - range.begin;  // is cut into equal pieces
    const std::uint64_t step = divide_up(length, divide_up(length, piece));
    for (std::uint64_t begin = range.begin; begin < range.end;) {
      const std::uint64_t end = std::min(begin + step, range.end);
      const bool data = !urgent && end - begin >= kDataRequest;
      const std::uint64_t room = ClientParts::kMaxKeptBytes - (end - begin) - (data ? kRoomForStructures : 0);
      drop_oldest(client_, room, urgent);
      if (!urgent && client_.held_bytes > room) return;
      const SegmentPtr& segment = out.emplace_back(std::make_shared<Segment>(begin, end, ahead));
      client_.held_bytes += end - begin;
      by_begin_[begin] = segment;
      begin = end;
    }
  }
}

void Segments::take(const FarObject& object, DiskObject* disk, const SegmentPtr& segment,
                    Result<std::string> bytes) {
  if (!bytes) return arrived(object.client(), segment, std::unexpected(std::move(bytes).error()));
  Result<Bytes> whole = fail(no_memory());
  run_guarded("a segment", [&] { whole = std::make_shared<const std::string>(*std::move(bytes)); });
  arrived(object.client(), segment, whole);
  if (whole && disk != nullptr) disk->put(segment->begin, *whole);
}

void Segments::start(const std::vector<SegmentPtr>& made, bool urgent) {
  for (const SegmentPtr& segment : made) {
    const bool begun = run_guarded("a segment", [&] {
      fetch(object_, segment->begin, segment->end, urgent,
            [object = object_, disk = disk_, segment](Result<std::string>&& bytes) {
              take(*object, disk.get(), segment, std::move(bytes));
            });
    });
    if (!begun) arrived(client_, segment, fail(no_memory()));
  }
}

Segments::Found Segments::find(ByteRange range) {
  const MutexLock lock(client_.mutex);
  if (!is_there(range)) return Found::Missing;
  const std::vector<SegmentPtr> parts = overlapping(range);
  return std::ranges::any_of(parts, &Segment::ahead) ? Found::Ahead : Found::There;
}

std::vector<SegmentPtr> Segments::overlapping(ByteRange range) const {
  std::vector<SegmentPtr> out;
  auto at = by_begin_.upper_bound(range.begin);
  if (at != by_begin_.begin()) --at;
  for (; at != by_begin_.end() && at->first < range.end; ++at)
    if (at->second->end > range.begin) out.push_back(at->second);
  return out;
}

void Segments::hold(const std::vector<SegmentPtr>& more, Covered& in) {
  in.parts_.insert(in.parts_.end(), more.begin(), more.end());
  for (const SegmentPtr& segment : more) ++segment->readers;
}

void Segments::Covered::release() {
  if (parts_.empty()) return;
  const MutexLock lock(client_.mutex);
  for (const SegmentPtr& segment : parts_) --segment->readers;
  drop_oldest(client_, ClientParts::kMaxKeptBytes, true);
}

// Segments that are there are held before room is made for those that are missing.
Segments::Covered Segments::cover(ByteRange range, ByteRange wanted) {
  Covered out(client_);
  std::vector<SegmentPtr> made;
  if (disk_ && !has(range))
    disk_->read(wanted, [this](std::uint64_t begin, const std::string& bytes) { add_loaded(begin, bytes); });
  {
    const MutexLock lock(client_.mutex);
    const Missing missing = is_there(range) ? Missing{} : missing_in(wanted);
    hold(overlapping(range), out);
    made = make(missing, false, true);
    try {
      std::vector<SegmentPtr> more;
      for (const SegmentPtr& segment : made)
        if (segment->begin < range.end && segment->end > range.begin) more.push_back(segment);
      hold(more, out);
    } catch (...) {
      for (const SegmentPtr& segment : made) give_up(client_, *segment, no_memory());
      throw;
    }
  }
  std::ranges::sort(out.parts_, {}, &Segment::begin);
  start(made, true);
  return out;
}

void Segments::ask(std::span<const ByteRange> ranges, bool ahead) {
  std::vector<SegmentPtr> made;
  const std::vector<ByteRange> on_disk = disk_ ? disk_->found(ranges) : std::vector<ByteRange>();
  {
    const MutexLock lock(client_.mutex);
    Missing all;
    for (const ByteRange& range : ranges) {
      const Missing missing = without(missing_in(range), on_disk);
      all.insert(all.end(), missing.begin(), missing.end());
    }
    std::ranges::sort(all, {}, &ByteRange::begin);
    Missing joined;
    for (const ByteRange& range : all) {
      if (!joined.empty() && range.begin <= joined.back().end + kMaxGap &&
          (range.begin <= joined.back().end || is_free(joined.back().end, range.begin)))
        joined.back().end = std::max(joined.back().end, range.end);
      else
        joined.push_back(range);
    }
    made = make(joined, ahead, false);
  }
  start(made, false);
}

// A segment that was read to its end is the first to be dropped, as most readers of data go forward. Blocks
// of structures, and what is read again after that, are kept as long as they are used.
void Segments::note_read(ClientParts& client, const SegmentPtr& segment, std::uint64_t bytes) {
  const std::uint64_t length = segment->end - segment->begin;
  const bool spent = length > kBlock && segment->read < length && bytes >= length - segment->read;
  segment->read = std::min(length, segment->read + bytes);
  client.kept.splice(spent ? client.kept.begin() : client.kept.end(), client.kept, segment->kept);
}

Result<std::shared_ptr<const std::string>> Segments::wait(const SegmentPtr& segment, std::uint64_t bytes) {
  MutexLock lock(client_.mutex);
  if (!segment->done) {
    lock.unlock();
    note_long_work();
    lock.lock();
  }
  while (!segment->done) segment->came.wait(lock);
  if (segment->error) return fail(*segment->error);
  if (segment->bytes) note_read(client_, segment, bytes);
  return segment->bytes;
}

}  // namespace h5mount::remote

#include "segments.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/long_work.h"

namespace h5mount::remote {
namespace {

constexpr std::uint64_t kBlock = 64U << 10;
constexpr std::uint64_t kMaxGap = 64U << 10;  // between ranges that are joined to one request
constexpr std::uint64_t kMaxRequest = 8U << 20;
// Bytes that are wanted together are cut into as many requests as may be under way, as a single connection is
// slow. But pieces are not so small that they take no longer to come than to be asked for.
constexpr std::uint64_t kLeastPiece = 2U << 20;

// Drops segments that have come until at most `most` bytes are held.
void drop_oldest(ClientParts& client, std::uint64_t most) H5_REQUIRES(client.mutex) {
  while (client.held_bytes > most && !client.kept.empty()) {
    const SegmentPtr oldest = client.kept.front();
    client.kept.pop_front();
    client.held_bytes -= oldest->end - oldest->begin;
    oldest->bytes = nullptr;
  }
}

using Bytes = std::shared_ptr<const std::string>;

void keep(ClientParts& client, const SegmentPtr& segment, Bytes bytes) H5_REQUIRES(client.mutex) {
  segment->bytes = std::move(bytes);
  segment->done = true;
  segment->kept = client.kept.insert(client.kept.end(), segment);
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
  if (bytes) {
    keep(client, segment, *bytes);
    drop_oldest(client, ClientParts::kMaxKeptBytes);
  } else {
    segment->error = bytes.error();
    segment->done = true;
    client.held_bytes -= segment->end - segment->begin;
  }
  segment->came.notify_all();
}

void Segments::add(std::uint64_t begin, const Bytes& bytes) {
  const auto segment = std::make_shared<Segment>(begin, begin + bytes->size(), false);
  const MutexLock lock(client_.mutex);
  client_.held_bytes += bytes->size();
  keep(client_, segment, bytes);
  by_begin_[begin] = segment;
  drop_oldest(client_, ClientParts::kMaxKeptBytes);
}

// Adds the bytes of a range that are on the disk, except those that have come meanwhile or are being fetched.
void Segments::load(ByteRange range) {
  if (!disk_) return;
  disk_->read(range, [this](std::uint64_t begin, const std::string& bytes) { add_loaded(begin, bytes); });
}

void Segments::add_loaded(std::uint64_t begin, const std::string& bytes) {
  const MutexLock lock(client_.mutex);
  for (const ByteRange& hole : missing_in({begin, begin + bytes.size()})) {
    const auto length = static_cast<std::size_t>(hole.end - hole.begin);
    const auto segment = std::make_shared<Segment>(hole.begin, hole.end, false);
    client_.held_bytes += length;
    keep(client_, segment,
         std::make_shared<const std::string>(bytes, static_cast<std::size_t>(hole.begin - begin), length));
    by_begin_[hole.begin] = segment;
  }
  drop_oldest(client_, ClientParts::kMaxKeptBytes);
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

std::vector<SegmentPtr> Segments::make(const Missing& missing, bool ahead, bool urgent) {
  std::vector<SegmentPtr> out;
  std::uint64_t wanted = 0;
  for (const ByteRange& range : missing) wanted += range.end - range.begin;
  const std::uint64_t piece = std::clamp(wanted / ClientParts::kMaxAtOnce, kLeastPiece, kMaxRequest);
  for (const ByteRange& range : missing) {
    const std::uint64_t length = range.end - range.begin;  // is cut into equal pieces
    const std::uint64_t step = divide_up(length, divide_up(length, piece));
    for (std::uint64_t begin = range.begin; begin < range.end;) {
      const std::uint64_t end = std::min(begin + step, range.end);
      const std::uint64_t room = ClientParts::kMaxKeptBytes - (end - begin);
      drop_oldest(client_, room);
      if (!urgent && client_.held_bytes > room) return out;
      const auto segment = std::make_shared<Segment>(begin, end, ahead);
      client_.held_bytes += end - begin;
      by_begin_[begin] = segment;
      out.push_back(segment);
      begin = end;
    }
  }
  return out;
}

void Segments::start(const std::vector<SegmentPtr>& made, bool urgent) {
  for (const SegmentPtr& segment : made)
    fetch(object_, segment->begin, segment->end, urgent,
          [object = object_, disk = disk_, segment](Result<std::string>&& bytes) {
            if (!bytes) return arrived(object->client(), segment, std::unexpected(bytes.error()));
            const auto whole = std::make_shared<const std::string>(*std::move(bytes));
            arrived(object->client(), segment, whole);
            if (disk) disk->put(segment->begin, whole);
          });
}

std::vector<SegmentPtr> Segments::cover(ByteRange range, bool& missed) {
  std::vector<SegmentPtr> made, out;
  const bool little = range.end - range.begin < kBlock;
  const ByteRange wanted =
      little ? ByteRange{range.begin / kBlock * kBlock, divide_up(range.end, kBlock) * kBlock} : range;
  if (disk_ && !has(range)) load(wanted);
  {
    const MutexLock lock(client_.mutex);
    made = make(is_there(range) ? Missing{} : missing_in(wanted), false, true);
    auto at = by_begin_.upper_bound(range.begin);
    if (at != by_begin_.begin()) --at;
    for (; at != by_begin_.end() && at->first < range.end; ++at)
      if (at->second->end > range.begin) out.push_back(at->second);
  }
  missed = !made.empty();
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

Result<std::shared_ptr<const std::string>> Segments::wait(const SegmentPtr& segment) {
  MutexLock lock(client_.mutex);
  if (!segment->done) {
    lock.unlock();
    note_long_work();
    lock.lock();
  }
  while (!segment->done) segment->came.wait(lock);
  if (segment->error) return fail(*segment->error);
  if (segment->bytes) client_.kept.splice(client_.kept.end(), client_.kept, segment->kept);
  return segment->bytes;
}

}  // namespace h5mount::remote

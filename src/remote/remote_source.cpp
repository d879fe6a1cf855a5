#include <algorithm>
#include <array>

#include "h5mount/base/checked.h"
#include "h5mount/io/ahead_window.h"
#include "h5mount/io/read_target.h"
#include "object_identity.h"
#include "segments.h"
#include "transport/wait_for.h"

namespace h5mount::remote {
namespace {

constexpr std::uint64_t kFirstBytes = 1U << 20;
constexpr std::chrono::seconds kLookEvery{10};
constexpr std::uint64_t kBlockBytes = 64U << 10;
constexpr std::size_t kMaxPiece = 16U << 20;
constexpr std::uint64_t kMaxFollowed = 8U << 20;
// A short range is part of a structure: the bytes beside it are often wanted next.
constexpr std::uint64_t kMaxWindow = 1U << 20;

std::shared_ptr<DiskObject> on_disk(const FarObject& object) {
  DiskCache* const cache = object.client().disk.get();
  const std::string identity = cache == nullptr ? std::string() : object_identity(object);
  if (identity.empty()) return nullptr;
  return std::make_shared<DiskObject>(*cache, identity, object.version()->length);
}

// Finds readers that go forward through bytes that nobody announced: of each the place that it will read
// next, and how much was asked for ahead of it.
class ForwardReaders {
 public:
  // To be called if `range` was read and had to be waited for, or was fetched ahead. Returns the range to ask
  // for behind it.
  ByteRange next(ByteRange range) {
    const MutexLock lock(mutex_);
    for (Reader& reader : readers_)
      if (reader.is_at(range)) return reader.advance(range);
    readers_[oldest_++ % readers_.size()] = {range.end, {range.end, 0}};
    return {0, 0};
  }

 private:
  struct Reader {
    std::uint64_t last = 0;
    AheadWindow ahead = {};

    // The requests of a reader that is known to go forward may overtake each other.
    bool is_at(ByteRange range) const {
      const std::uint64_t overtaken = ahead.window >= kMaxOvertaken ? kMaxOvertaken : 0;
      return last > 0 && range.begin + overtaken >= last &&
             range.begin <= std::max(last + kBlockBytes, ahead.until);
    }

    ByteRange advance(ByteRange range) {
      if (range.end <= last) return {0, 0};
      last = range.end;
      // A reader of much at once is on its way through data.
      const std::uint64_t length = range.end - range.begin;
      const std::uint64_t grown =
          length > kBlockBytes ? std::max(ahead.window, length) * 4 : ahead.window * 2;
      return ahead.advance(last, grown, ahead.window == AheadWindow::kMostBytes, kBlockBytes);
    }
  };
  static constexpr std::uint64_t kMaxOvertaken = 2U << 20;

  Mutex mutex_;
  std::array<Reader, 4> readers_ H5_GUARDED_BY(mutex_);
  std::size_t oldest_ H5_GUARDED_BY(mutex_) = 0;
};

class RemoteSource final : public io::ByteSource, public io::SourceState {
 public:
  RemoteSource(std::shared_ptr<const void> client, const std::shared_ptr<FarObject>& object,
               std::string first)
      : client_(std::move(client)),
        object_(object),
        size_(object->version()->length),
        disk_(on_disk(*object)),
        segments_(object, size_, disk_) {
    const auto bytes = std::make_shared<const std::string>(std::move(first));
    segments_.add(0, bytes);
    if (disk_) disk_->put(0, bytes);
  }

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return io::fill_whole(offset, out, [&](io::ReadTarget& to) { return fill_from(offset, to); });
  }

  // RFC 9110 lets nobody combine parts of what only a weak validator, or none, tells apart. Few servers are
  // like that, and what they have seldom changes, so it is read, and said.
  bool versions_unknown() const {
    return !object_->client().options.validate_size && !tells_versions(*object_->version());
  }

  void will_read(std::span<const ByteRange> ranges) const override { segments_.ask(ranges, false); }
  bool far() const override { return true; }
  std::uint64_t size() const override { return size_; }
  std::string name() const override { return object_->shown(); }
  io::SourceState& state() override { return *this; }

  std::string entity_tag() const override { return object_->version()->entity_tag; }

  Result<io::SourceStamp> stamp() override {
    look_for_change();
    io::SourceStamp out;
    out.size = size_;
    const Version version = *object_->version();
    const std::time_t modified =
        version.modified.empty() ? 0 : curl_getdate(version.modified.c_str(), nullptr);
    out.modified = std::max<std::int64_t>(modified, 0) * 1'000'000'000;
    out.sum = std::hash<std::string>()(version.entity_tag + version.modified) + (object_->stale() ? 1 : 0);
    out.replaced = object_->stale();
    return out;
  }

 private:
  // Asks for a byte without waiting for it: an answer of another version makes the object stale.
  void look_for_change() {
    if (!object_->client().options.looks_for_changes || !used_.load(std::memory_order_relaxed)) return;
    const Clock::rep now = Clock::now().time_since_epoch().count();
    Clock::rep due = next_look_.load(std::memory_order_relaxed);
    if (now < due || !next_look_.compare_exchange_strong(due, now + Clock::duration(kLookEvery).count()))
      return;
    used_.store(false, std::memory_order_relaxed);
    fetch(object_, 0, 1, false, [](const Result<std::string>&) {});
  }

  // A range that is larger than the bytes that are kept is read piece by piece.
  Status fill_from(std::uint64_t offset, io::ReadTarget& to) const {
    if (!range_within(offset, to.left(), size_))
      return fail(
          Error(ErrorCode::Truncated, "Object", "bytes", offset).with_detail("the object ends before"));
    const std::uint64_t end = offset + to.left();
    const bool pieces = to.left() > kMaxPiece;
    while (offset < end) {
      const ByteRange rest{offset, end};
      if (pieces) segments_.ask({&rest, 1}, false);
      const std::uint64_t piece = std::min<std::uint64_t>(end - offset, kMaxPiece);
      H5_TRY(read_piece({offset, offset + piece}, to));
      offset += piece;
    }
    return {};
  }

  Status read_piece(ByteRange range, io::ReadTarget& to) const {
    used_.store(true, std::memory_order_relaxed);
    const bool little = range.end - range.begin < kBlockBytes;
    ByteRange wanted = little ? in_blocks(range) : range;
    const Segments::Found found = segments_.find(range);
    // A large piece is itself as many requests as are worth having under way, and fills the memory for them.
    const bool large = range.end - range.begin > kMaxFollowed;
    ByteRange ahead = large || found == Segments::Found::There ? ByteRange{0, 0} : readers_.next(wanted);
    // The bytes behind a missing block come with it, in one request.
    if (little && found == Segments::Found::Missing && ahead.begin == wanted.end &&
        ahead.end - wanted.begin <= kMaxWindow)
      wanted.end = std::exchange(ahead, {0, 0}).end;
    const Segments::Covered covered = segments_.cover(range, wanted);
    ask_ahead(ahead);
    for (const SegmentPtr& part : covered.parts()) H5_TRY(copy(part, range, to));
    if (object_->stale()) return fail(object_->stale_error());
    return {};
  }

  // Blocks end at the object's end.
  ByteRange in_blocks(ByteRange range) const {
    const std::uint64_t blocks = divide_up(range.end, kBlockBytes);
    return {range.begin / kBlockBytes * kBlockBytes,
            blocks > size_ / kBlockBytes ? size_ : blocks * kBlockBytes};
  }

  void ask_ahead(ByteRange ahead) const {
    std::vector<ByteRange> parts;
    for (std::uint64_t begin = ahead.begin; begin < std::min(ahead.end, size_);
         begin += AheadWindow::kRequestBytes)
      parts.push_back({begin, std::min({begin + AheadWindow::kRequestBytes, ahead.end, size_})});
    for (const ByteRange& part : parts) segments_.ask({&part, 1}, true);
  }

  Status copy(const SegmentPtr& part, ByteRange range, io::ReadTarget& to) const {
    const std::uint64_t begin = std::max(part->begin, range.begin), end = std::min(part->end, range.end);
    H5_ASSIGN(const auto bytes, segments_.wait(part, end - begin));
    to.copy(
        std::as_bytes(std::span(*bytes))
            .subspan(static_cast<std::size_t>(begin - part->begin), static_cast<std::size_t>(end - begin)));
    return {};
  }

  const std::shared_ptr<const void> client_;  // keeps the client alive
  const std::shared_ptr<FarObject> object_;
  const std::uint64_t size_;
  const std::shared_ptr<DiskObject> disk_;
  mutable Segments segments_;
  mutable ForwardReaders readers_;
  mutable std::atomic<bool> used_ = false;  // whether it was, since the last check for a change
  std::atomic<Clock::rep> next_look_ = (Clock::now() + kLookEvery).time_since_epoch().count();
};

class CurlClient final : public Client, public std::enable_shared_from_this<CurlClient> {
 public:
  CurlClient(const Options& options, HostSecrets secrets, std::unique_ptr<DiskCache> disk)
      : parts_(options, std::move(secrets), std::move(disk), AwsProfiles::read()) {}

  Status prepare_s3() override { return parts_.credentials.prepare(); }

  Result<std::shared_ptr<io::ByteSource>> open(const Url& url) override {
    const auto object = std::make_shared<FarObject>(parts_, url);
    auto first = wait_for<Result<std::string>>([&](auto done) { fetch(object, 0, kFirstBytes, true, done); });
    if (!first) {
      const Error& why = first.error();
      const bool told = why.code() == ErrorCode::NotFound || why.code() == ErrorCode::AccessDenied ||
                        why.code() == ErrorCode::BadSignature;
      return fail(Error(told ? why.code() : ErrorCode::Io, why.text()));
    }
    return std::make_shared<RemoteSource>(shared_from_this(), object, *std::move(first));
  }

  Result<ListedPage> list(const Url& prefix, const ListQuery& query) override {
    return list_bucket(parts_, prefix, query);
  }

  bool versions_unknown(const io::ByteSource& source) const override {
    const auto* const own = dynamic_cast<const RemoteSource*>(&source);
    return own != nullptr && own->versions_unknown();
  }

  Counters counters() const override {
    return {parts_.requests, parts_.bytes, parts_.transfers.rounds(), parts_.retries,
            parts_.disk ? parts_.disk->hits() : 0};
  }

  void finish() override {
    if (parts_.disk) parts_.disk->finish();
  }

 private:
  ClientParts parts_;
};

}  // namespace

Result<std::shared_ptr<Client>> Client::make(const Options& options) {
  H5_TRY(load_libcurl());
  H5_ASSIGN(auto secrets, HostSecrets::load(options.headers_file));
  std::unique_ptr<DiskCache> disk;
  if (!options.disk_cache.empty()) {
    H5_ASSIGN(disk, DiskCache::open(options.disk_cache, options.disk_cache_bytes));
  }
  return std::make_shared<CurlClient>(options, std::move(secrets), std::move(disk));
}

}  // namespace h5mount::remote

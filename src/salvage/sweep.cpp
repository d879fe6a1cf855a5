#include "sweep.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/format/object_header_format.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kPiece = 4U << 20;
constexpr std::uint64_t kTail =
    64U << 10;  // read behind a piece: holds nearly every structure that begins in it
constexpr std::uint64_t kLongest = 64U << 20;

// Ranges within one piece of the source, read at once.
struct Piece {
  std::vector<Range> ranges;
};

std::vector<Piece> cut(const std::vector<Range>& ranges) {
  std::vector<Piece> out;
  std::uint64_t last = ~std::uint64_t{0};
  for (Range range : ranges) {
    while (range.begin < range.end) {
      const std::uint64_t number = range.begin / kPiece;
      const std::uint64_t end = std::min(range.end, (number + 1) * kPiece);
      if (number != last) out.emplace_back();
      last = number;
      out.back().ranges.push_back({range.begin, end});
      range.begin = end;
    }
  }
  return out;
}

class Sweeper {
 public:
  Sweeper(const io::ByteSource& source, const std::vector<Range>& ranges, const Options& options)
      : source_(source), options_(options), pieces_(cut(ranges)), found_(pieces_.size()) {
    for (const Range& range : ranges) all_ += range.end - range.begin;
  }

  Result<Swept> run() {
    const std::size_t count = std::clamp<std::size_t>(pieces_.size(), 1, std::max(options_.threads, 1U));
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back([this] { work(); });
    work();
    threads.clear();
    const MutexLock lock(mutex_);
    if (error_) return fail(*error_);
    return Swept{all_found(), done_};
  }

 private:
  void work() {
    std::vector<std::byte> buffer;
    std::vector<Found> found;
    for (std::size_t i = next_++; i < pieces_.size() && !stop_; i = next_++) {
      found.clear();
      const Status swept = sweep_piece(pieces_[i], buffer, found);
      if (!keep(i, found, swept)) stop_ = true;
    }
  }

  bool keep(std::size_t number, const std::vector<Found>& found, const Status& swept) {
    const MutexLock lock(mutex_);
    if (!swept && !error_) error_ = swept.error();
    for (const Range& range : pieces_[number].ranges) done_ += range.end - range.begin;
    count_ += found.size();
    if (count_ > kMaxFound && !error_)
      error_ = Error(ErrorCode::LimitExceeded, "the file has more structures than salvage keeps in memory");
    if (error_) return false;
    found_[number] = found;
    if (!options_.progress || options_.progress(done_, all_)) return true;
    error_ = Error(ErrorCode::Interrupted, "the sweep was interrupted");
    return false;
  }

  // All found structures, in the order of the pieces. Each piece's memory is freed as soon as it is copied.
  std::vector<Found> all_found() H5_REQUIRES(mutex_) {
    std::vector<Found> out;
    out.reserve(count_);
    for (std::vector<Found>& piece : found_) {
      out.insert(out.end(), piece.begin(), piece.end());
      std::vector<Found>().swap(piece);
    }
    return out;
  }

  Status sweep_piece(const Piece& piece, std::vector<std::byte>& buffer, std::vector<Found>& found) {
    const std::uint64_t from = piece.ranges.front().begin, size = source_.size();
    const std::uint64_t to = std::min(size, piece.ranges.back().end + kTail);
    if (from >= to) return {};
    buffer.assign(static_cast<std::size_t>(to - from) + kScanMargin, std::byte{0});
    H5_TRY(source_.read_at(from, MutableByteSpan(buffer).first(static_cast<std::size_t>(to - from))));
    std::uint64_t work = kSweepsPerByte * (to - from);
    for (const Range& range : piece.ranges) {
      if (range.begin >= to) break;
      const auto begin = static_cast<std::size_t>(range.begin - from);
      const auto end = static_cast<std::size_t>(std::min(range.end, to) - from);
      scan(buffer, begin, end, [&](std::size_t at, Kind kind) {
        const ByteSpan here(buffer.data() + at, static_cast<std::size_t>(to - from) - at);
        if (auto one = prove(here, from + at, kind, work)) found.push_back(*one);
      });
    }
    return {};
  }

  std::optional<Found> prove(ByteSpan here, std::uint64_t offset, Kind kind, std::uint64_t& work) const {
    if (kind != Kind::Header1 && kind != Kind::Header2) return Found(offset, kind);
    format::Cursor cursor(here, offset, "ObjectHeader", {});
    const auto prefix = format::decode_object_header_prefix(cursor);
    if (!prefix) return std::nullopt;
    const std::uint64_t bytes = prefix->prefix_bytes + prefix->chunk0_bytes + (kind == Kind::Header2 ? 4 : 0);
    if (bytes > work || bytes > kLongest) return std::nullopt;
    work -= bytes;
    std::vector<std::byte> longer;
    if (bytes > here.size()) {
      if (bytes > source_.size() - offset) return std::nullopt;
      longer.resize(static_cast<std::size_t>(bytes));
      if (!source_.read_at(offset, longer)) return std::nullopt;
      here = longer;
    }
    const bool proven = kind == Kind::Header2 ? proven_header2_bytes(here) != 0 : has_form_of_header1(here);
    if (!proven) return std::nullopt;
    return Found(offset, kind);
  }

  const io::ByteSource& source_;
  const Options& options_;
  const std::vector<Piece> pieces_;
  std::uint64_t all_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  std::optional<Error> error_ H5_GUARDED_BY(mutex_);
  std::vector<std::vector<Found>> found_ H5_GUARDED_BY(mutex_);  // one list for each piece
  std::size_t count_ H5_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ H5_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<Swept> sweep(const io::ByteSource& source, const std::vector<Range>& ranges, const Options& options) {
  return Sweeper(source, ranges, options).run();
}

}  // namespace h5mount::salvage

#include "sweep.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/base/thread.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/io/stored_data.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kPiece = 4U << 20;
constexpr std::uint64_t kTail =
    64U << 10;  // read behind a piece: holds nearly every structure that begins in it
constexpr std::uint64_t kLongest = 64U << 20;

// Bytes that cannot be read are read again in parts of this size, and of those that fail each page. A disk
// may take seconds for each page, so pages are tried for a number of parts only.
constexpr std::uint64_t kPartRetried = 64U << 10;
constexpr std::uint64_t kPageRetried = 4096;
constexpr unsigned kMaxPagedParts = 1024;

// Ranges within one piece of the source, read at once.
using Piece = std::vector<Range>;

// Cuts ranges into pieces, one at a time: a file may be so large that a list of its pieces would not fit into
// memory. Holes of a sparse file are left out: no structure begins in zeros.
class Cutter {
 public:
  Cutter(const std::vector<Range>& ranges, io::ByteSource& source) : ranges_(ranges), stored_(source) {}

  // Returns false if there is no further piece.
  bool next(Piece& piece) {
    piece.clear();
    std::uint64_t stop = 0;  // end of the piece, known from its first range on
    for (; next_ < ranges_.size(); ++next_, at_ = 0) {
      const std::uint64_t end = ranges_[next_].end;
      const std::uint64_t begin = next_stored(std::max(at_, ranges_[next_].begin));
      if (begin >= end) continue;
      if (piece.empty()) stop = (begin / kPiece + 1) * kPiece;
      if (begin >= stop) return true;
      const std::uint64_t until = std::min(stop, known_to_);
      piece.push_back({begin, std::min(end, until)});
      if (end > until) {
        at_ = until;
        return true;
      }
    }
    return !piece.empty();
  }

 private:
  // Asks the file system once for each stretch of stored bytes.
  std::uint64_t next_stored(std::uint64_t at) {
    if (at >= known_from_ && at < known_to_) return at;
    known_from_ = stored_.next(at);
    known_to_ = known_from_ == ~std::uint64_t{0} ? known_from_ : stored_.end(known_from_);
    return known_from_;
  }

  const std::vector<Range>& ranges_;
  const io::StoredData stored_;
  std::uint64_t known_from_ = 0, known_to_ = 0;  // bytes that are stored, between holes
  std::size_t next_ = 0;                         // the range that is cut
  std::uint64_t at_ = 0;                         // where its next part begins, if some of it was cut off
};

class Sweeper {
 public:
  Sweeper(io::ByteSource& source, const std::vector<Range>& ranges, const Options& options,
          const OnlyRead& only_read)
      : source_(source), options_(options), only_read_(only_read), cutter_(ranges, source_) {
    for (const Range& range : ranges) all_ += range.end - std::min(range.begin, range.end);
  }

  Result<Swept> run() {
    const auto count = std::clamp<std::uint64_t>(divide_up(all_, kPiece), 1, std::max(options_.threads, 1U));
    run_together("h5-sweep", static_cast<std::size_t>(count), [this] { work(); });
    const MutexLock lock(mutex_);
    if (error_) return fail(*error_);
    unreadable_.settle();
    std::vector<Range> unreadable;
    unreadable_.within(0, ~std::uint64_t{0}, [&](const Range& range) { unreadable.push_back(range); });
    return Swept{all_found(), done_, std::move(unreadable), std::move(why_unreadable_)};
  }

 private:
  void work() {
    std::vector<std::byte> buffer;
    std::vector<Found> found;
    Piece piece;
    while (next_piece(piece)) {
      found.clear();
      const Status swept = sweep_piece(piece, buffer, found);
      if (!keep(piece, found, swept)) return;
    }
  }

  bool next_piece(Piece& piece) {
    const MutexLock lock(mutex_);
    return !error_ && cutter_.next(piece);
  }

  bool keep(const Piece& piece, const std::vector<Found>& found, const Status& swept) {
    const MutexLock lock(mutex_);
    if (!swept && !error_) error_ = swept.error();
    for (const Range& range : piece) done_ += range.end - range.begin;
    count_ += found.size();
    if (count_ > kMaxFound && !error_)
      error_ = Error(ErrorCode::LimitExceeded, "the file has more structures than salvage keeps in memory");
    if (error_) return false;
    if (!found.empty()) found_.push_back(found);
    if (!options_.progress || options_.progress(done_, all_)) return true;
    error_ = Error(ErrorCode::Interrupted, "the sweep was interrupted");
    return false;
  }

  // All found structures, by offset. Each piece's memory is freed as soon as it is copied.
  std::vector<Found> all_found() H5_REQUIRES(mutex_) {
    std::ranges::sort(found_, {}, [](const auto& piece) { return Found::place(piece.front()); });
    std::vector<Found> out;
    out.reserve(count_);
    for (std::vector<Found>& piece : found_) {
      out.insert(out.end(), piece.begin(), piece.end());
      std::vector<Found>().swap(piece);
    }
    return out;
  }

  Status sweep_piece(const Piece& piece, std::vector<std::byte>& buffer, std::vector<Found>& found) {
    const std::uint64_t from = piece.front().begin, size = source_.size();
    const std::uint64_t to = std::min(size, piece.back().end + kTail);
    if (from >= to) return {};
    buffer.assign(static_cast<std::size_t>(to - from) + kScanMargin, std::byte{0});
    H5_TRY(read(from, MutableByteSpan(buffer).first(static_cast<std::size_t>(to - from))));
    std::uint64_t work = kSweepsPerByte * (to - from);
    for (const Range& range : piece) {
      if (range.begin >= to) break;
      const auto begin = static_cast<std::size_t>(range.begin - from);
      const auto end = static_cast<std::size_t>(std::min(range.end, to) - from);
      scan(buffer, begin, end, [&](std::size_t at, Kind kind) {
        if (only_read_.has(from + at)) return;
        const ByteSpan here(buffer.data() + at, static_cast<std::size_t>(to - from) - at);
        if (auto one = prove(here, from + at, kind, work)) found.push_back(*one);
      });
    }
    return {};
  }

  // Reads what can be read; the rest is left as zeros.
  Status read(std::uint64_t from, MutableByteSpan out) {  // NOLINT(misc-no-recursion)
    const Status whole = source_.read_at(from, out);
    if (whole || source_.far() || !is_of_range(whole.error())) return whole;
    if (out.size() > kPartRetried) return read_in_parts(from, out, kPartRetried);
    if (out.size() > kPageRetried && may_page()) return read_in_parts(from, out, kPageRetried);
    std::ranges::fill(out, std::byte{0});
    const MutexLock lock(mutex_);
    unreadable_.add(from, out.size());
    if (!why_unreadable_) why_unreadable_ = whole.error();
    return {};
  }

  Status read_in_parts(std::uint64_t from, MutableByteSpan out,
                       std::uint64_t part) {  // NOLINT(misc-no-recursion)
    while (!out.empty()) {
      const auto bytes =
          static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), (from / part + 1) * part - from));
      H5_TRY(read(from, out.first(bytes)));
      H5_TRY(ask_whether_to_go_on());
      from += bytes;
      out = out.subspan(bytes);
    }
    return {};
  }

  bool may_page() {
    const MutexLock lock(mutex_);
    return ++paged_parts_ <= kMaxPagedParts;
  }

  Status ask_whether_to_go_on() {
    const MutexLock lock(mutex_);
    if (!options_.progress || options_.progress(done_, all_)) return {};
    return fail(Error(ErrorCode::Interrupted, "the sweep was interrupted"));
  }

  std::optional<Found> prove(ByteSpan here, std::uint64_t offset, Kind kind, std::uint64_t& work) const {
    if (kind != Kind::Header1 && kind != Kind::Header2) return Found(offset, kind);
    format::Cursor cursor(here, offset, structures::kObjectHeader, {});
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

  io::ByteSource& source_;
  const Options& options_;
  const OnlyRead only_read_;
  std::uint64_t all_ = 0;
  Mutex mutex_;
  Cutter cutter_ H5_GUARDED_BY(mutex_);
  std::optional<Error> error_ H5_GUARDED_BY(mutex_);
  std::vector<std::vector<Found>> found_ H5_GUARDED_BY(mutex_);  // a list for each piece that has any
  std::size_t count_ H5_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ H5_GUARDED_BY(mutex_) = 0;
  UsedRanges unreadable_ H5_GUARDED_BY(mutex_);  // what the source failed to read, and its first error
  std::optional<Error> why_unreadable_ H5_GUARDED_BY(mutex_);
  unsigned paged_parts_ H5_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<Swept> sweep(io::ByteSource& source, const std::vector<Range>& ranges, const Options& options,
                    const OnlyRead& only_read) {
  return Sweeper(source, ranges, options, only_read).run();
}

}  // namespace h5mount::salvage

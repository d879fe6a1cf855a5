#include "foreign_bytes.h"

#include <algorithm>
#include <string>

#include "foreign_magic.h"
#include "h5mount/base/momentary.h"
#include "h5mount/format/superblock.h"

namespace h5mount::check {

namespace {

constexpr std::size_t kHead = 4096;             // of what is looked at for a format's beginning
constexpr std::uint64_t kMostRead = 64U << 20;  // of all gaps; of what is beyond, the beginnings
constexpr std::size_t kPart = 1U << 20;

bool all_zeros(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

class ForeignBytes {
 public:
  ForeignBytes(const Walk& walk, bool strict, bool whole, Tally& tally, Findings& findings)
      : walk_(walk),
        metadata_(walk.metadata()),
        base_(metadata_.base_address()),
        strict_(strict),
        whole_(whole),
        tally_(tally),
        findings_(findings) {
    if (const auto place = metadata_.source()->place_of(0, 1)) {
      file_ = place->file;
      base_ = place->offset;
    }
  }

  void run() {
    if (file_ == nullptr) return;
    judge_front();
    judge_zip();
    if (walk_.is_set()) return;
    judge_behind();
    judge_gaps();
  }

 private:
  // Fewer bytes at the end of the file; none where they cannot be read, which makes the whole verdict fail.
  std::string read(std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t size = file_->size();
    std::string out(static_cast<std::size_t>(std::min(bytes, size - std::min(offset, size))), '\0');
    if (!noted_read(file_->read_at(offset, std::as_writable_bytes(std::span(out))))) out.clear();
    return out;
  }

  void found_foreign(std::uint64_t offset, std::string what, bool forbidden) {
    findings_.forbid(VerdictKind::ForeignFormat, forbidden, offset_place(offset), std::move(what));
  }

  // Readers of PDF take one that begins anywhere in the first KiB.
  void judge_front() {
    constexpr std::size_t kLookedFor = 1024;
    if (const std::size_t at = read(0, kLookedFor).find("%PDF-"); at != std::string::npos)
      return found_foreign(at < base_ ? 0 : at, "PDF", strict_);
    if (base_ == 0) return;
    const std::string block = read(0, std::min<std::uint64_t>(base_, kPart));
    if (auto format = format_in_front(block)) return found_foreign(0, *std::move(format), strict_);
    if (strict_ && !all_zeros(block))
      findings_.add(VerdictKind::UserBlock, VerdictCode::Warning, offset_place(0), base_);
  }

  void judge_zip() {
    const std::uint64_t size = file_->size(), begin = size - std::min<std::uint64_t>(size, kZipTail);
    if (const auto at = zip_end_in(read(begin, kZipTail), begin)) found_foreign(begin + *at, "ZIP", strict_);
  }

  void judge_behind() {
    const format::Superblock& superblock = metadata_.superblock();
    const std::uint64_t end = base_ + superblock.end_from_base(), size = file_->size();
    if (end >= size || superblock.open_for_swmr_writing()) return;
    bool zeros = true;
    const std::uint64_t most = std::min(size, end + kMostRead);
    for (std::uint64_t at = end; at < most && tally_.go_on(); at += kPart) {
      const std::string bytes = read(at, std::min<std::uint64_t>(kPart + kHead, size - at));
      const std::size_t first = bytes.find_first_not_of('\0');
      if (zeros && first != std::string::npos)
        if (auto format = format_in_front(std::string_view(bytes).substr(first)))
          return found_foreign(at + first, *std::move(format), strict_);
      zeros = zeros && first == std::string::npos;
      if (look_for_formats(at, bytes, strict_)) return;
    }
    if (!zeros || strict_)
      findings_.add(VerdictKind::TrailingBytes, VerdictCode::Warning, offset_place(end), size - end);
  }

  // Where programs align what they append.
  bool look_for_formats(std::uint64_t offset, std::string_view bytes, bool forbidden) {
    constexpr std::size_t kAligned = 8;
    const std::size_t most = std::min(bytes.size(), kPart);
    for (std::size_t at = (kAligned - offset % kAligned) % kAligned; at + 4 < most; at += kAligned) {
      if (bytes[at] == '\0' || bytes[at] == '\xFF') continue;
      auto format = format_anywhere(bytes.substr(at));
      if (!format) continue;
      found_foreign(offset + at, *std::move(format), forbidden);
      return true;
    }
    return false;
  }

  void judge_gaps() {
    walk_.for_each_unaccounted([&](const ByteRange& gap) {
      if (tally_.go_on()) judge_gap({base_ + gap.begin, base_ + gap.end});
    });
    if (!strict_ || !whole_ || !notable()) return;
    findings_.add(VerdictKind::UnaccountedBytes, VerdictCode::Warning, offset_place(largest_.begin), total_);
  }

  bool notable() const {
    constexpr std::uint64_t kLeast = 64U << 10, kShare = 4;
    return total_ >= kLeast && total_ * kShare >= file_->size();
  }

  // Whole collections of a global heap are no foreign bytes: what refers to them may not have been read.
  std::uint64_t behind_collections(std::uint64_t at, std::uint64_t end) const {
    while (end - at >= 16) {
      const std::string head = read(at, 16);
      if (!head.starts_with("GCOL\1")) break;
      const std::uint64_t bytes = load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(head.data()) + 8);
      if (bytes < 16 || bytes > end - at) break;
      at += bytes;
    }
    return at;
  }

  // No reader of another format looks here: such bytes were deleted, or are hidden.
  void judge_gap(ByteRange gap) {
    gap.begin = behind_collections(gap.begin, gap.end);
    if (gap.begin == gap.end) return;
    bool zeros = true;
    for (std::uint64_t at = gap.begin; at < gap.end && tally_.go_on(); at += kPart) {
      const bool all = looked_at_ < kMostRead;
      const std::string bytes = read(at, std::min<std::uint64_t>(all ? kPart + kHead : kHead, gap.end - at));
      looked_at_ += bytes.size();
      zeros = zeros && all_zeros(bytes);
      if (at == gap.begin)
        if (auto format = format_at(bytes)) return found_foreign(at, *std::move(format), false);
      if (!all) break;
      if (!zeros && look_for_formats(at, bytes, false)) return;
    }
    if (zeros) return;
    total_ += gap.end - gap.begin;
    if (gap.end - gap.begin > largest_.end - largest_.begin) largest_ = gap;
  }

  const Walk& walk_;
  const metadata::FileMetadata& metadata_;
  std::uint64_t base_;  // of the addresses in the file
  const bool strict_, whole_;
  Tally& tally_;
  Findings& findings_;
  const io::ByteSource* file_ = nullptr;  // null: there is no one file
  std::uint64_t looked_at_ = 0, total_ = 0;
  ByteRange largest_{0, 0};  // of gaps that are not all zeros
};

}  // namespace

void judge_foreign_bytes(const Walk& walk, bool strict, bool whole, Tally& tally, Findings& findings) {
  ForeignBytes(walk, strict, whole, tally, findings).run();
}

}  // namespace h5mount::check

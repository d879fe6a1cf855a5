#include "made_source.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/salvage/salvage.h"

namespace h5mount::salvage {
namespace {

Error lost_bytes(std::uint64_t address) {
  return Error(ErrorCode::Truncated, "Salvage", "bytes", address)
      .with_detail("lost: nothing in the file tells them");
}

constexpr std::uint64_t kPage = 4096;

}  // namespace

void MadeSource::begin_behind(std::uint64_t address, std::uint8_t size_of_offsets) {
  // Addresses behind the end of a file that was cut may still be referred to, so they are not given to
  // structures that are made.
  limit_ = size_of_offsets >= 8 ? std::uint64_t{1} << 62 : (std::uint64_t{1} << (8 * size_of_offsets)) - 1;
  const std::uint64_t apart = size_of_offsets >= 8 ? std::uint64_t{1} << 46 : kPage;
  const std::uint64_t from = std::max(address, own_end());
  made_at_ = from < limit_ - std::min(limit_, apart) ? (from + apart) / kPage * kPage : limit_;
}

std::optional<std::uint64_t> MadeSource::place(std::uint64_t bytes) {
  if (made_at_ >= limit_ || bytes > limit_ - made_at_) return std::nullopt;
  const std::uint64_t at = made_at_;
  made_at_ += (bytes + 7) / 8 * 8;
  end_ = made_at_;
  return at;
}

void MadeSource::lay_over(std::uint64_t address, std::vector<std::byte> bytes) {
  end_ = std::max(end_, address + bytes.size());
  over_[address] = std::move(bytes);
}

std::optional<std::uint64_t> MadeSource::add(std::vector<std::byte> bytes) {
  if (made_bytes_ + bytes.size() > kMadeAnyway + kMadePerFileByte * file_->stored_bytes())
    return std::nullopt;
  const auto at = place(bytes.size());
  if (!at) return at;
  made_bytes_ += bytes.size();
  segments_.emplace(*at, Segment{bytes.size(), std::move(bytes), 0, {}, {}});
  return at;
}

std::optional<std::uint64_t> MadeSource::add_part(std::uint64_t address, std::uint64_t bytes,
                                                  std::vector<ByteRange> lost, std::vector<std::byte> fill) {
  const auto at = place(bytes);
  if (!at) return at;
  segments_.emplace(*at, Segment{bytes, std::nullopt, address, std::move(lost), std::move(fill)});
  return at;
}

std::optional<std::uint64_t> MadeSource::lost(std::uint64_t bytes) {
  return add_part(0, bytes, {{0, bytes}}, {});
}

Status MadeSource::fill_from(std::uint64_t offset, io::ReadTarget& to) const {
  for (std::size_t left = to.left(), part = 0; left > 0; left -= part, offset += part) {
    auto next = segments_.upper_bound(offset);
    std::uint64_t end = next == segments_.end() ? ~std::uint64_t{0} : next->first;
    const Segment* segment = nullptr;
    std::uint64_t start = 0;
    if (next != segments_.begin()) {
      --next;
      if (offset - next->first < next->second.bytes) {
        segment = &next->second;
        start = next->first;
        end = start + segment->bytes;
      }
    }
    part = static_cast<std::size_t>(std::min<std::uint64_t>(left, end - offset));
    if (part == 0) return fail(lost_bytes(offset));
    H5_TRY(segment != nullptr ? read_segment(*segment, start, offset - start, part, to)
                              : read_own(offset, part, to));
  }
  return {};
}

Status MadeSource::read_segment(const Segment& segment, std::uint64_t start, std::uint64_t at,
                                std::size_t bytes, io::ReadTarget& to) const {
  if (segment.made) {
    to.copy(ByteSpan(*segment.made).subspan(static_cast<std::size_t>(at), bytes));
    return {};
  }
  auto lost = std::ranges::upper_bound(segment.lost, at, {}, &ByteRange::end);
  for (std::size_t part = 0; bytes > 0; bytes -= part, at += part) {
    const bool inside = lost != segment.lost.end() && lost->begin <= at;
    const std::uint64_t end = lost == segment.lost.end() ? segment.bytes : inside ? lost->end : lost->begin;
    part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, end - at));
    if (!inside) {
      H5_TRY(read_own(segment.address + at, part, to));
      continue;
    }
    if (segment.fill.empty()) return fail(lost_bytes(start + at));
    const MutableByteSpan place = to.rest().first(part);
    for (std::size_t i = 0; i < part; ++i)
      place[i] = segment.fill[static_cast<std::size_t>((at + i) % segment.fill.size())];
    to.filled(part);
    if (at + part == lost->end) ++lost;
  }
  return {};
}

Status MadeSource::read_own(std::uint64_t address, std::size_t bytes, io::ReadTarget& to) const {
  const std::uint64_t end = own_end();
  const auto cut = static_cast<std::uint64_t>(base_ < 0 ? -base_ : 0);
  const auto uncovered = [&](std::uint64_t from, std::uint64_t upto) -> Status {
    if (from == upto) return {};
    if (from < cut || !range_within(from, upto - from, end)) return fail(lost_bytes(from));
    return to.read(*file_, file_offset(from), static_cast<std::size_t>(upto - from));
  };
  auto over = over_.upper_bound(address);
  if (over != over_.begin()) --over;
  const std::uint64_t stop = address + bytes;
  std::uint64_t at = address;
  for (; over != over_.end() && over->first < stop; ++over) {
    const std::uint64_t over_end = over->first + over->second.size();
    if (over_end <= at) continue;
    const std::uint64_t from = std::max(at, over->first), upto = std::min(stop, over_end);
    H5_TRY(uncovered(at, from));
    to.copy(
        ByteSpan(over->second)
            .subspan(static_cast<std::size_t>(from - over->first), static_cast<std::size_t>(upto - from)));
    at = upto;
  }
  return uncovered(at, stop);
}

// Parts of the file that were given another address are not announced to the source: they are read one by
// one.
void MadeSource::will_read(std::span<const ByteRange> ranges) const {
  std::vector<ByteRange> own;
  const auto cut = static_cast<std::uint64_t>(base_ < 0 ? -base_ : 0);
  const std::uint64_t end = own_end();
  for (const ByteRange& range : ranges)
    if (range.begin >= cut && range.begin < end)
      own.push_back({file_offset(range.begin), file_offset(std::min(range.end, end))});
  file_->will_read(own);
}

std::optional<std::string> MadeSource::remark(std::uint64_t address) const {
  const auto found = remarks_.find(address);
  return found == remarks_.end() ? general_ : std::optional(*found->second);
}

}  // namespace h5mount::salvage

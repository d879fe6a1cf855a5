#include "h5mount/dataset/readers_over.h"

#include <fmt/format.h>

#include <cstring>

namespace h5mount::dataset {

Status ElementsReader::read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  H5_TRY(check_inside(offset, out.size()));
  if (out.empty()) return {};
  const std::uint64_t bytes = description().element_size, first = offset / bytes;
  if (offset % bytes == 0 && out.size() % bytes == 0) return read_elements(first, out, budget);
  const std::uint64_t last = divide_up(offset + out.size(), bytes);
  std::vector<std::byte> whole(static_cast<std::size_t>((last - first) * bytes));
  H5_TRY(read_elements(first, whole, budget));
  std::memcpy(out.data(), whole.data() + offset % bytes, out.size());
  return {};
}

Status UnitsReader::read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const {
  if (offset >= size() || length == 0) return {};
  length = std::min(length, size() - offset);
  auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(length));
  H5_TRY(fill(offset, block->bytes(), access));
  out.add(block->bytes(), block);
  return {};
}

Status UnitsReader::read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  return out.empty() ? Status() : fill(offset, out, {nullptr, budget});
}

Result<WrittenRun> UnitsReader::written_run(std::uint64_t offset, RequestBudget& budget) const {
  const std::uint64_t unit = offset / shown_;
  H5_ASSIGN(const WrittenRun run, base()->written_run(unit * stored_, budget));
  const std::uint64_t end = run.written ? divide_up(run.end, stored_) : run.end / stored_;
  if (end > unit) return WrittenRun{end * shown_, run.written};
  return WrittenRun{(unit + 1) * shown_, true};
}

std::vector<ByteRange> UnitsReader::stale(std::span<const ByteRange> of_base) const {
  std::vector<ByteRange> out;
  for (const ByteRange& range : of_base)
    out.push_back({checked_mul(range.begin / stored_, shown_).value_or(format::kUnlimited),
                   checked_mul(divide_up(range.end, stored_), shown_).value_or(format::kUnlimited)});
  return out;
}

// Some at a time, as a unit may be made of much more than is shown of it.
Status UnitsReader::fill(std::uint64_t offset, MutableByteSpan out, ReadAccess access) const {
  constexpr std::uint64_t kMostStored = 8U << 20;
  H5_TRY(check_inside(offset, out.size()));
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kMostStored / stored_);
  while (!out.empty()) {
    const std::uint64_t end = (offset / shown_ + at_once) * shown_;
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end - offset));
    H5_TRY(fill_some(offset, out.first(bytes), access));
    offset += bytes;
    out = out.subspan(bytes);
  }
  return {};
}

Status UnitsReader::make_units(std::uint64_t first, ByteSpan stored, MutableByteSpan shown) const {
  Status made = make(stored, shown);
  if (made) return made;
  return fail(made.error().within(fmt::format(
      "elements {} to {}", first, first + std::max<std::uint64_t>(1, shown.size() / shown_) - 1)));
}

// Makes the units that the range touches, even if those at its ends are needed only in part.
Status UnitsReader::fill_some(std::uint64_t offset, MutableByteSpan out, ReadAccess access) const {
  const std::uint64_t first = offset / shown_, end = (offset + out.size() - 1) / shown_ + 1;
  const auto count = static_cast<std::size_t>(end - first);
  std::vector<std::byte> stored(count * static_cast<std::size_t>(stored_));
  H5_TRY(access.budget.spend(stored.size() + out.size()));
  Pieces pieces;
  H5_TRY(base()->read(first * stored_, stored.size(), access, pieces));
  if (pieces.total() != stored.size()) return fail({ErrorCode::Stale, "the dataset became shorter"});
  H5_TRY(copy_pieces(pieces.list(), stored));
  if (out.size() == count * shown_) return make_units(first, stored, out);
  std::vector<std::byte> whole(count * static_cast<std::size_t>(shown_));
  H5_TRY(make_units(first, stored, whole));
  std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset % shown_), out.size(), out.begin());
  return {};
}

}  // namespace h5mount::dataset

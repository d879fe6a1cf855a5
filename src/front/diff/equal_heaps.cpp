#include "equal_heaps.h"

#include <algorithm>
#include <cstring>

#include "h5mount/format/global_heap_format.h"
#include "h5mount/metadata/foreign_heaps.h"

namespace h5mount::front {

// An element: length (4) | heap collection (O) | index (4).
Result<bool> EqualHeaps::are_equal(ByteSpan a, ByteSpan b, const text::ValueContext& of_a,
                                   const text::ValueContext& of_b) {
  if (!of_a.file || !of_b.file || a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size()) != 0)
    return false;
  const format::FileSizes sizes_a = of_a.file->sizes(), sizes_b = of_b.file->sizes();
  if (sizes_a.offsets != sizes_b.offsets || sizes_a.lengths != sizes_b.lengths ||
      a.size() != 8U + sizes_a.offsets)
    return false;
  const std::uint64_t address = format::load_address(a.data() + 4, sizes_a.offsets);
  if (address == last_) return last_is_same_;
  if (metadata::ForeignHeaps::is_foreign(address)) return false;
  H5_ASSIGN(last_is_same_, same_collection(address, of_a, of_b));
  last_ = address;
  return last_is_same_;
}

Result<bool> EqualHeaps::same_collection(std::uint64_t address, const text::ValueContext& of_a,
                                         const text::ValueContext& of_b) {
  const format::FileSizes sizes = of_a.file->sizes();
  const std::size_t header_bytes = format::global_heap_header_bytes(sizes);
  // What is common from the collection's beginning on; it may go on behind that.
  const auto common = [&] {
    const bool inside = address >= begin_ && address - begin_ < common_.size();
    return inside ? common_.subspan(static_cast<std::size_t>(address - begin_)) : ByteSpan();
  };
  if (common().size() < header_bytes) H5_TRY(read_common(address, next_bytes_, of_a, of_b));
  next_bytes_ = kLeast;  // unless these are the same: what follows may be, too
  if (common().size() < header_bytes) return false;
  format::Cursor cursor(common(), address, "GlobalHeapCollection", sizes);
  const auto size = format::decode_global_heap_header(cursor);
  if (!size) return false;
  for (std::uint64_t at = 0; *size > common().size() && at < *size; at += kMost) {
    const std::uint64_t bytes = std::min(kMost, *size - at);
    H5_TRY(read_common(address + at, bytes, of_a, of_b));
    if (common_.size() < bytes) return false;
  }
  next_bytes_ = kMost;
  return true;
}

Status EqualHeaps::read_common(std::uint64_t address, std::uint64_t bytes, const text::ValueContext& of_a,
                               const text::ValueContext& of_b) {
  begin_ = address;
  common_ = {};
  const io::ByteSource &source_a = *of_a.file->source(), &source_b = *of_b.file->source();
  const std::uint64_t end = std::min(source_a.size(), source_b.size());
  if (address >= end) return {};
  const auto n = static_cast<std::size_t>(std::min(bytes, end - address));
  H5_TRY(of_a.budget.spend(n));
  const MutableByteSpan a = a_.grown(n), b = b_.grown(n);
  if (!source_a.read_at(address, a) || !source_b.read_at(address, b)) return {};
  const bool all = std::memcmp(a.data(), b.data(), n) == 0;
  common_ = all ? a : a.first(static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin()));
  return {};
}

}  // namespace h5mount::front

#include "flat_buffer.h"

#include <algorithm>
#include <limits>

#include "h5mount/base/checked.h"
#include "h5mount/view/view.h"

namespace h5mount::tree {

using view::append_le;

FlatBuffer::FlatBuffer(TreeText& out) : out_(out), begin_(out.size()) {
  constexpr char kNothingStated = 0, kWindowOfOneBlock = 7 << 3;  // frame header: descriptor, window
  std::string header;
  append_le(0xFD2F'B528, 4, header);
  status_ = out.append((header += kNothingStated) += kWindowOfOneBlock);
  append_le(0, kOffsetBytes, pending_);
  align();
}

FlatBuffer::Slots FlatBuffer::table(Slot slot, std::initializer_list<Field> fields) {
  constexpr std::uint64_t kToVtable = 4;
  Slots out{};
  const std::uint64_t vtable_place = vtable(fields, out);
  point(slot);
  const std::uint64_t at = size();
  std::string& bytes = table_;
  bytes.clear();
  append_le(at - vtable_place, kToVtable, bytes);
  std::size_t i = 0;
  for (const Field& field : fields) {
    bytes.resize(static_cast<std::size_t>(out[i]));
    if (field.structure.empty())
      append_le(field.value, field.bytes, bytes);
    else
      bytes += field.structure;
    out[i++] += at;
  }
  append(bytes);
  return out;
}

// `places`: of the fields, from the table's begin.
std::uint64_t FlatBuffer::vtable(std::initializer_list<Field> fields, Slots& places) {
  constexpr std::uint64_t kHeader = 4, kEntry = 2;
  std::array<std::uint16_t, 16> by_number{};
  std::uint64_t end = 4;
  std::size_t count = 0, i = 0;
  for (const Field& field : fields) {
    end = divide_up(end, field.alignment()) * field.alignment();
    by_number[field.number] = static_cast<std::uint16_t>(places[i++] = end);
    end += field.bytes;
    count = std::max<std::size_t>(count, field.number + 1U);
  }
  std::string& bytes = table_;
  bytes.clear();
  append_le(kHeader + kEntry * count, kEntry, bytes);
  append_le(end, kEntry, bytes);
  for (const std::uint16_t place : std::span(by_number).first(count)) append_le(place, kEntry, bytes);
  for (const auto& [known, place] : vtables_)
    if (known == bytes) return place;
  vtables_.emplace_back(bytes, size());
  append(bytes);
  return vtables_.back().second;
}

FlatBuffer::Slot FlatBuffer::offsets(std::uint64_t count) {
  std::string bytes;
  append_le(count, 4, bytes);
  const Slot first = size() + bytes.size();
  bytes.resize(bytes.size() + static_cast<std::size_t>(count * kOffsetBytes));
  append(bytes);
  return first;
}

void FlatBuffer::point(Slot slot) {
  if (!status_) return;
  std::string offset;
  append_le(size() - slot, kOffsetBytes, offset);
  if (slot >= handed_on_)
    pending_.replace(static_cast<std::size_t>(slot - handed_on_), offset.size(), offset);
  else
    out_.replace(begin_ + kFrameHeader + slot + (slot / kBlock + 1) * kBlockHeader, offset);
}

void FlatBuffer::vector(std::string_view bytes, std::uint64_t count) {
  std::string length;
  append_le(count, 4, length);
  pending_ += length;
  append(bytes);
}

void FlatBuffer::vector_with_end(std::string_view bytes) {
  append_le(bytes.size(), 4, pending_);
  pending_ += bytes;
  append(std::string_view("", 1));
}

void FlatBuffer::forget_tables() {
  vtables_.clear();
}

void FlatBuffer::align() {
  constexpr std::uint64_t kAlignment = 8;
  pending_.resize(pending_.size() +
                  static_cast<std::size_t>((kAlignment - size() % kAlignment) % kAlignment));
}

void FlatBuffer::append(std::string_view bytes) {
  if (!status_) return;  // places of what follows are not used
  pending_ += bytes;
  align();
  if (pending_.size() >= kBlock) hand_on(false);
}

void FlatBuffer::hand_on(bool last) {
  constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int32_t>::max();
  if (status_ && size() > kMostBytes)
    status_ = fail({ErrorCode::TooLarge, "more references than a file of Icechunk holds"});
  std::string_view rest = pending_;
  while (status_ && (last || rest.size() >= kBlock)) {
    const std::string_view block = rest.substr(0, kBlock);
    const bool is_last = block.size() < kBlock;
    std::string header;
    append_le(block.size() << 3 | (is_last ? 1 : 0), kBlockHeader, header);
    status_ = out_.append(header);
    if (status_) status_ = out_.append(block);
    rest.remove_prefix(block.size());
    if (is_last) break;
    handed_on_ += kBlock;
  }
  pending_.erase(0, pending_.size() - rest.size());
}

Status FlatBuffer::finish() {
  hand_on(true);
  return status_;
}

}  // namespace h5mount::tree

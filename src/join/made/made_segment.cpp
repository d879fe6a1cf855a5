#include "made_segment.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/format/global_heap_format.h"

namespace h5mount::join {
namespace {

constexpr std::size_t kHeapHeaderBytes = format::global_heap_header_bytes({});
constexpr std::size_t kLeastCollectionBytes = 4096;      // (format) H5HG_MINSIZE
constexpr std::size_t kFullCollectionBytes = 60U << 10;  // no object begins behind it
constexpr std::uint32_t kMostHeapObjects = 65'000;       // numbers of objects have 16 bits

void store(std::span<std::byte> at, std::uint64_t value) {
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

Error bad_place() {
  return {ErrorCode::Internal, "a value of a made file has a part behind its end"};
}

}  // namespace

Status MadeSegment::check_room(std::uint64_t more) {
  H5_TRY(budget_.spend(more));
  constexpr std::uint64_t kMost = (std::uint64_t{1} << kPlaceBits) - (std::uint64_t{1} << 20);
  if (more >= kMost || bytes_.size() + more >= kMost)
    return fail(Error(ErrorCode::TooLarge, "an object of a made file takes 4 GiB or more"));
  return {};
}

std::uint64_t MadeSegment::next() {
  close_collection();
  return address_ + (bytes_.size() + 7) / 8 * 8;
}

Result<std::uint64_t> MadeSegment::append(ByteSpan bytes) {
  H5_TRY(check_room(bytes.size()));
  const std::uint64_t address = next();
  bytes_.resize(static_cast<std::size_t>(address - address_));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return address;
}

void MadeSegment::close_collection() {
  if (collection_ == 0) return;
  std::size_t size = bytes_.size() - collection_;
  if (size < kLeastCollectionBytes) {
    const std::size_t free = kLeastCollectionBytes - size;  // an object of number 0, if its header fits
    bytes_.resize(collection_ + kLeastCollectionBytes);
    if (free >= kHeapHeaderBytes) store(std::span(bytes_).subspan(collection_ + size + 8, 8), free);
    size = kLeastCollectionBytes;
  }
  store(std::span(bytes_).subspan(collection_ + 8, 8), size);
  collection_ = 0;
}

Result<MadeSegment::HeapPlace> MadeSegment::append_to_heap(ByteSpan object) {
  H5_TRY(check_room(object.size() + 2 * kLeastCollectionBytes));
  const std::size_t used = collection_ == 0 ? 0 : bytes_.size() - collection_;
  const bool fits = used + object.size() <= kFullCollectionBytes && heap_objects_ < kMostHeapObjects;
  if (!fits) close_collection();
  if (collection_ == 0) {
    format::Writer head({});
    head.text("GCOL").uint(1, 1).zeros(3 + 8);
    H5_ASSIGN(const std::uint64_t address, append(head.take()));
    collection_ = static_cast<std::size_t>(address - address_);
    heap_objects_ = 0;
  }
  format::Writer out({});
  out.uint(++heap_objects_, 2).zeros(6).length(object.size()).bytes(object);
  out.zeros((8 - object.size() % 8) % 8);
  const std::vector<std::byte> stored = out.take();
  bytes_.insert(bytes_.end(), stored.begin(), stored.end());
  return HeapPlace{address_ + collection_, heap_objects_};
}

// As deep as types are (limits::kMaxDatatypeDepth).
Result<std::vector<std::byte>> MadeSegment::encode_value(const MadeValue& value,
                                                         const AddressOf& address_of) {
  H5_TRY(budget_.spend(value.bytes.size()));
  std::vector<std::byte> out = value.bytes;
  for (const MadeValue::Reference& reference : value.references) {
    if (!range_within(reference.at, 8, out.size())) return fail(bad_place());
    store(std::span(out).subspan(reference.at, 8), address_of(reference.path));
  }
  for (const MadeValue::Sequence& sequence : value.sequences) {
    if (!range_within(sequence.at, 16, out.size())) return fail(bad_place());
    HeapPlace place;
    if (!sequence.elements.empty()) {
      H5_ASSIGN(const std::vector<std::byte> elements, encode_value(sequence.elements.front(), address_of));
      H5_ASSIGN(place, append_to_heap(elements));
    }
    const std::span<std::byte> at = std::span(out).subspan(sequence.at, 16);
    store(at.first(4), sequence.elements.empty() ? 0 : sequence.length);
    store(at.subspan(4, 8), place.collection);
    store(at.subspan(12, 4), place.index);
  }
  return out;
}

Result<std::vector<std::byte>> MadeSegment::finish(ByteSpan header) {
  close_collection();
  std::ranges::copy(header, bytes_.begin());
  return std::move(bytes_);
}

}  // namespace h5mount::join

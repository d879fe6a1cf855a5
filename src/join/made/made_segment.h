// The bytes of one object of a made file, from its header on, at an address that is known before they are
// made. Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "h5mount/format/encode.h"
#include "h5mount/join/made_file.h"

namespace h5mount::join {

// The address of an object's header; 0 if there is no such object.
using AddressOf = std::function<std::uint64_t(std::string_view path)>;

class MadeSegment {
 public:
  // The first `reserved` bytes are for the header.
  MadeSegment(std::uint64_t address, std::size_t reserved, RequestBudget& budget)
      : address_(address), bytes_(reserved), budget_(budget) {}

  // The address that the next `append` gives.
  std::uint64_t next();
  // Puts bytes behind all others, at a multiple of 8. Fails with TooLarge where the place of an object ends.
  Result<std::uint64_t> append(ByteSpan bytes);

  // An object of a global heap.
  struct HeapPlace {
    std::uint64_t collection = 0;
    std::uint32_t index = 0;
  };
  Result<HeapPlace> append_to_heap(ByteSpan object);

  // A value as it is stored; what is of variable length goes to the heap.
  Result<std::vector<std::byte>> encode_value(const MadeValue& value, const AddressOf& address_of);

  RequestBudget& budget() { return budget_; }
  // With the header, which takes no more than was reserved for it.
  Result<std::vector<std::byte>> finish(ByteSpan header);

 private:
  Status check_room(std::uint64_t more);
  void close_collection();

  std::uint64_t address_;
  std::vector<std::byte> bytes_;
  RequestBudget& budget_;
  // The heap collection at the end, which is open: where it begins in bytes_, and its objects; 0: none.
  std::size_t collection_ = 0;
  std::uint32_t heap_objects_ = 0;
};

// The messages of these attributes: each in its own, or all in dense storage if any is too large for one.
Result<std::vector<format::NewMessage>> encode_attributes(std::span<const MadeAttribute> attributes,
                                                          MadeSegment& segment, const AddressOf& address_of);

}  // namespace h5mount::join

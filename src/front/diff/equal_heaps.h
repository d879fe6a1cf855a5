// Which collections of two files' global heaps are the same to the bit: in these, elements of variable length
// that are stored in the same bytes are equal. Files that are copies of each other, or that one program wrote
// alike, share most. Threads: one.
#pragma once

#include <cstdint>

#include "h5mount/base/scratch_buffer.h"
#include "h5mount/text/value_text.h"

namespace h5mount::front {

class EqualHeaps {
 public:
  // Whether all that two elements, stored in these bytes, refer to is the same. Errors: those of the budget.
  Result<bool> are_equal(ByteSpan a, ByteSpan b, const text::ValueContext& of_a,
                         const text::ValueContext& of_b);

 private:
  static constexpr std::uint64_t kLeast = 4U << 10, kMost = 128U << 10;

  Result<bool> same_collection(std::uint64_t address, const text::ValueContext& of_a,
                               const text::ValueContext& of_b);
  Status read_common(std::uint64_t address, std::uint64_t bytes, const text::ValueContext& of_a,
                     const text::ValueContext& of_b);

  std::uint64_t last_ = format::kUndefinedAddress;  // the collection that was asked for last
  bool last_is_same_ = false;
  ByteSpan common_;  // bytes from `begin_` on that are the same in both files
  std::uint64_t begin_ = 0, next_bytes_ = kLeast;
  ScratchBuffer a_, b_;
};

}  // namespace h5mount::front

// The sweep: looks at every byte of some ranges of a source for structures of the format.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "h5mount/salvage/salvage.h"
#include "scan.h"
#include "used_ranges.h"

namespace h5mount::salvage {

// A structure that was found, in eight bytes, as there may be many.
struct Found {
  static constexpr std::uint64_t kMaxOffset = (std::uint64_t{1} << 56) - 1;

  Found(std::uint64_t at, Kind what) : offset(at & kMaxOffset), kind(what) {}
  static std::uint64_t place(const Found& found) { return found.offset; }  // for algorithms

  std::uint64_t offset : 56;
  Kind kind : 8;
};
static_assert(sizeof(Found) == 8);

inline bool is_header(const Found& found) {
  return found.kind == Kind::Header1 || found.kind == Kind::Header2;
}

struct Swept {
  std::vector<Found> found;  // sorted by offset
  std::uint64_t bytes = 0;
  std::vector<Range> unreadable;  // ascending; counted among the bytes
  std::optional<Error> why_unreadable;
};

// Ranges of addresses that are read only to know whether they can be read: no structures are looked for in
// them. Address 0 is at offset `base` of the source.
struct OnlyRead {
  const UsedRanges* ranges = nullptr;
  std::uint64_t base = 0;

  bool has(std::uint64_t offset) const {
    return ranges != nullptr && offset >= base && ranges->contains(offset - base);
  }
};

// Looks for structures that begin in `ranges` (offsets of `source`, ascending). Object headers of version 2
// are listed if their checksum is right, those of version 1 if their messages have the right form, other
// structures by their signature. The bytes of headers that are looked at are at most kSweepsPerByte times
// those that are read. Where a local source fails to read a range, as a disk with bad sectors does, that
// range is passed over. Errors: other ones of reading, Interrupted; LimitExceeded above kMaxFound.
Result<Swept> sweep(io::ByteSource& source, const std::vector<Range>& ranges, const Options& options,
                    const OnlyRead& only_read = {});

}  // namespace h5mount::salvage

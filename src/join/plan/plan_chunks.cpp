// Rule 8: chunks for Zarr.
#include <algorithm>
#include <numeric>

#include "h5mount/base/checked.h"
#include "planner.h"

namespace h5mount::join {

namespace {

constexpr std::uint64_t kLeastKept = std::uint64_t{1} << 20;  // of a chunk that files have
constexpr std::uint64_t kSmallChunk = std::uint64_t{64} << 10, kManyChunks = 4096;
constexpr std::uint64_t kLeastChunk = std::uint64_t{4} << 20;
constexpr std::uint64_t kGoodChunk = std::uint64_t{8} << 20;
constexpr std::uint64_t kMostChunk = std::uint64_t{16} << 20;

class JoinedChunks {
 public:
  JoinedChunks(const Gathered& in, PlannedMember& out)
      : in_(in), out_(out), axis_(*out.axis), first_(in.variants[0].of()) {}

  void plan() {
    set_inner();
    out_.chunk[axis_] = along_axis();
    if (!can_hand_on() || is_fine()) return;
    out_.stored = true;
    out_.chunk = first_.chunk;
  }

 private:
  // Whether the files' chunks are so many and small that nobody wants to ask for each: netCDF's unlimited
  // dimensions have chunks of one record where nobody chose others.
  bool is_fine() const {
    std::uint64_t bytes = out_.type->size, chunks = 1;
    for (std::size_t i = 0; i < first_.chunk.size(); ++i) {
      bytes = checked_mul(bytes, first_.chunk[i]).value_or(kLeastKept);
      chunks = checked_mul(chunks, divide_up(out_.space.dims[i], first_.chunk[i])).value_or(kManyChunks + 1);
    }
    return bytes < kSmallChunk && chunks > kManyChunks;
  }

  // The chunk that all files have in the other dimensions, else all of them, as far as a chunk can hold.
  void set_inner() {
    const auto& dims = out_.space.dims;
    out_.chunk.assign(dims.size(), 1);
    const std::size_t added = out_.added_axis ? 1 : 0;
    const bool alike = std::ranges::all_of(in_.variants, [&](const Variant& one) {
      const auto& chunk = one.of().chunk;
      if (chunk.size() + added != dims.size()) return false;
      for (std::size_t i = added; i < dims.size(); ++i)
        if (i != axis_ && chunk[i - added] != first_.chunk[i - added]) return false;
      return true;
    });
    row_bytes_ = std::max<std::uint64_t>(out_.type->size, 1);
    for (std::size_t i = dims.size(); i-- > 0;) {
      if (i == axis_) continue;
      const std::uint64_t most = std::max<std::uint64_t>(kMostChunk / row_bytes_, 1);
      const std::uint64_t extent = std::max<std::uint64_t>(dims[i], 1);
      const std::uint64_t stored = alike ? std::max<std::uint64_t>(first_.chunk[i - added], 1) : extent;
      // A chunk that files have stays, whatever its size; a larger one than the dimension is cut to it.
      out_.chunk[i] = alike ? std::min(stored, extent) : std::min(stored, most);
      row_bytes_ = checked_mul(row_bytes_, out_.chunk[i]).value_or(~std::uint64_t{0});
    }
  }

  std::uint64_t along_axis() {
    const std::uint64_t total = std::max<std::uint64_t>(out_.space.dims[axis_], 1);
    const std::uint64_t divisor = common_divisor();
    const std::uint64_t bytes = checked_mul(divisor, row_bytes_).value_or(~std::uint64_t{0});
    // Chunks that are longer than the files do not say how much is read at once.
    const bool filled = bytes <= kMostChunk || std::ranges::any_of(in_.variants, [&](const Variant& one) {
                          return out_.added_axis || one.extent >= divisor;
                        });
    if (bytes >= kLeastKept && filled) return std::min(divisor, total);
    const std::uint64_t good = std::max<std::uint64_t>(kGoodChunk / row_bytes_, 1);
    if (const auto border = at_borders(good)) return std::min(*border, total);
    const std::uint64_t step = divisor == 0 || divisor > good ? 1 : divisor;
    return std::min(std::max(good / step * step, std::uint64_t{1}), total);
  }

  // Of the lengths of chunks along the axis; 0: no file has chunks.
  std::uint64_t common_divisor() const {
    if (out_.added_axis) return 1;
    std::uint64_t out = 0;
    for (const Variant& one : in_.variants)
      if (axis_ < one.of().chunk.size()) out = std::gcd(out, one.of().chunk[axis_]);
    return out;
  }

  // A length at which borders of chunks are borders of files, or a file has whole chunks; nullopt: files are
  // of different lengths, or there is none of a good size.
  std::optional<std::uint64_t> at_borders(std::uint64_t good) const {
    const auto& starts = *out_.starts;
    const std::uint64_t length = starts[1];
    for (std::size_t i = 1; i + 1 < out_.parts.size(); ++i)
      if (starts[i + 1] - starts[i] != length) return std::nullopt;
    if (length == 0) return std::nullopt;
    if (length <= good) return good / length * length;
    const std::uint64_t least = std::max<std::uint64_t>(divide_up(kLeastChunk, row_bytes_), 1);
    const std::uint64_t most = std::max<std::uint64_t>(kMostChunk / row_bytes_, 1);
    if (length <= most) return length;
    constexpr std::uint64_t kMostTried = 4096;
    const std::uint64_t fewest = divide_up(length, most);
    for (std::uint64_t parts = fewest; parts <= length / least && parts - fewest < kMostTried; ++parts)
      if (length % parts == 0) return length / parts;
    return std::nullopt;
  }

  // Whether chunks of the files are those of the whole, byte for byte.
  bool can_hand_on() const {
    if (out_.added_axis || first_.chunk.size() != out_.space.rank()) return false;
    if (in_.files.size() != out_.parts.size() || !same_type(*out_.type, *first_.type)) return false;
    for (const Treatment& treatment : out_.treatments)
      if (!treatment.nothing()) return false;
    for (const Variant& one : in_.variants) {
      const MemberCard& card = one.of();
      const bool alike = card.chunk == first_.chunk && card.pipeline == first_.pipeline &&
                         card.layout == first_.layout && card.fill == first_.fill &&
                         same_type(*card.type, *first_.type);
      if (!alike) return false;
    }
    const std::uint64_t length = first_.chunk[axis_];
    if (first_.layout != format::LayoutClass::Chunked || length == 0) return false;
    const auto& starts = *out_.starts;
    for (std::size_t i = 1; i < out_.parts.size(); ++i)
      if (starts[i] != starts.back() && starts[i] % length != 0) return false;
    return true;
  }

  const Gathered& in_;
  PlannedMember& out_;
  const std::uint32_t axis_;
  const MemberCard& first_;
  std::uint64_t row_bytes_ = 1;  // of one place along the axis
};

}  // namespace

void plan_chunks(const Gathered& in, PlannedMember& out) {
  JoinedChunks(in, out).plan();
}

}  // namespace h5mount::join

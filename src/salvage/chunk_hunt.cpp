// Finds chunks without an index: a place is a chunk if it decodes to exactly the size of one. Which chunks
// they were is guessed: they are numbered in the order of their addresses.
#include <algorithm>
#include <memory>

#include "h5mount/base/checked.h"
#include "h5mount/base/deflate.h"
#include "h5mount/format/filter_ids.h"
#include "h5mount/metadata/filter_pipeline.h"
#include "rescue.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kBlock = 4U << 20;
constexpr std::uint64_t kMaxHunted = 256U << 20;  // larger chunks are not looked for
constexpr std::uint64_t kStepsPerTry = 64;

// The length of a compressed stream that begins at `in` and decodes to `bytes`; 0 if there is none. Adds to
// `work` if it has to decode; bytes that are no stream usually fail after a few.
using Measure = std::size_t (*)(ByteSpan in, std::uint64_t bytes, MutableByteSpan scratch,
                                std::uint64_t& work);

std::size_t measure_deflate(ByteSpan in, std::uint64_t bytes, MutableByteSpan scratch, std::uint64_t& work) {
  const bool header = in.size() >= 8 && in[0] == std::byte{0x78} &&
                      load_be<std::uint16_t>(in.data()) % 31 == 0 &&
                      (in[1] & std::byte{0x20}) == std::byte{0};
  if (!header) return 0;
  work += bytes / 64 + 256;
  const Inflated done = inflate_zlib(in, scratch.first(static_cast<std::size_t>(bytes)));
  return done.end == InflateEnd::Whole && done.made == bytes ? done.used : 0;
}

// Measures frames of RFC 8878: a header, then blocks of which each states its size and whether it is the
// last.
std::size_t measure_zstd(ByteSpan in, std::uint64_t, MutableByteSpan, std::uint64_t&) {
  if (in.size() < 9 || load_le<std::uint32_t>(in.data()) != 0xFD2FB528U) return 0;
  const auto descriptor = std::to_integer<unsigned>(in[4]);
  static constexpr std::size_t kDictionary[] = {0, 1, 2, 4}, kContent[] = {0, 2, 4, 8};
  const bool single = (descriptor & 0x20) != 0;
  std::size_t at = 5 + (single ? 0 : 1) + kDictionary[descriptor & 3] +
                   (descriptor >> 6 == 0 ? (single ? 1 : 0) : kContent[descriptor >> 6]);
  for (bool last = false; !last;) {
    if (at + 3 > in.size()) return 0;
    const auto block = load_le_width(&in[at], 3);
    last = (block & 1) != 0;
    const auto type = block >> 1 & 3;
    if (type == 3) return 0;
    at += 3 + (type == 1 ? 1 : static_cast<std::size_t>(block >> 3));
  }
  at += (descriptor & 4) != 0 ? 4 : 0;
  return at <= in.size() ? at : 0;
}

std::size_t measure_blosc(ByteSpan in, std::uint64_t bytes, MutableByteSpan, std::uint64_t&) {
  if (in.size() < 16 || in[0] != std::byte{2} || load_le<std::uint32_t>(&in[4]) != bytes) return 0;
  const auto length = load_le<std::uint32_t>(&in[12]);
  return length >= 16 && length <= in.size() ? length : 0;
}

std::size_t measure_blosc2(ByteSpan in, std::uint64_t, MutableByteSpan, std::uint64_t&) {
  if (in.size() < 32 || as_text(in).substr(2, 7) != "b2frame") return 0;
  const auto length = load_be<std::uint64_t>(&in[16]);
  return length >= 32 && length <= in.size() ? static_cast<std::size_t>(length) : 0;
}

// The frame of the LZ4 filter: the decoded size, the size of a block, then blocks after their sizes.
std::size_t measure_lz4(ByteSpan in, std::uint64_t bytes, MutableByteSpan, std::uint64_t& work) {
  if (in.size() < 16 || load_be<std::uint64_t>(in.data()) != bytes) return 0;
  const auto block = load_be<std::uint32_t>(&in[8]);
  if (block == 0) return 0;
  std::size_t at = 12;
  for (std::uint64_t done = 0; done < bytes; done += block) {
    if (at + 4 > in.size()) return 0;
    const auto length = load_be<std::uint32_t>(&in[at]);
    if (length == 0 || length > std::uint64_t{block}) return 0;
    at += 4 + std::size_t{length};
    ++work;
    if (at > in.size()) return 0;
  }
  return at;
}

// Measures the streams that this pipeline writes; null if nothing distinguishes them from random bytes.
Measure measure_for(std::span<const format::FilterDescription> filters, bool& checksum) {
  checksum = !filters.empty() && filters.back().id == format::kFletcher32;
  if (checksum) filters = filters.first(filters.size() - 1);
  if (filters.empty()) return nullptr;
  for (const format::FilterDescription& inner : filters.first(filters.size() - 1))
    if (inner.id != format::kShuffle) return nullptr;  // other filters change the size that is compressed
  switch (filters.back().id) {
    case format::kDeflate:
      return measure_deflate;
    case format::kZstd:
      return measure_zstd;
    case format::kBlosc:
      return measure_blosc;
    case format::kBlosc2:
      return measure_blosc2;
    case format::kLz4:
      return measure_lz4;
    default:
      return nullptr;
  }
}

// Whether the filters keep a chunk's size and end with a checksum. Such chunks are looked for only from the
// beginning of a gap between other structures.
bool keeps_size(std::span<const format::FilterDescription> filters) {
  return !filters.empty() && filters.back().id == format::kFletcher32 &&
         std::ranges::all_of(filters.first(filters.size() - 1),
                             [](const auto& filter) { return filter.id == format::kShuffle; });
}

class Hunt {
 public:
  Hunt(Rescue& rescue, const chunk::ChunkGeometry& geometry, const filter::FilterPipeline& pipeline,
       Measure measure, bool checksum, std::uint64_t wanted)
      : rescue_(rescue),
        bytes_(geometry.chunk_bytes),
        pipeline_(pipeline),
        measure_(measure),
        trailer_(checksum ? 4 : 0),
        wanted_(wanted),
        decoded_(static_cast<std::size_t>(bytes_)) {}

  GatheredChunks run() {
    // Each dataset that is hunted for sorts all claims.
    constexpr std::uint64_t kStepsPerClaim = 16;
    if (!rescue_.spend((rescue_.claims.count() + rescue_.weak_claims.count() + rescue_.unreadable.count()) *
                       kStepsPerClaim))
      return std::move(out_);
    Claims all = rescue_.claims;
    for (const Claims* more : {&rescue_.weak_claims, &rescue_.unreadable})
      more->within(0, rescue_.end, [&](const Range& r) { all.add(r.begin, r.end - r.begin); });
    all.settle();
    for (const Range& gap : all.gaps(rescue_.end)) {
      if (measure_ != nullptr)
        hunt_in(gap);
      else
        hunt_from(gap);
    }
    out_.certainty = Certainty::Guessed;
    if (!out_.chunks.empty())
      out_.found_by = "chunks recognised by their form, in the order of their addresses";
    return std::move(out_);
  }

 private:
  void hunt_in(const Range& gap) {
    const std::uint64_t longest = bytes_ + bytes_ / 8 + 65'536;
    for (std::uint64_t at = gap.begin; at + 8 < gap.end && out_.chunks.size() < wanted_;) {
      const std::uint64_t length = std::min(gap.end - at, kBlock + longest);
      if (!rescue_.spend(length / 64) || !read(at, length)) return;
      const bool last = at + length == gap.end;
      const std::uint64_t stop = last ? length : std::min(length, kBlock);
      const std::uint64_t next = hunt_in_block(at, stop);
      if (next == 0) return;
      at += next;
    }
  }

  // Takes chunks of a known size, one behind the other, from the beginning of the gap.
  void hunt_from(const Range& gap) {
    const std::uint64_t stored = bytes_ + trailer_;
    for (std::uint64_t at = gap.begin; range_within(at, stored, gap.end); at += stored) {
      if (out_.chunks.size() >= wanted_ || !rescue_.spend(kStepsPerTry + stored) || !read(at, stored)) return;
      if (!pipeline_.decode(buffer_, 0, decoded_, scratch_)) return;
      out_.chunks.push_back({out_.chunks.size(), {at, stored, 0, {}}});
    }
  }

  Status read(std::uint64_t at, std::uint64_t length) {
    buffer_.resize(static_cast<std::size_t>(length));
    return rescue_.made->read_at(at, buffer_);
  }

  // Looks at the first `stop` bytes of the buffer; returns the number of bytes that it has passed, or 0 if
  // the budget is spent.
  std::uint64_t hunt_in_block(std::uint64_t address, std::uint64_t stop) {
    std::uint64_t at = 0;
    while (at < stop && out_.chunks.size() < wanted_) {
      const ByteSpan in = ByteSpan(buffer_).subspan(static_cast<std::size_t>(at));
      std::uint64_t work = 1;
      const std::size_t length = measure_(in, bytes_, decoded_, work);
      if (!rescue_.spend(work)) return 0;
      if (length == 0) {
        ++at;
        continue;
      }
      if (!rescue_.spend(kStepsPerTry + bytes_)) return 0;
      const std::size_t stored = length + trailer_;
      if (stored <= in.size() && pipeline_.decode(in.first(stored), 0, decoded_, scratch_)) {
        out_.chunks.push_back({out_.chunks.size(), {address + at, stored, 0, {}}});
        at += stored;
      } else {
        ++at;
      }
    }
    return std::max<std::uint64_t>(at, 1);
  }

  Rescue& rescue_;
  const std::uint64_t bytes_;
  const filter::FilterPipeline& pipeline_;
  const Measure measure_;
  const std::size_t trailer_;
  const std::uint64_t wanted_;
  std::vector<std::byte> decoded_, buffer_;
  filter::FilterScratch scratch_;
  GatheredChunks out_;
};

}  // namespace

std::size_t stored_bytes_of(std::span<const format::FilterDescription> filters,
                            const filter::FilterPipeline& pipeline, ByteSpan in, MutableByteSpan decoded,
                            filter::FilterScratch& scratch) {
  bool checksum = false;
  std::uint64_t work = 0;
  const Measure measure = measure_for(filters, checksum);
  const std::size_t length = measure == nullptr ? 0 : measure(in, decoded.size(), decoded, work);
  const std::size_t stored = length + (checksum ? 4 : 0);
  const bool whole =
      length > 0 && stored <= in.size() && pipeline.decode(in.first(stored), 0, decoded, scratch).has_value();
  return whole ? stored : 0;
}

GatheredChunks hunt_chunks(Rescue& rescue, const DatasetTrouble& trouble,
                           const chunk::ChunkGeometry& geometry, std::uint64_t wanted) {
  bool checksum = false;
  const auto& filters = trouble.description.pipeline.filters;
  const Measure measure = measure_for(filters, checksum);
  if ((measure == nullptr && !keeps_size(filters)) || geometry.chunk_bytes > kMaxHunted) return {};
  if (!rescue.spend(geometry.chunk_bytes)) return {};  // the memory for one chunk, whose size the file claims
  const auto pipeline = metadata::make_filter_pipeline(filters, geometry.chunk_bytes);
  if (!pipeline) return {};
  return Hunt(rescue, geometry, **pipeline, measure, checksum, wanted).run();
}

}  // namespace h5mount::salvage

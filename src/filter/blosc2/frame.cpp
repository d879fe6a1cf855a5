#include "frame.h"

#include <algorithm>

#include "../filters.h"
#include "h5mount/base/checked.h"
#include "msgpack.h"

namespace h5mount::filter::blosc {
namespace {

constexpr std::string_view kMagic{"b2frame\0", 8};
constexpr std::uint8_t kFiltersExtension = 6;
// A frame's offsets are larger than its data only if its inner chunks are tiny.
constexpr std::uint64_t kOffsetBytesPerByte = 16;
constexpr std::uint64_t kMinOffsetBytes = 65'536;

}  // namespace

Result<Frame> Frame::open(ByteSpan bytes, std::uint64_t limit) {
  Frame frame;
  frame.limit_ = limit;
  MsgpackReader reader(bytes);
  if (reader.read_array() != 14 || as_text(reader.read_text()) != kMagic) {
    return failed("blosc2", "not a contiguous frame");
  }
  const std::int64_t header_length = reader.read_integer();
  const std::int64_t frame_length = reader.read_integer();
  const ByteSpan flags = reader.read_text();
  const std::int64_t nbytes = reader.read_integer();
  const std::int64_t stored = reader.read_integer();
  const std::int64_t typesize = reader.read_integer();
  reader.read_integer();  // block size: each chunk's header has its own
  const std::int64_t chunksize = reader.read_integer();
  reader.read_integer();  // number of threads that wrote it
  reader.read_integer();  // number of threads to read it
  reader.read_boolean();  // whether the trailer holds variable-length metalayers
  reader.read_extension(kFiltersExtension);
  if (!reader.ok() || flags.size() != 4) return failed("blosc2", "the frame's header is damaged");
  if (header_length < 0 || frame_length < header_length ||
      static_cast<std::uint64_t>(frame_length) > bytes.size()) {
    return failed("blosc2", "the frame is longer than what is stored");
  }
  if ((std::to_integer<unsigned>(flags[0]) & 15U) > 2) {
    return fail(Error(ErrorCode::UnsupportedFeature,
                      "blosc2: a frame of a later version, or of variable-length blocks"));
  }
  if (std::to_integer<unsigned>(flags[1]) != 0) {
    return fail(
        Error(ErrorCode::UnsupportedFeature, "blosc2: a sparse frame keeps its chunks in other files"));
  }
  if (nbytes < 0 || stored < 0 || stored > frame_length - header_length)
    return failed("blosc2", "the frame's sizes");
  if (typesize <= 0 || chunksize < 0 || (chunksize == 0 && nbytes != 0))
    return failed("blosc2", "the frame's sizes");
  frame.bytes_ = bytes.first(static_cast<std::size_t>(frame_length));
  frame.header_ = bytes.first(static_cast<std::size_t>(header_length));
  frame.typesize_ = static_cast<std::size_t>(typesize);
  frame.nbytes_ = static_cast<std::uint64_t>(nbytes);
  frame.stored_ = static_cast<std::uint64_t>(stored);
  frame.chunksize_ = static_cast<std::uint64_t>(chunksize);
  frame.chunk_count_ = nbytes == 0 ? 0 : divide_up(frame.nbytes_, frame.chunksize_);
  frame.metalayers_at_ = reader.at();
  return frame;
}

Result<std::optional<ByteSpan>> Frame::find_metalayer(std::string_view name) const {
  if (metalayers_at_ > header_.size()) return failed("blosc2", "the metalayers lie outside the header");
  MsgpackReader reader(header_.subspan(metalayers_at_));
  if (reader.read_array() != 3) return failed("blosc2", "the frame's metalayers are damaged");
  reader.read_integer();  // bytes of the index
  const std::size_t count = reader.read_map();
  for (std::size_t i = 0; i < count && reader.ok(); ++i) {
    const std::string_view found = as_text(reader.read_text());
    const std::int64_t offset = reader.read_integer();
    if (!reader.ok() || found != name) continue;
    if (offset < 0 || static_cast<std::uint64_t>(offset) > header_.size()) break;
    MsgpackReader content(header_.subspan(static_cast<std::size_t>(offset)));
    const ByteSpan bytes = content.read_binary();
    if (!content.ok()) break;
    return std::optional(bytes);
  }
  if (!reader.ok()) return failed("blosc2", "the frame's metalayers are damaged");
  return std::optional<ByteSpan>{};
}

Result<Chunk> Frame::open_offsets() const {
  const std::uint64_t at = header_.size() + stored_;
  const std::uint64_t most =
      std::max(kOffsetBytesPerByte * std::min(limit_, std::uint64_t{1} << 40), kMinOffsetBytes);
  if (chunk_count_ > most / 8) return failed("blosc2", "more inner chunks than their content has room for");
  H5_ASSIGN(Chunk offsets, Chunk::open(bytes_.subspan(static_cast<std::size_t>(at))));
  if (offsets.nbytes() != chunk_count_ * 8)
    return failed("blosc2", "the chunks' offsets are not as many as the chunks");
  return offsets;
}

std::uint64_t Frame::chunk_bytes(std::uint64_t index) const {
  return std::min(chunksize_, nbytes_ - index * chunksize_);
}

Result<Chunk> Frame::chunk(std::uint64_t index) const {
  H5_ASSIGN(const auto chunks, InnerChunks::open(*this));
  return chunks->chunk(index);
}

Result<std::unique_ptr<InnerChunks>> InnerChunks::open(const Frame& frame) {
  H5_ASSIGN(const Chunk offsets, frame.open_offsets());
  return std::unique_ptr<InnerChunks>(new InnerChunks(frame, offsets));
}

Result<Chunk> InnerChunks::chunk(std::uint64_t index) {
  if (index >= frame_.chunk_count()) return failed("blosc2", "the frame has no such chunk");
  std::int64_t offset = 0;
  H5_TRY(reader_.read(static_cast<std::size_t>(index * 8), std::as_writable_bytes(std::span(&offset, 1))));
  return frame_.chunk_at(index, offset);
}

Result<Chunk> Frame::chunk_at(std::uint64_t index, std::int64_t offset) const {
  const std::uint64_t bytes = chunk_bytes(index);
  if (offset < 0) {
    const auto special = static_cast<unsigned>(static_cast<std::uint64_t>(offset) >> 56 & 7U);
    if (special != 1 && special != 2 && special != 4)
      return failed("blosc2", "a special value that is not known");
    return Chunk::make_special(static_cast<Special>(special), typesize_, static_cast<std::size_t>(bytes));
  }
  if (static_cast<std::uint64_t>(offset) > stored_)
    return failed("blosc2", "an inner chunk outside the frame");
  const ByteSpan section = bytes_.subspan(header_.size(), static_cast<std::size_t>(stored_));
  H5_ASSIGN(Chunk chunk, Chunk::open(section.subspan(static_cast<std::size_t>(offset))));
  if (chunk.nbytes() != bytes) return failed("blosc2", "an inner chunk is not of the frame's chunk size");
  return chunk;
}

}  // namespace h5mount::filter::blosc

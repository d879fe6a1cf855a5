// Writes the decoded content of a standalone Blosc 2 frame (*.b2frame, *.b2nd) to stdout, by the code that
// decodes frames in HDF5 chunks.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "blosc2/frame.h"
#include "blosc2/nd_array.h"

namespace {

using namespace h5mount;
using namespace h5mount::filter::blosc;

constexpr std::uint64_t kLimit = std::uint64_t{4} << 30;

Result<std::vector<std::byte>> decode_frame(ByteSpan bytes) {
  H5_ASSIGN(const Frame frame, Frame::open(bytes, kLimit));
  H5_ASSIGN(const auto array, NdArray::open(frame, kLimit));
  const std::uint64_t size = array ? array->layout().array_bytes : frame.nbytes();
  if (size > kLimit) return fail(Error(ErrorCode::LimitExceeded, "a frame of more than 4 GiB"));
  std::vector<std::byte> out(size);
  if (array) {
    H5_TRY(array->read_all(out));
    return out;
  }
  if (frame.chunk_count() == 0) return out;
  H5_ASSIGN(const auto chunks, InnerChunks::open(frame));
  for (std::uint64_t i = 0; i < frame.chunk_count(); ++i) {
    H5_ASSIGN(const Chunk chunk, chunks->chunk(i));
    H5_TRY(chunk.decode(MutableByteSpan(out).subspan(i * frame.chunksize(), chunk.nbytes())));
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: b2frame_cat FRAME\n";
    return 1;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto decoded = decode_frame(as_bytes(bytes));
  if (!decoded) {
    std::cerr << "b2frame_cat: " << decoded.error().text() << '\n';
    return 2;
  }
  std::cout.write(reinterpret_cast<const char*>(decoded->data()),
                  static_cast<std::streamsize>(decoded->size()));
  return 0;
}

// roofline: the upper bound of decoding speed for a dataset: its stored chunks, already in memory, are
// decoded by libdeflate and unshuffle on all cores, each into one buffer that stays in the cache. No file
// system, no assembly of rows. Prints the seconds that decoding took: of the clock, and of all processors.
//
//   roofline FILE DATASET [THREADS]
#include <hdf5.h>
#include <libdeflate.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "../../src/filter/unshuffle.h"

namespace {

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "roofline: %s\n", what);
  std::exit(1);
}

struct Chunks {
  std::vector<std::vector<std::byte>> stored;
  std::size_t chunk_bytes = 0;
  std::size_t element_size = 0;
  bool shuffled = false;
};

Chunks load(const char* path, const char* name) {
  Chunks out;
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
  if (set < 0) stop("cannot open the dataset");
  const hid_t type = H5Dget_type(set), space = H5Dget_space(set), creation = H5Dget_create_plist(set);
  hsize_t dims[32], chunk[32];
  const int rank = H5Sget_simple_extent_dims(space, dims, nullptr);
  H5Pget_chunk(creation, rank, chunk);
  out.element_size = H5Tget_size(type);
  out.chunk_bytes = out.element_size;
  hsize_t count = 1;
  for (int i = 0; i < rank; ++i) {
    out.chunk_bytes *= chunk[i];
    count *= (dims[i] + chunk[i] - 1) / chunk[i];
  }
  for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
    unsigned flags = 0, configuration = 0;
    std::size_t values = 0;
    out.shuffled |= H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr,
                                   &configuration) == H5Z_FILTER_SHUFFLE;
  }
  std::ifstream bytes(path, std::ios::binary);
  for (hsize_t c = 0; c < count; ++c) {
    hsize_t offset[32], rest = c;
    for (int i = rank; i-- > 0;) {
      const hsize_t along = (dims[i] + chunk[i] - 1) / chunk[i];
      offset[i] = rest % along * chunk[i];
      rest /= along;
    }
    unsigned mask = 0;
    haddr_t address = 0;
    hsize_t size = 0;
    if (H5Dget_chunk_info_by_coord(set, offset, &mask, &address, &size) < 0) stop("no such chunk");
    out.stored.emplace_back(size);
    bytes.seekg(static_cast<std::streamoff>(address));
    bytes.read(reinterpret_cast<char*>(out.stored.back().data()), static_cast<std::streamsize>(size));
  }
  H5Fclose(file);
  return out;
}

void decode(const Chunks& chunks, std::atomic<std::size_t>& next) {
  libdeflate_decompressor* const inflater = libdeflate_alloc_decompressor();
  std::vector<std::byte> plain(chunks.chunk_bytes), out(chunks.chunk_bytes);
  for (std::size_t i; (i = next.fetch_add(1)) < chunks.stored.size();) {
    const auto& stored = chunks.stored[i];
    if (libdeflate_zlib_decompress(inflater, stored.data(), stored.size(), plain.data(), plain.size(),
                                   nullptr) != LIBDEFLATE_SUCCESS)
      stop("a chunk does not inflate");
    if (chunks.shuffled) h5mount::filter::unshuffle_buffer(plain, chunks.element_size, out);
  }
  libdeflate_free_decompressor(inflater);
}

// Of all threads of the process so far.
double processor_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) stop("usage: roofline FILE DATASET [THREADS]");
  const Chunks chunks = load(argv[1], argv[2]);
  const unsigned threads =
      argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : std::thread::hardware_concurrency();
  const auto begin = std::chrono::steady_clock::now();
  const double processor_begin = processor_seconds();
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> crew;
  for (unsigned i = 0; i < threads; ++i) crew.emplace_back([&] { decode(chunks, next); });
  for (std::thread& one : crew) one.join();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::printf("%.6f %.6f\n", wall.count(), processor_seconds() - processor_begin);
  return 0;
}

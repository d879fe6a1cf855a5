// reader: reads files of a mount in the access patterns that are measured, with little overhead, and prints
// the seconds that opening and reading took and a sum of the bytes.
//
//   reader cat FILE…             all bytes in order, 1 MiB a call; several files by as many threads at once
//   reader block SIZE FILE       all bytes in order, SIZE bytes a call
//   reader mmap FILE             all bytes through a mapping
//   reader head BYTES FILE       the first BYTES, 1 MiB a call
//   reader tail BYTES FILE       the last BYTES
//   reader random COUNT SIZE FILE COUNT reads of SIZE bytes at fixed pseudo-random offsets reader column ROWS
//   STRIDE SIZE FILE SIZE bytes at every STRIDE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Bytes = std::vector<char>;
std::atomic<std::uint64_t> g_seen{0};

[[noreturn]] void stop(const char* what) {
  std::perror(what);
  std::exit(1);
}

struct File {
  int fd;
  std::uint64_t size;
  explicit File(const char* path) : fd(::open(path, O_RDONLY | O_CLOEXEC)) {
    struct stat about = {};
    if (fd < 0 || ::fstat(fd, &about) != 0) stop(path);
    size = static_cast<std::uint64_t>(about.st_size);
  }
  ~File() { ::close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::size_t at(std::uint64_t offset, Bytes& into) const {
    const ssize_t n = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0) stop("read");
    g_seen += static_cast<std::uint64_t>(n);
    return static_cast<std::size_t>(n);
  }
};

void read_in_order(const char* path, std::size_t block, std::uint64_t from_end = 0,
                   std::uint64_t most = UINT64_MAX) {
  const File file(path);
  if (from_end == 0 && block >= (128U << 10))
    ::posix_fadvise(file.fd, 0, 0, POSIX_FADV_SEQUENTIAL);  // as cat does
  Bytes buffer(block);
  std::uint64_t at = from_end == 0 || from_end > file.size ? 0 : file.size - from_end;
  while (at < most) {
    const std::size_t n = file.at(at, buffer);
    if (n == 0) break;
    at += n;
  }
}

void read_together(char** paths, int count) {
  std::vector<std::thread> crew;
  for (int i = 0; i < count; ++i)
    crew.emplace_back(read_in_order, paths[i], std::size_t{1} << 20, 0, UINT64_MAX);
  for (std::thread& one : crew) one.join();
}

void read_mapped(const char* path) {
  const File file(path);
  void* const mapped = ::mmap(nullptr, file.size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (mapped == MAP_FAILED) stop("mmap");
  ::madvise(mapped, file.size, MADV_SEQUENTIAL);
  const auto* const words = static_cast<const std::uint64_t*>(mapped);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < file.size / sizeof *words; i += 8) sum += words[i];
  g_seen += sum | 1;
  ::munmap(mapped, file.size);
}

void read_at_random(const char* path, std::uint64_t count, std::size_t size) {
  const File file(path);
  ::posix_fadvise(file.fd, 0, 0, POSIX_FADV_RANDOM);
  Bytes buffer(size);
  std::uint64_t state = 88172645463325252ULL;
  for (std::uint64_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    file.at(state % (file.size / size) * size, buffer);
  }
}

void read_column(const char* path, std::uint64_t rows, std::uint64_t stride, std::size_t size) {
  const File file(path);
  Bytes buffer(size);
  for (std::uint64_t i = 0; i < rows; ++i) file.at(i * stride, buffer);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  const auto number = [&](int i) { return argc > i + 1 ? std::strtoull(argv[i], nullptr, 0) : 0ULL; };
  const char* const last = argv[argc - 1];
  const auto begin = std::chrono::steady_clock::now();
  if (mode == "cat")
    read_together(argv + 2, argc - 2);
  else if (mode == "block")
    read_in_order(last, number(2));
  else if (mode == "mmap")
    read_mapped(last);
  else if (mode == "head")
    read_in_order(last, 1U << 20, 0, number(2));
  else if (mode == "tail")
    read_in_order(last, 1U << 20, number(2));
  else if (mode == "random")
    read_at_random(last, number(2), number(3));
  else if (mode == "column")
    read_column(last, number(2), number(3), number(4));
  else
    return std::fputs("usage: reader cat|block|mmap|head|tail|random|column … FILE\n", stderr), 1;
  std::printf("%.6f %llu\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
              static_cast<unsigned long long>(g_seen));
  return 0;
}

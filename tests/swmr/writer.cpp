// A SWMR writer over libhdf5, for tests only: appends frames whose every value follows from its place, so
// that readers can be checked without asking.
//
//   writer FILE [index=ea|bt2|fa] [filter=none|deflate] [frames=N] [chunk=frames] [height=H] [width=W]
//          [rate=frames a second, 0: as fast as it goes] [flush=frames] [log=FILE] [restart=1] [create=1]
//          [text=1]
//
// /frames (N, H, W) of u16, /counter (N) of i64, and an attribute `state` of the root that holds the number
// of frames last flushed. With text=1 also /lines (N), strings of variable length. `log` gets a line "frames
// nanoseconds" after each flush, on CLOCK_MONOTONIC. `create` stops once the file is made; `restart` goes on
// with a file whose writer died.
#include <hdf5.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct Options {
  std::map<std::string, std::string> given;
  long number(const char* name, long otherwise) const {
    const auto found = given.find(name);
    return found == given.end() ? otherwise : std::atol(found->second.c_str());
  }
  std::string text(const char* name, const char* otherwise) const {
    const auto found = given.find(name);
    return found == given.end() ? otherwise : found->second;
  }
};

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "writer: %s failed\n", what);
  std::_Exit(3);
}

template <class Id>
Id check(Id id, const char* what) {
  if (id < 0) die(what);
  return id;
}

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

hid_t file_access() {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  return access;
}

void create_datasets(hid_t file, const Options& options) {
  const auto frames = static_cast<hsize_t>(options.number("frames", 100));
  const hsize_t height = static_cast<hsize_t>(options.number("height", 8)),
                width = static_cast<hsize_t>(options.number("width", 16));
  const auto chunk = static_cast<hsize_t>(options.number("chunk", 4));
  const std::string index = options.text("index", "ea");
  const hsize_t dims[3] = {0, height, width};
  const hsize_t most[3] = {index == "fa" ? frames : H5S_UNLIMITED, index == "bt2" ? H5S_UNLIMITED : height,
                           width};
  const hsize_t chunks[3] = {chunk, height, width};
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 3, chunks);
  if (options.text("filter", "none") == "deflate") {
    H5Pset_shuffle(properties);
    H5Pset_deflate(properties, 1);
  }
  const hid_t space = H5Screate_simple(3, dims, most);
  check(H5Dclose(H5Dcreate2(file, "frames", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT)),
        "frames");
  const hsize_t none = 0, unlimited = H5S_UNLIMITED, many = 64;
  const hid_t line = H5Screate_simple(1, &none, &unlimited);
  const hid_t line_properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(line_properties, 1, &many);
  check(H5Dclose(H5Dcreate2(file, "counter", H5T_STD_I64LE, line, H5P_DEFAULT, line_properties, H5P_DEFAULT)),
        "counter");
  if (options.number("text", 0) != 0) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    check(H5Dclose(H5Dcreate2(file, "lines", type, line, H5P_DEFAULT, line_properties, H5P_DEFAULT)),
          "lines");
  }
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t state =
      check(H5Acreate2(file, "state", H5T_STD_I64LE, scalar, H5P_DEFAULT, H5P_DEFAULT), "state");
  const std::int64_t zero = 0;
  H5Awrite(state, H5T_NATIVE_INT64, &zero);
  H5Aclose(state);
}

class Writer {
 public:
  Writer(hid_t file, const Options& options) : options_(options), file_(file) {
    frames_ = check(H5Dopen2(file, "frames", H5P_DEFAULT), "frames");
    counter_ = check(H5Dopen2(file, "counter", H5P_DEFAULT), "counter");
    lines_ = options.number("text", 0) != 0 ? H5Dopen2(file, "lines", H5P_DEFAULT) : -1;
    state_ = check(H5Aopen(file, "state", H5P_DEFAULT), "state");
    const hid_t space = H5Dget_space(frames_);
    hsize_t dims[3];
    H5Sget_simple_extent_dims(space, dims, nullptr);
    H5Sclose(space);
    written_ = dims[0];
    height_ = dims[1];
    width_ = dims[2];
  }

  void run() {
    const auto frames = static_cast<hsize_t>(options_.number("frames", 100));
    const long rate = options_.number("rate", 0);
    const auto every = static_cast<hsize_t>(options_.number("flush", 1));
    const std::string log = options_.text("log", "");
    std::FILE* const out = log.empty() ? nullptr : std::fopen(log.c_str(), "a");
    const std::int64_t began = now();
    const hsize_t first = written_;
    while (written_ < frames) {
      append();
      if (written_ % every == 0 || written_ == frames) flush(out);
      if (rate > 0) {
        const std::int64_t due = began + static_cast<std::int64_t>(written_ - first) * 1'000'000'000 / rate;
        if (const std::int64_t left = due - now(); left > 0) ::usleep(static_cast<useconds_t>(left / 1000));
      }
    }
  }

 private:
  void append() {
    const hsize_t at = written_++;
    std::vector<std::uint16_t> frame(height_ * width_);
    for (std::size_t i = 0; i < frame.size(); ++i)
      frame[i] = static_cast<std::uint16_t>(at * 2654435761U + i * (at % 97 + 1));
    const hsize_t dims[3] = {written_, height_, width_}, start[3] = {at, 0, 0},
                  count[3] = {1, height_, width_};
    check(H5Dset_extent(frames_, dims), "extent");
    write(frames_, 3, start, count, H5T_NATIVE_UINT16, frame.data());
    const hsize_t one = 1;
    const std::int64_t number = static_cast<std::int64_t>(at) * 3 + 1;
    check(H5Dset_extent(counter_, &written_), "extent");
    write(counter_, 1, &at, &one, H5T_NATIVE_INT64, &number);
    if (lines_ < 0) return;
    char text[64];
    std::snprintf(text, sizeof text, "line %" PRIu64 " of the log%.*s", static_cast<std::uint64_t>(at),
                  static_cast<int>(at % 13), "*************");
    const char* const pointer = text;
    const hid_t type = H5Dget_type(lines_);
    check(H5Dset_extent(lines_, &written_), "extent");
    write(lines_, 1, &at, &one, type, &pointer);
    H5Tclose(type);
  }

  static void write(hid_t dataset, int rank, const hsize_t* start, const hsize_t* count, hid_t type,
                    const void* data) {
    const hid_t space = H5Dget_space(dataset);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
    const hid_t memory = H5Screate_simple(rank, count, nullptr);
    check(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, data), "write");
    H5Sclose(memory);
    H5Sclose(space);
  }

  void flush(std::FILE* log) {
    const auto state = static_cast<std::int64_t>(written_);
    H5Awrite(state_, H5T_NATIVE_INT64, &state);
    check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "flush");
    if (log == nullptr) return;
    std::fprintf(log, "%" PRIu64 " %" PRId64 "\n", static_cast<std::uint64_t>(written_), now());
    std::fflush(log);
  }

  const Options& options_;
  hid_t file_, frames_, counter_, lines_, state_;
  hsize_t written_ = 0, height_ = 0, width_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Options options;
  for (int i = 2; i < argc; ++i)
    if (const char* equals = std::strchr(argv[i], '='))
      options.given[std::string(argv[i], static_cast<std::size_t>(equals - argv[i]))] = equals + 1;
  const hid_t access = file_access();
  if (options.number("restart", 0) == 0) {
    const hid_t file = check(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access), "create");
    create_datasets(file, options);
    H5Fclose(file);
    if (options.number("create", 0) != 0) return 0;
  }
  const hid_t file = check(H5Fopen(argv[1], H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access), "open");
  Writer(file, options).run();
  return H5close() < 0 ? 3 : 0;
}

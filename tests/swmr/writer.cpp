// A SWMR writer over libhdf5, for tests only: appends frames whose every value follows from its place, so
// that readers can be checked without asking.
//
//   writer FILE [index=ea|bt2|fa] [filter=none|deflate] [frames=N] [chunk=frames] [height=H] [width=W]
//          [rate=frames a second, 0: as fast as it goes] [flush=frames] [log=FILE] [restart=1] [create=1]
//          [clear=1] [text=1] [more=1] [ahead=1]
//   writer FILE view=SOURCE [part=NAME WITH %b] [block=frames]
//
// /frames (N, H, W) of u16, /counter (N) of i64, and an attribute `state` of the root that holds the number
// of frames last flushed. With text=1 also /lines (N), strings of variable length. With more=1 also /events
// (N), a compound with a sequence of variable length; /plane, which grows in both of its dimensions in turn;
// and /ring, one chunk that is the whole dataset, written in place. With ahead=1 /frames has its last extent
// from the beginning. `log` gets a line "frames nanoseconds" after each flush, on CLOCK_MONOTONIC. `create`
// stops once the file is made; `restart` goes on with it; `clear` does so with a file whose writer died, as
// `h5clear -s
// --increment=0` makes possible: what was written behind the end that the superblock tells would be cut off.
//
// `view` makes a file with an external link /linked to SOURCE's /frames and the virtual datasets /view over
// all of them and, where `part` is given, /parts over the /frames of files with numbers, `block` frames each.
#include <hdf5.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr hsize_t kRing = 64;

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

struct Event {
  std::int64_t time;
  hvl_t hits;
};

hid_t event_type() {
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Event));
  H5Tinsert(type, "time", HOFFSET(Event, time), H5T_NATIVE_INT64);
  H5Tinsert(type, "hits", HOFFSET(Event, hits), H5Tvlen_create(H5T_NATIVE_INT32));
  return type;
}

void create_more(hid_t file, const Options& options) {
  const auto create = [&](const char* name, hid_t type, int rank, const hsize_t* dims, const hsize_t* most,
                          const hsize_t* chunks) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, rank, chunks);
    if (options.text("filter", "none") == "deflate") H5Pset_deflate(properties, 1);
    const hid_t space = H5Screate_simple(rank, dims, most);
    check(H5Dclose(H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT)), name);
  };
  const hsize_t none[2] = {0, 0}, unlimited[2] = {H5S_UNLIMITED, H5S_UNLIMITED}, many = 32, tile[2] = {8, 8};
  create("events", event_type(), 1, none, unlimited, &many);
  create("plane", H5T_STD_U32LE, 2, none, unlimited, tile);
  const hsize_t ring = kRing;
  create("ring", H5T_STD_I64LE, 1, &ring, &ring, &ring);
}

// A virtual dataset without a limit: all of one source, or a block of each numbered one.
void create_view(const char* path, const Options& options) {
  const hid_t file = check(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, file_access()), "view");
  const hsize_t height = static_cast<hsize_t>(options.number("height", 8)),
                width = static_cast<hsize_t>(options.number("width", 16));
  const auto add = [&](const char* name, const std::string& source, hsize_t block) {
    const hsize_t dims[3] = {0, height, width}, most[3] = {H5S_UNLIMITED, height, width},
                  start[3] = {0, 0, 0}, all[3] = {1, height, width}, from[3] = {block, height, width},
                  more[3] = {H5S_UNLIMITED, 1, 1}, one[3] = {1, 1, 1}, stride[3] = {block, height, width};
    const hid_t view = H5Screate_simple(3, dims, most);
    hid_t whole;
    if (block == 0) {
      const hsize_t every[3] = {1, 1, 1};
      whole = H5Screate_simple(3, dims, most);
      H5Sselect_hyperslab(view, H5S_SELECT_SET, start, every, more, all);
      H5Sselect_hyperslab(whole, H5S_SELECT_SET, start, every, more, all);
    } else {
      whole = H5Screate_simple(3, from, nullptr);
      H5Sselect_hyperslab(view, H5S_SELECT_SET, start, stride, more, from);
      H5Sselect_hyperslab(whole, H5S_SELECT_SET, start, nullptr, one, from);
    }
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    check(H5Pset_virtual(properties, view, source.c_str(), "frames", whole), "mapping");
    check(H5Dclose(H5Dcreate2(file, name, H5T_STD_U16LE, view, H5P_DEFAULT, properties, H5P_DEFAULT)), name);
  };
  const std::string source = options.text("view", "");
  add("view", source, 0);
  check(H5Lcreate_external(source.c_str(), "/frames", file, "linked", H5P_DEFAULT, H5P_DEFAULT), "link");
  if (const std::string part = options.text("part", ""); !part.empty())
    add("parts", part, static_cast<hsize_t>(options.number("block", 10)));
  check(H5Fclose(file), "close");
}

void create_datasets(hid_t file, const Options& options) {
  const auto frames = static_cast<hsize_t>(options.number("frames", 100));
  const hsize_t height = static_cast<hsize_t>(options.number("height", 8)),
                width = static_cast<hsize_t>(options.number("width", 16));
  const auto chunk = static_cast<hsize_t>(options.number("chunk", 4));
  const std::string index = options.text("index", "ea");
  const hsize_t dims[3] = {options.number("ahead", 0) != 0 ? frames : 0, height, width};
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
  if (options.number("more", 0) != 0) create_more(file, options);
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
    more_ = options.number("more", 0) != 0;
    if (more_) {
      events_ = check(H5Dopen2(file, "events", H5P_DEFAULT), "events");
      plane_ = check(H5Dopen2(file, "plane", H5P_DEFAULT), "plane");
      ring_ = check(H5Dopen2(file, "ring", H5P_DEFAULT), "ring");
    }
    state_ = check(H5Aopen(file, "state", H5P_DEFAULT), "state");
    // Where its predecessor died between two datasets, it goes on with the shorter one.
    hsize_t dims[3];
    extent_of(counter_, &written_);
    extent_of(frames_, dims);
    if (options.number("ahead", 0) == 0) written_ = std::min(written_, dims[0]);
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
    grow(frames_, 3, dims);
    write(frames_, 3, start, count, H5T_NATIVE_UINT16, frame.data());
    const hsize_t one = 1;
    const std::int64_t number = static_cast<std::int64_t>(at) * 3 + 1;
    grow(counter_, 1, &written_);
    write(counter_, 1, &at, &one, H5T_NATIVE_INT64, &number);
    if (more_) append_more(at);
    if (lines_ < 0) return;
    char text[64];
    std::snprintf(text, sizeof text, "line %" PRIu64 " of the log%.*s", static_cast<std::uint64_t>(at),
                  static_cast<int>(at % 13), "*************");
    const char* const pointer = text;
    const hid_t type = H5Dget_type(lines_);
    grow(lines_, 1, &written_);
    write(lines_, 1, &at, &one, type, &pointer);
    H5Tclose(type);
  }

  void append_more(hsize_t at) {
    const hsize_t one = 1, count = at + 1;
    std::vector<std::int32_t> hits;
    for (hsize_t i = 0; i < at % 5; ++i) hits.push_back(static_cast<std::int32_t>(at * 10 + i));
    const Event event{static_cast<std::int64_t>(at), {hits.size(), hits.data()}};
    grow(events_, 1, &count);
    write(events_, 1, &at, &one, event_type(), &event);

    // A row, then a column, and so on: rows and columns that are there are full.
    const hsize_t rows = at / 2 + 1, columns = (at + 1) / 2 + 1, dims[2] = {rows, columns};
    const bool row = at % 2 == 0;
    const hsize_t start[2] = {row ? rows - 1 : 0, row ? 0 : columns - 1},
                  part[2] = {row ? 1 : rows, row ? columns : 1};
    std::vector<std::uint32_t> values;
    for (hsize_t i = 0; i < part[0] * part[1]; ++i)
      values.push_back(
          static_cast<std::uint32_t>((start[0] + (row ? 0 : i)) * 1000 + start[1] + (row ? i : 0)));
    grow(plane_, 2, dims);
    write(plane_, 2, start, part, H5T_NATIVE_UINT32, values.data());

    const hsize_t place = at % kRing;
    const auto number = static_cast<std::int64_t>(count);
    write(ring_, 1, &place, &one, H5T_NATIVE_INT64, &number);
  }

  static void extent_of(hid_t dataset, hsize_t* dims) {
    const hid_t space = H5Dget_space(dataset);
    H5Sget_simple_extent_dims(space, dims, nullptr);
    H5Sclose(space);
  }

  // Never shrinks: a writer that died, or one that knows how much will come, has made the extent larger.
  static void grow(hid_t dataset, int rank, const hsize_t* wanted) {
    hsize_t dims[3];
    extent_of(dataset, dims);
    bool larger = false;
    for (int i = 0; i < rank; ++i) {
      larger = larger || wanted[i] > dims[i];
      dims[i] = std::max(dims[i], wanted[i]);
    }
    if (larger) check(H5Dset_extent(dataset, dims), "extent");
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
  hid_t file_, frames_, counter_, lines_, state_, events_ = -1, plane_ = -1, ring_ = -1;
  bool more_ = false;
  hsize_t written_ = 0, height_ = 0, width_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Options options;
  for (int i = 2; i < argc; ++i)
    if (const char* equals = std::strchr(argv[i], '='))
      options.given[std::string(argv[i], static_cast<std::size_t>(equals - argv[i]))] = equals + 1;
  if (options.given.contains("view")) return create_view(argv[1], options), 0;
  const hid_t access = file_access();
  if (options.number("restart", 0) == 0) {
    const hid_t file = check(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access), "create");
    create_datasets(file, options);
    H5Fclose(file);
    if (options.number("create", 0) != 0) return 0;
  }
  if (const hbool_t yes = 1; options.number("clear", 0) != 0)
    check(H5Pset(access, "clear_status_flags", &yes), "status flags");  // the property that h5clear sets
  const hid_t file = check(H5Fopen(argv[1], H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access), "open");
  if (options.number("clear", 0) != 0) check(H5Fincrement_filesize(file, 0), "end of file");
  Writer(file, options).run();
  return H5close() < 0 ? 3 : 0;
}

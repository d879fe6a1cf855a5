// h5dread: reads the same bytes as a C program with libhdf5. The reference of the benchmarks; the product
// does not use libhdf5.
//
//   h5dread slices FILE DATASET ROWS   one H5Dread per slice of ROWS rows (the slowest dimension), one buffer
//   h5dread whole FILE DATASET         one H5Dread into memory for all of it
//   h5dread first FILE DATASET BYTES   the first elements alone
#include <hdf5.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "h5dread: %s\n", what);
  std::exit(1);
}

struct Dataset {
  hid_t file, set, type, space;
  std::vector<hsize_t> dims;
  hsize_t row_bytes;

  Dataset(const char* path, const char* name) {
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) stop("cannot open the file");
    set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0) stop("cannot open the dataset");
    type = H5Dget_type(set);
    space = H5Dget_space(set);
    dims.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, dims.data(), nullptr);
    row_bytes = H5Tget_size(type);
    for (std::size_t i = 1; i < dims.size(); ++i) row_bytes *= dims[i];
  }

  void read_rows(hsize_t first, hsize_t count, void* out) const {
    std::vector<hsize_t> start(dims.size(), 0), size = dims;
    start[0] = first;
    size[0] = count;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
    const hid_t memory = H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr);
    if (H5Dread(set, type, memory, space, H5P_DEFAULT, out) < 0) stop("H5Dread failed");
    H5Sclose(memory);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) stop("usage: h5dread slices|whole|first FILE DATASET [ROWS|BYTES]");
  const std::string mode = argv[1];
  const Dataset data(argv[2], argv[3]);
  const hsize_t number = argc > 4 ? std::strtoull(argv[4], nullptr, 0) : 1;
  if (mode == "whole") {
    std::vector<char> all(data.row_bytes * data.dims[0]);
    if (H5Dread(data.set, data.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0) stop("H5Dread failed");
  } else if (mode == "first") {
    std::vector<char> some(std::max<hsize_t>(number, data.row_bytes));
    data.read_rows(0, std::max<hsize_t>(1, number / data.row_bytes), some.data());
  } else {
    std::vector<char> slice(data.row_bytes * number);
    for (hsize_t row = 0; row < data.dims[0]; row += number)
      data.read_rows(row, std::min(number, data.dims[0] - row), slice.data());
  }
  return 0;
}

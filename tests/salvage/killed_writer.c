/* Writes an HDF5 file round by round, as salvage_rig.py kills it: two growing datasets, one of them compressed,
 * and a small one in a group, with values that their numbers tell. After each flush the log has one line more.
 *
 *   killed_writer FILE LOG earliest|latest|swmr
 */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

enum { kRows = 500, kFirst = 100, kRounds = 4000 };

static hid_t growing(hid_t file, const char* name, hsize_t chunk, int level) {
  hsize_t none = 0, any = H5S_UNLIMITED;
  hid_t space = H5Screate_simple(1, &none, &any), made = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(made, 1, &chunk);
  if (level > 0) H5Pset_deflate(made, (unsigned)level);
  return H5Dcreate2(file, name, H5T_NATIVE_LLONG, space, H5P_DEFAULT, made, H5P_DEFAULT);
}

static void append(hid_t dataset, const long long* rows, hsize_t before) {
  hsize_t all = before + kRows, count = kRows;
  H5Dset_extent(dataset, &all);
  hid_t there = H5Dget_space(dataset), here = H5Screate_simple(1, &count, NULL);
  H5Sselect_hyperslab(there, H5S_SELECT_SET, &before, NULL, &count, NULL);
  H5Dwrite(dataset, H5T_NATIVE_LLONG, here, there, H5P_DEFAULT, rows);
  H5Sclose(here);
  H5Sclose(there);
}

static void write_first(hid_t file) {
  long long first[kFirst];
  hsize_t count = kFirst;
  for (int i = 0; i < kFirst; ++i) first[i] = i;
  hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(1, &count, NULL);
  hid_t dataset = H5Dcreate2(group, "first", H5T_NATIVE_LLONG, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(dataset, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, first);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Gclose(group);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int swmr = strcmp(argv[3], "swmr") == 0, latest = swmr || strcmp(argv[3], "latest") == 0;
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  FILE* log = fopen(argv[2], "w");
  if (file < 0 || log == NULL) return 1;
  write_first(file);
  hid_t plain = growing(file, "plain", 200, 0), packed = growing(file, "packed", 300, 1);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  if (swmr && H5Fstart_swmr_write(file) < 0) return 1;
  for (int round = 0; round < kRounds; ++round) {
    long long values[kRows], some[kRows];
    for (int i = 0; i < kRows; ++i) {
      values[i] = ((long long)round * kRows + i) * 7;
      some[i] = values[i] % 251;
    }
    append(plain, values, (hsize_t)round * kRows);
    append(packed, some, (hsize_t)round * kRows);
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return 1; /* the disk is full */
    fprintf(log, "%d\n", round + 1);
    fflush(log);
  }
  return 0;
}

// Writes HDF5 files with h5py at run time, and finds and damages structures in their bytes. A test whose file
// cannot be written fails: what is thrown ends it, with what Python said.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/corpus.h"

namespace h5mount::test {

// Runs the Python statements in `script`, with the open file as `f`, and returns the file's bytes. `libver`
// is h5py's: "latest" or "earliest".
std::vector<std::byte> written_with_h5py(const std::string& script, const std::string& libver = "latest");

// The bytes of the file that a program in tests/, such as "view/fixtures/every_type.py", writes where its
// first argument says.
std::vector<std::byte> written_by_program(const std::string& program);

// The offsets of all structures with this signature, ascending.
std::vector<std::size_t> places_of(const std::vector<std::byte>& bytes, std::string_view signature);

// Flips one bit of the structure at `at`, `distance` bytes after the end of its four-byte signature.
void flip(std::vector<std::byte>& bytes, std::size_t at, std::size_t distance = 4);

}  // namespace h5mount::test

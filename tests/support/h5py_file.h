// HDF5 files that a test writes with h5py when it runs, and the structures in their bytes that it then
// damages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/corpus.h"

namespace h5mount::test {

// The bytes of the file that the Python statements in `script` leave open as `f`; empty where Python or h5py
// fails. `libver` is h5py's: "latest" or "earliest".
std::vector<std::byte> written_with_h5py(const std::string& script, const std::string& libver = "latest");

// Where the structures with this signature begin, in file order.
std::vector<std::size_t> places_of(const std::vector<std::byte>& bytes, std::string_view signature);

// Flips one bit of the structure at `at`, `behind` bytes behind its signature.
void flip(std::vector<std::byte>& bytes, std::size_t at, std::size_t behind = 4);

}  // namespace h5mount::test

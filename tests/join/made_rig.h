// Made files, held against h5py, netCDF4 and this project's own readers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "h5mount/join/made_file.h"

namespace h5mount::join {

// Types by short names: `<i4`, `>u2`, `<f8`, `S7` (null-padded), `vlen` (UTF-8 strings), `ref`.
format::DatatypePtr made_type(const std::string& name);
format::DatatypePtr compound_of(std::vector<format::CompoundMember> members, std::uint32_t size);

MadeObject made_group(std::string path);
MadeObject made_dataset(std::string path, format::DatatypePtr type, std::vector<std::uint64_t> dims);
template <class T>
MadeValue value_of(const std::vector<T>& numbers) {
  const auto* at = reinterpret_cast<const std::byte*>(numbers.data());
  return {{at, at + numbers.size() * sizeof(T)}, {}, {}};
}
MadeValue text_of(std::string_view text);
MadeValue strings_of(const std::vector<std::string>& texts);
MadeValue references_to(const std::vector<std::string>& paths);
MadeAttribute made_attribute(std::string name, format::DatatypePtr type, std::vector<std::uint64_t> dims,
                             MadeValue value);

// The statement that imports tests/join/made_files.py.
std::string import_made_files();
// Runs the script in a directory with these files, with h5py, numpy and made_files imported. Returns what it
// said if it failed; empty: it did not.
std::string said_by_python(const std::map<std::string, std::vector<std::byte>>& files,
                           const std::string& script);
bool has_netcdf4();

}  // namespace h5mount::join

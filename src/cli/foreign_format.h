// Recognises other formats: the message says what the file is and how to read it, instead of "not an HDF5
// file".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace h5mount::cli {

// `head`: the first bytes of the file (1 KiB is enough). Returns nullopt for an unknown format.
std::optional<std::string> foreign_format(std::string_view head);

// The same for a file by its path; also recognises an empty file, and one that begins with zeros only.
std::optional<std::string> foreign_file(const std::string& path);

}  // namespace h5mount::cli

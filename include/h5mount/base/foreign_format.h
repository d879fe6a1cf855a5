// Recognises other formats: the message says what the file is and how to read it, instead of "not an HDF5
// file".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace h5mount {

// `head`: the first bytes of the file (1 KiB is enough). Returns nullopt for an unknown format.
std::optional<std::string> foreign_format(std::string_view head);

// The same for a file or an object by its first bytes, of which kForeignHead suffice; also recognises one
// that is empty (`head` is), and one that begins with zeros only.
inline constexpr std::size_t kForeignHead = 1U << 20;  // so many leading zeros mean that it was never filled
std::optional<std::string> foreign_content(std::string_view head);
// The same for a file by its path.
std::optional<std::string> foreign_file(const std::string& path);

}  // namespace h5mount

#include "h5mount/fuse/mount_table.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace h5mount::fuse {
namespace {

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string real_path(const std::string& directory) {
  char* const real = ::realpath(directory.c_str(), nullptr);
  std::string place = real != nullptr ? real : directory;
  std::free(real);
  return place;
}

}  // namespace

std::optional<MountEntry> find_mount(const std::string& directory) {
  const std::string place = real_path(directory);
  std::ifstream mounts("/proc/self/mountinfo");
  std::optional<MountEntry> found;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    MountEntry entry;
    std::string id, parent, root, mounted_on, word;
    fields >> id >> parent >> entry.device >> root >> mounted_on;
    if (unescape(mounted_on) != place) continue;
    while (fields >> word && word != "-") {
    }
    fields >> entry.type >> word >> entry.options;
    found = std::move(entry);
  }
  return found;
}

}  // namespace h5mount::fuse

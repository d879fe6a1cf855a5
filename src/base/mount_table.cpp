#include "h5mount/base/mount_table.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

namespace h5mount {
namespace {

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string without_escapes(std::string_view field) {
  constexpr std::size_t kEscape = 4;
  std::string out;
  while (!field.empty()) {
    unsigned value = 0;
    const bool escape =
        field[0] == '\\' && field.size() >= kEscape &&
        std::from_chars(field.data() + 1, field.data() + kEscape, value, 8).ptr == field.data() + kEscape;
    out.push_back(escape ? static_cast<char>(value) : field[0]);
    field.remove_prefix(escape ? kEscape : 1);
  }
  return out;
}

}  // namespace

// number, parent, device, root, place, options, optional fields, "-", type, source, options
std::vector<MountEntry> read_mount_table(const std::string& root) {
  std::vector<MountEntry> out;
  std::ifstream table(root + "/proc/self/mountinfo");
  for (std::string line, skipped; std::getline(table, line);) {
    std::istringstream fields(line);
    MountEntry& entry = out.emplace_back();
    fields >> entry.number >> skipped >> entry.device >> entry.root >> entry.place;
    while (fields >> skipped && skipped != "-") {
    }
    fields >> entry.type >> skipped >> entry.options;
    entry.root = without_escapes(entry.root);
    entry.place = without_escapes(entry.place);
  }
  return out;
}

std::optional<MountEntry> find_mount(const std::string& directory) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(directory.c_str(), nullptr), std::free);
  const std::string place = real ? real.get() : directory;
  const auto all = read_mount_table();
  const auto found = std::ranges::find(all.rbegin(), all.rend(), place, &MountEntry::place);
  return found == all.rend() ? std::nullopt : std::optional(*found);
}

}  // namespace h5mount

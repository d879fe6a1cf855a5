#include "memory_limit.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace h5mount::cli {
namespace {

// A mounted hierarchy of control groups of one version, and the group that is at its root.
struct GroupMount {
  bool unified = false;  // version 2
  std::string group;     // as seen from the root of this process's namespace of groups
  std::string place;
};

// In the fields of mountinfo, spaces and some other characters are written in octal.
std::string without_escapes(std::string_view field) {
  constexpr std::size_t kEscape = 4;  // \040
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

bool lists(const std::string& words, std::string_view word) {
  std::istringstream list(words);
  for (std::string each; std::getline(list, each, ',');)
    if (each == word) return true;
  return false;
}

// number, parent, device, root, place, options, optional fields, "-", type, source, options
std::vector<GroupMount> group_mounts(const std::string& root) {
  std::vector<GroupMount> out;
  std::ifstream table(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string skipped, group, place, type, source, options;
    fields >> skipped >> skipped >> skipped >> group >> place;
    while (fields >> skipped && skipped != "-") {
    }
    fields >> type >> source >> options;
    if (type == "cgroup2" || (type == "cgroup" && lists(options, "memory")))
      out.push_back({type == "cgroup2", without_escapes(group), without_escapes(place)});
  }
  return out;
}

// This process's group in that version: the PATH of a line "0::PATH" or "4:memory:PATH".
std::optional<std::string> own_group(const std::string& root, bool unified) {
  std::ifstream table(root + "/proc/self/cgroup");
  for (std::string line; std::getline(table, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches = unified ? line.starts_with("0::") : lists(controllers, "memory");
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The group's path below the mounted group. In a container the two may be relative to different roots; the
// group is then taken to be the mounted one.
std::string below_mount(const std::string& group, const std::string& mounted) {
  const std::string prefix = mounted == "/" ? "" : mounted;
  const bool inside =
      group.starts_with(prefix) && (group.size() == prefix.size() || group[prefix.size()] == '/');
  std::string out = inside ? group.substr(prefix.size()) : "";
  if (out.find("..") != std::string::npos) out.clear();
  while (out.ends_with('/')) out.pop_back();
  return out;
}

// The number that is the whole file or, in a file of lines, the one after `name`. Returns nullopt for "max".
std::optional<std::uint64_t> number_in(const std::string& file, std::string_view name = {}) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (name.empty()) return in >> value ? std::optional(value) : std::nullopt;
  for (std::string word; in >> word >> value;)
    if (word == name) return value;
  return std::nullopt;
}

class Least {
 public:
  void take(const std::string& file, const std::optional<std::uint64_t>& bytes) {
    if (bytes && *bytes > 0 && (!least_ || *bytes < least_->bytes)) least_ = MemoryLimit{*bytes, file};
  }
  const std::optional<MemoryLimit>& found() const { return least_; }

 private:
  std::optional<MemoryLimit> least_;
};

void take_limits(const std::string& directory, bool unified, Least& least) {
  if (unified) {
    for (const char* name : {"/memory.max", "/memory.high"})
      least.take(directory + name, number_in(directory + name));
    return;
  }
  const std::string limit = directory + "/memory.limit_in_bytes", all = directory + "/memory.stat";
  least.take(limit, number_in(limit));
  // This limit includes the groups that a container does not see.
  least.take(all, number_in(all, "hierarchical_memory_limit"));
}

}  // namespace

std::optional<MemoryLimit> memory_limit(const std::string& root) {
  Least least;
  for (const GroupMount& mount : group_mounts(root)) {
    const auto group = own_group(root, mount.unified);
    if (!group) continue;
    std::string below = below_mount(*group, mount.group);
    while (true) {
      take_limits(root + mount.place + below, mount.unified, least);
      if (below.empty()) break;
      below.resize(below.rfind('/'));
    }
  }
  return least.found();
}

}  // namespace h5mount::cli

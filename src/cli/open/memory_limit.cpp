#include "memory_limit.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "h5mount/base/mount_table.h"

namespace h5mount::cli {
namespace {

bool lists(const std::string& words, std::string_view word) {
  std::istringstream list(words);
  for (std::string each; std::getline(list, each, ',');)
    if (each == word) return true;
  return false;
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
  for (const MountEntry& mount : read_mount_table(root)) {
    const bool unified = mount.type == "cgroup2";
    if (!unified && (mount.type != "cgroup" || !lists(mount.options, "memory"))) continue;
    const auto group = own_group(root, unified);
    if (!group) continue;
    // Where the hierarchy is mounted, its root is a group, as seen from this process's namespace of groups.
    std::string below = below_mount(*group, mount.root);
    while (true) {
      take_limits(root + mount.place + below, unified, least);
      if (below.empty()) break;
      below.resize(below.rfind('/'));
    }
  }
  return least.found();
}

}  // namespace h5mount::cli

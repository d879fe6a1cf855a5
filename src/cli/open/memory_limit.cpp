#include "memory_limit.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "h5mount/base/mount_table.h"
#include "h5mount/base/text.h"

namespace h5mount::cli {
namespace {

bool lists(std::string_view words, std::string_view word) {
  const auto all = split(words, ',');
  return std::ranges::find(all, word) != all.end();
}

// This process's group in that version: the PATH of a line "0::PATH" or "4:memory:PATH".
std::optional<std::string> own_group(const std::string& root, bool unified) {
  std::ifstream table(root + "/proc/self/cgroup");
  for (std::string line; std::getline(table, line);) {
    const auto [number, rest] = split_at(line, ':');
    const auto [controllers, path] = split_at(rest, ':');
    if (unified ? line.starts_with("0::") : lists(controllers, "memory")) return std::string(path);
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

// The files of a group that state a limit, and the numbers in them.
std::vector<std::pair<std::string, std::optional<std::uint64_t>>> limits_in(const std::string& directory,
                                                                            bool unified) {
  const auto whole = [&](const char* name) {
    return std::pair(directory + name, number_in(directory + name));
  };
  if (unified) return {whole("/memory.max"), whole("/memory.high")};
  const std::string all = directory + "/memory.stat";
  // This limit includes the groups that a container does not see.
  return {whole("/memory.limit_in_bytes"), {all, number_in(all, "hierarchical_memory_limit")}};
}

}  // namespace

std::optional<MemoryLimit> memory_limit(const std::string& root) {
  std::optional<MemoryLimit> least;
  for (const MountEntry& mount : read_mount_table(root)) {
    const bool unified = mount.type == "cgroup2";
    if (!unified && (mount.type != "cgroup" || !lists(mount.options, "memory"))) continue;
    const auto group = own_group(root, unified);
    if (!group) continue;
    // The root of the hierarchy, at its mountpoint, is a group, as seen from this process's namespace of
    // groups.
    std::string below = below_mount(*group, mount.root);
    while (true) {
      for (const auto& [file, bytes] : limits_in(root + mount.place + below, unified))
        if (bytes && *bytes > 0 && (!least || *bytes < least->bytes)) least = MemoryLimit{*bytes, file};
      if (below.empty()) break;
      below.resize(below.rfind('/'));
    }
  }
  return least;
}

}  // namespace h5mount::cli

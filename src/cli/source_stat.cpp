#include "source_stat.h"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

namespace h5mount::cli {
namespace {

constexpr std::uint32_t kReadBits = 0444;

std::optional<struct stat> stat_first(const std::string& path) {
  for (const std::string& name : first_members(path)) {
    struct stat out = {};
    if (::stat(name.c_str(), &out) == 0) return out;
  }
  return std::nullopt;
}

// run-%05d.h5 -> run-00000.h5, without giving the name to printf.
std::optional<std::string> family_member(const std::string& path) {
  const std::size_t percent = path.rfind('%');
  if (percent == std::string::npos) return std::nullopt;
  std::size_t at = percent + 1;
  while (at < path.size() && path[at] >= '0' && path[at] <= '9') ++at;
  if (at >= path.size() || path[at] != 'd' || at - percent > 4) return std::nullopt;
  const std::string digits = path.substr(percent + 1, at - percent - 1);
  const auto width = digits.empty() ? 1 : std::stoul(digits);
  return path.substr(0, percent) + std::string(std::max<std::size_t>(width, 1), '0') + path.substr(at + 1);
}

}  // namespace

std::vector<std::string> first_members(const std::string& path) {
  std::vector<std::string> out{path};
  if (auto member = family_member(path)) out.push_back(std::move(*member));
  for (const char* ending : {"-m.h5", "-s.h5"}) out.push_back(path + ending);
  return out;
}

TreeOptions tree_options(const std::string& path, const MountOptions& options) {
  const auto source = stat_first(path);
  const std::uint32_t read = source ? source->st_mode & kReadBits : kReadBits;
  TreeOptions out;
  out.uid = options.uid.value_or(source ? source->st_uid : ::getuid());
  out.gid = options.gid.value_or(source ? source->st_gid : ::getgid());
  out.file_mode = read & ~options.file_umask;
  out.directory_mode = (read | read >> 2) & ~options.directory_umask;
  out.mtime = source ? source->st_mtim.tv_sec : ::time(nullptr);
  return out;
}

}  // namespace h5mount::cli

#include "member_files.h"

#include <algorithm>

#include "h5mount/metadata/probe.h"

namespace h5mount {
namespace {

// Where the split driver puts raw data; the superblock of a file that says otherwise is believed instead.
constexpr std::uint64_t kSplitRawStart = 0x7FFF'FFFF'FFFF'FFFF;

bool is_multi(const DriverInfo& info) {
  return info.identification == "NCSAmult" && !info.members.empty();
}

std::vector<MultiMember> members_of(const DriverInfo& info) {
  std::vector<MultiMember> members;
  for (const auto& member : info.members) members.push_back({member.start, member.name});
  return members;
}

// The driver information of a first member; a member that cannot say is joined by the driver's defaults.
std::optional<DriverInfo> driver_info_of(const std::shared_ptr<ByteSource>& first) {
  auto probed = probe_driver_info(first);
  return probed ? *std::move(probed) : std::nullopt;
}

Result<std::shared_ptr<ByteSource>> open_pattern(const std::string& pattern, std::shared_ptr<ByteSource> first,
                                                 const OpenMember& open) {
  if (!first) {
    H5_ASSIGN(first, open(family_member_path(pattern, 0)));
  }
  const auto info = driver_info_of(first);
  const std::uint64_t size = info ? info->family_member_size : 0;
  return open_family(pattern, size, std::move(first), open);
}

// `stem` without the suffix of the first member.
Result<std::shared_ptr<ByteSource>> open_stem(const std::string& stem, const std::shared_ptr<ByteSource>& first,
                                              const OpenMember& open) {
  const auto info = driver_info_of(first);
  if (info && is_multi(*info)) return open_multi(stem, members_of(*info), open);
  return open_multi(stem, {{0, "%s-m.h5"}, {kSplitRawStart, "%s-r.h5"}}, open);
}

// `path` opened as `first`: is it the first member of a set?
Result<std::shared_ptr<ByteSource>> joined(const std::string& path, std::shared_ptr<ByteSource> first,
                                           const OpenMember& open) {
  const auto info = driver_info_of(first);
  if (info && is_multi(*info)) {
    const auto main = std::ranges::min_element(info->members, {}, &DriverInfo::Member::start);
    const std::string suffix = main->name.size() > 2 ? main->name.substr(2) : std::string();
    if (!suffix.empty() && path.ends_with(suffix))
      return open_multi(path.substr(0, path.size() - suffix.size()), members_of(*info), open);
  }
  if (info && info->identification == "NCSAfami") {
    for (const std::string& pattern : family_patterns_of(path))
      if (open(family_member_path(pattern, 1))) return open_pattern(pattern, std::move(first), open);
  }
  return first;
}

}  // namespace

Result<std::shared_ptr<ByteSource>> open_named_files(const std::string& path, const OpenMember& open) {
  auto first = open(path);
  if (first) return joined(path, *std::move(first), open);
  if (first.error().code() != ErrorCode::NotFound) return first;
  if (is_family_name(path)) return open_pattern(path, nullptr, open);
  for (const char* suffix : {"-s.h5", "-m.h5"})
    if (auto member = open(path + suffix)) return open_stem(path, *member, open);
  return first;
}

}  // namespace h5mount

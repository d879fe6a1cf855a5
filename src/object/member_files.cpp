#include "member_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "h5mount/base/checked.h"
#include "h5mount/base/log.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/probe.h"

namespace h5mount::object {
namespace {

// Default start address of raw data in the split driver, for files whose superblock has no driver
// information.
constexpr std::uint64_t kSplitRawStart = 0x7FFF'FFFF'FFFF'FFFF;

// The default member names of libhdf5's multi and split drivers.
constexpr std::array<std::string_view, 7> kDriverNames = {"%s-s.h5", "%s-b.h5", "%s-r.h5", "%s-g.h5",
                                                          "%s-l.h5", "%s-o.h5", "%s-m.h5"};

bool is_multi(const format::DriverInfo& info) {
  return info.identification == "NCSAmult" && !info.members.empty();
}

std::vector<io::MultiMember> members_of(const format::DriverInfo& info) {
  std::vector<io::MultiMember> members;
  members.reserve(info.members.size());
  for (const auto& member : info.members) members.push_back({member.start, member.name});
  return members;
}

// The driver information of a first member; nullopt if it cannot be read: the set is then joined by the
// driver's defaults.
std::optional<format::DriverInfo> driver_info_of(const std::shared_ptr<io::ByteSource>& first) {
  auto probed = metadata::probe_driver_info(first);
  return probed ? *std::move(probed) : std::nullopt;
}

// The members of the multi driver's default map: each kind of data has its own, at equal distances. The first
// is known to contain the superblock.
constexpr std::string_view kFirstOfDefault = "-s.h5";
std::vector<io::MultiMember> default_members() {
  constexpr std::uint64_t kApart = (~std::uint64_t{0} - 1) / 6;
  std::vector<io::MultiMember> members;
  for (std::size_t i = 0; i < 6; ++i) members.push_back({i * kApart, std::string(kDriverNames[i])});
  return members;
}

// Whether the first member's superblock has an extension that is not in that member.
bool extension_is_elsewhere(const io::ByteSource& first) {
  const auto place = metadata::locate_superblock(first);
  if (!place) return false;
  const auto superblock = metadata::load_superblock(first, *place);
  return superblock && superblock->extension_address != format::kUndefinedAddress &&
         !range_within(superblock->extension_address, 1, first.size() - *place);
}

// The driver information of the set `stem` whose first member was opened from `first_path`. Superblocks of
// version 2 and later name the driver in their extension, an object header. Where headers have a member of
// their own, only that member says where it is: the default map is tried.
std::optional<format::DriverInfo> driver_info_in_set(const std::string& stem, const std::string& first_path,
                                                     const std::shared_ptr<io::ByteSource>& first,
                                                     const io::OpenMember& open) {
  if (!first_path.ends_with(kFirstOfDefault) || !extension_is_elsewhere(*first)) return driver_info_of(first);
  const auto set = io::open_multi(stem, default_members(), [&](const std::string& path) {
    return path == first_path ? Result<std::shared_ptr<io::ByteSource>>(first) : open(path);
  });
  if (!set) return std::nullopt;
  auto info = driver_info_of(*set);
  return info && is_multi(*info) ? std::move(info) : std::nullopt;
}

// The path and, if it is a symlink, its target.
std::vector<std::string> places_of(const std::string& path) {
  std::vector<std::string> out{path};
  std::error_code code;
  const std::string target = std::filesystem::canonical(path, code).string();
  if (!code && target != path) out.push_back(target);
  return out;
}

// Whether the member is there, and only this reader may not open it now.
bool is_refused(const Error& why) {
  return why.code() == ErrorCode::AccessDenied || why.system_errno() == EBUSY;
}

Error with_cure(const Error& why, const std::string& cure) {
  return {why.code(), why.text() + "; " + cure};
}

// Replaces a member that may not be opened by a source whose reads fail.
io::OpenMember with_unreadable_members(const io::OpenMember& open, const std::string& cure) {
  return [open, cure](const std::string& path) -> Result<std::shared_ptr<io::ByteSource>> {
    auto member = open(path);
    if (member || !is_refused(member.error())) return member;
    const Error why = with_cure(member.error(), cure);
    log(LogLevel::Warning, "{}", why.text());
    return io::make_refused_source(why, ~std::uint64_t{0}, path);
  };
}

Result<std::shared_ptr<io::ByteSource>> open_pattern(const std::string& pattern,
                                                     std::shared_ptr<io::ByteSource> first,
                                                     const io::OpenMember& open) {
  const auto info = driver_info_of(first);
  const std::uint64_t size = info ? info->family_member_size : 0;
  return io::open_family(pattern, size, std::move(first), open);
}

// `stem` is without the suffix of the first member. The driver's default member names count as given by the
// user.
Result<std::shared_ptr<io::ByteSource>> open_stem(const std::string& stem, const std::string& first_path,
                                                  const std::shared_ptr<io::ByteSource>& first,
                                                  const MemberOpeners& open) {
  const auto info = driver_info_in_set(stem, first_path, first, open.typed);
  if (!info || !is_multi(*info))
    return io::open_multi(stem, {{0, "%s-m.h5"}, {kSplitRawStart, "%s-r.h5"}}, open.typed);
  const io::OpenMember confined = with_unreadable_members(open.found, "its name stands in " + first_path);
  return io::open_multi(stem, members_of(*info), [&](const std::string& path) {
    const bool usual = std::ranges::find(kDriverNames, "%s" + path.substr(stem.size())) != kDriverNames.end();
    return path == first_path || usual ? open.typed(path) : confined(path);
  });
}

// Opens a multi or split file that was named by its first member.
Result<std::shared_ptr<io::ByteSource>> join_multi(const std::string& path, const std::string& suffix,
                                                   const format::DriverInfo& info,
                                                   std::shared_ptr<io::ByteSource> first,
                                                   const io::OpenMember& open) {
  std::vector<std::string> stems;
  for (const std::string& place : places_of(path))
    if (place.ends_with(suffix)) stems.push_back(place.substr(0, place.size() - suffix.size()));
  const std::string& stem = stems.front();
  const io::OpenMember beside = [&](const std::string& member) {
    auto opened = open(member);
    if (!opened && stems.size() > 1)
      if (auto other = open(stems[1] + member.substr(stem.size()))) return other;
    return opened;
  };
  const io::OpenMember rest =
      with_unreadable_members(beside, "name the set without " + suffix + ", or mount with external=beneath");
  const io::OpenMember open_all = [&](const std::string& member) -> Result<std::shared_ptr<io::ByteSource>> {
    return member == path ? first : rest(member);
  };
  return io::open_multi(stem, members_of(info), open_all);
}

// The end of the set's address space, from its superblock.
std::uint64_t end_of(const io::ByteSource& first) {
  const auto place = metadata::locate_superblock(first);
  const auto superblock =
      place ? metadata::load_superblock(first, *place) : Result<format::Superblock>(fail(place.error()));
  return superblock ? checked_add(*place, superblock->end_from_base()).value_or(~std::uint64_t{0})
                    : first.size();
}

std::string cure_of(const std::string& pattern) {
  return "name the family by its pattern, " + pattern + ", or mount with external=beneath";
}

// Opens a family of which only the first member was named, by the first pattern for which a second member
// exists.
Result<std::shared_ptr<io::ByteSource>> join_family(const std::string& path,
                                                    std::shared_ptr<io::ByteSource> first,
                                                    std::uint64_t member_size, const io::OpenMember& open) {
  std::optional<Error> refused;
  std::string refused_pattern;
  for (const std::string& place : places_of(path))
    for (const std::string& pattern : io::family_patterns_of(place)) {
      const auto second = open(io::family_member_path(pattern, 1));
      if (second)
        return open_pattern(pattern, std::move(first), with_unreadable_members(open, cure_of(pattern)));
      if (!is_refused(second.error()) || refused) continue;
      refused = second.error();
      refused_pattern = pattern;
    }
  const std::uint64_t length = member_size != 0 ? member_size : first->size(), end = end_of(*first);
  if (!refused || end <= length) return first;
  const Error why = with_cure(*refused, cure_of(refused_pattern));
  log(LogLevel::Warning, "{}", why.text());
  auto rest = io::make_refused_source(why, end - length, io::family_member_path(refused_pattern, 1));
  return io::make_extent_source({{0, length, std::move(first)}, {length, end - length, std::move(rest)}},
                                path);
}

// If `first`, opened from `path`, is the first member of a set, joins the set; else returns `first`.
Result<std::shared_ptr<io::ByteSource>> joined(const std::string& path, std::shared_ptr<io::ByteSource> first,
                                               const io::OpenMember& open) {
  const std::string stem = path.substr(0, path.size() - std::min(path.size(), kFirstOfDefault.size()));
  const auto info = driver_info_in_set(stem, path, first, open);
  if (info && is_multi(*info)) {
    const auto main = std::ranges::min_element(info->members, {}, &format::DriverInfo::Member::start);
    const std::string suffix = main->name.size() > 2 ? main->name.substr(2) : std::string();
    if (!suffix.empty() && path.ends_with(suffix))
      return join_multi(path, suffix, *info, std::move(first), open);
  }
  if (info && info->identification == "NCSAfami")
    return join_family(path, std::move(first), info->family_member_size, open);
  return first;
}

}  // namespace

Result<std::shared_ptr<io::ByteSource>> open_named_files(const std::string& path, const MemberOpeners& open) {
  auto first = open.typed(path);
  if (first && !open.completes_sets) return first;
  if (first) return joined(path, *std::move(first), open.found);
  if (first.error().code() != ErrorCode::NotFound) return first;
  for (const std::string& name : io::first_member_candidates(path)) {
    auto member = name == path ? Result<std::shared_ptr<io::ByteSource>>(first) : open.typed(name);
    if (!member && member.error().code() == ErrorCode::NotFound) continue;
    if (!member) return member;
    if (io::is_family_name(path) && name == io::family_member_path(path, 0))
      return open_pattern(path, *std::move(member), open.typed);
    return open_stem(path, name, *member, open);
  }
  return first;
}

}  // namespace h5mount::object

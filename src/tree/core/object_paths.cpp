#include "object_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/advice.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"

namespace h5mount::tree {

namespace {

struct HardLink {
  std::string name;
  std::uint64_t address;
};

constexpr std::uint64_t kFreeBytes = 64U << 20;
constexpr std::uint64_t kBytesPerFileByte = 16;  // links in compressed heaps take fewer

std::uint64_t header_bytes(const object::Object& object) {
  std::uint64_t bytes = 0;
  for (const metadata::HeaderMessage& message : object.header->messages)
    bytes += sizeof message + message.body.size();
  return bytes;
}

template <class Budget>
std::vector<HardLink> sorted_hard_links(const metadata::FileMetadataPtr& file, const object::Object& object,
                                        Budget& budget) {
  std::vector<HardLink> links;
  const auto group = object::Group::open(file, object);
  if (!group) return links;
  const Status listed = (*group)->for_each(
      [&](const format::Link& link) {
        if (link.is(format::LinkType::Hard)) links.push_back({link.name, link.address});
        budget.take(link.name.size() + sizeof link);
        if (budget.links > 0) --budget.links;
        return !budget.spent();
      },
      nullptr);
  if (!listed)
    log_once(LogLevel::Warning, fmt::format("{}: walk over hard links: {}", file->source()->name(),
                                            text_with_advice(listed.error())));
  std::ranges::sort(links, {}, &HardLink::name);
  return links;
}

}  // namespace

std::shared_ptr<const ObjectPaths> ObjectPaths::walk(const metadata::FileMetadataPtr& file,
                                                     std::size_t most) {
  const auto places = std::make_shared<ObjectPaths>();
  places->most_ = most;
  places->left_ = {16 * limits::kMaxWalkedObjects,
                   kFreeBytes + kBytesPerFileByte * file->source()->stored_bytes()};
  places->entries_.push_back({.address = file->root_address()});
  places->index_.emplace(file->root_address(), 0);
  std::vector<std::uint32_t> groups{0};
  Ahead ahead{object::WalkAhead(file, ahead::Wanted::Links)};
  ahead.budget.allow_for(file->source()->size());
  const std::uint64_t root = file->root_address();
  ahead.walk.will_visit({&root, 1}, ahead.budget);
  for (std::size_t next = 0; next < groups.size(); ++next) {
    const std::uint32_t parent = groups[next];
    const auto group = object::open_object(*file, places->entries_[parent].address);
    if (group) places->add_children(file, *group, parent, groups, ahead);
  }
  places->names_.shrink_to_fit();
  places->entries_.shrink_to_fit();
  return places;
}

void ObjectPaths::add_children(const metadata::FileMetadataPtr& file, const object::Object& group,
                               std::uint32_t parent, std::vector<std::uint32_t>& groups, Ahead& ahead) {
  const std::vector<HardLink> links = sorted_hard_links(file, group, left_);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const HardLink& link = links[i];
    if (ahead.walk.is_of_use() && i % object::WalkAhead::kPage == 0) {
      std::vector<std::uint64_t> page;
      for (std::size_t next = i; next < std::min(i + object::WalkAhead::kPage, links.size()); ++next)
        page.push_back(links[next].address);
      ahead.walk.will_visit(page, ahead.budget);
    }
    if (entries_.size() >= most_ || left_.spent()) return;
    const auto index = static_cast<std::uint32_t>(entries_.size());
    if (!index_.emplace(link.address, index).second) continue;
    entries_.push_back({.address = link.address,
                        .name_offset = names_.size(),
                        .name_length = static_cast<std::uint32_t>(link.name.size()),
                        .parent = parent});
    names_ += link.name;
    const auto object = object::open_object(*file, link.address);
    if (object) left_.take(header_bytes(*object));
    if (object && object->kind == object::ObjectKind::Group) groups.push_back(index);
  }
}

std::optional<std::uint32_t> ObjectPaths::index_of(std::uint64_t address) const {
  const auto found = index_.find(address);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

bool ObjectPaths::is_canonical(std::uint64_t address, std::uint64_t parent, std::string_view name) const {
  const auto index = index_of(address);
  if (!index || *index == 0) return false;
  const Entry& entry = entries_[*index];
  return entries_[entry.parent].address == parent && name_of(entry) == name;
}

std::optional<std::vector<std::string_view>> ObjectPaths::names_to(std::uint64_t address) const {
  auto index = index_of(address);
  if (!index) return std::nullopt;
  std::vector<std::string_view> names;
  for (std::uint32_t at = *index; at != 0; at = entries_[at].parent) names.push_back(name_of(entries_[at]));
  std::ranges::reverse(names);
  return names;
}

std::optional<std::string> ObjectPaths::path_to(std::uint64_t address) const {
  const auto names = names_to(address);
  if (!names) return std::nullopt;
  std::string path;
  for (const std::string_view name : *names) path.append("/").append(name);
  return path.empty() ? "/" : path;
}

}  // namespace h5mount::tree

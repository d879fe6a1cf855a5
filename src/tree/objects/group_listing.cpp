#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_set>

#include "../core/node.h"
#include "group_contents.h"
#include "h5mount/ahead/prefetch.h"
#include "h5mount/tree/names.h"
#include "listings_ahead.h"

namespace h5mount::tree {

namespace {

// So many headers, each in a block of its own, fit into what is cached of a far file.
constexpr std::size_t kPageEntries = 1024;

// A damaged group may contain a name twice. A directory cannot, and a lookup finds only one of the two.
void drop_doubles(FoundLinks& found, bool sorted_by_name) {
  const auto name = [&](const FoundLinks::Found& link) { return found.name_of(link); };
  if (sorted_by_name) {
    const auto doubles = std::ranges::unique(found.links, {}, name);
    found.links.erase(doubles.begin(), doubles.end());
    return;
  }
  std::unordered_set<std::string_view> seen;
  seen.reserve(found.links.size());
  std::erase_if(found.links, [&](const FoundLinks::Found& link) { return !seen.insert(name(link)).second; });
}

void sort_links(FoundLinks& found, bool by_creation_order) {
  using Found = FoundLinks::Found;
  const auto name = [&](const Found& link) { return found.name_of(link); };
  if (by_creation_order)
    std::ranges::sort(found.links, [&](const Found& a, const Found& b) {
      return a.creation_order != b.creation_order ? a.creation_order < b.creation_order : name(a) < name(b);
    });
  else if (!std::ranges::is_sorted(found.links, {}, name))
    std::ranges::sort(found.links, {}, name);
}

}  // namespace

void FoundLinks::add(const format::Link& link) {
  links.push_back({.name = names.size(),
                   .name_bytes = static_cast<std::uint32_t>(link.name.size()),
                   .type = link.type,
                   .address = link.address,
                   .creation_order = link.creation_order.value_or(0)});
  tracked = tracked && link.creation_order.has_value();
  names += link.name;
}

GroupListing::GroupListing(ServedFilePtr file, FoundLinks found, bool by_creation_order,
                           std::optional<Error> damage)
    : file_(std::move(file)), damage_(std::move(damage)) {
  sort_links(found, by_creation_order);
  drop_doubles(found, !by_creation_order);
  if (!by_creation_order && found.tracked && found.links.size() <= UINT32_MAX) {
    created_.resize(found.links.size());
    std::iota(created_.begin(), created_.end(), 0U);
    std::ranges::stable_sort(created_, {}, [&](std::uint32_t i) { return found.links[i].creation_order; });
  }
  text_ = std::move(found.names);
  UniqueNames unique;
  items_.reserve(found.links.size());
  for (const FoundLinks::Found& link : found.links) {
    Stored& item = items_.emplace_back(Stored{.name = link.name,
                                              .shown = link.name,
                                              .name_bytes = link.name_bytes,
                                              .shown_bytes = link.name_bytes,
                                              .address = link.address,
                                              .type = link.type});
    if (is_plain_name(name_of(item))) continue;
    const std::string shown = unique.add(name_of(item), encode_name(name_of(item)));
    item.shown = text_.size();
    item.shown_bytes = static_cast<std::uint32_t>(shown.size());
    text_ += shown;
  }
}

std::string_view GroupListing::name(std::size_t position) const {
  const Stored& item = items_[position];
  return std::string_view(text_).substr(item.shown, item.shown_bytes);
}

// Asks a far file for what a listing is about to read, all together, and a page ahead, as listings are read
// in order.
void GroupListing::ask_for_page(std::size_t position) const {
  if (position % kPageEntries != 0 || !file_->metadata()->far()) return;
  const auto what = file_->kept<ListingsAhead>().measures() ? ahead::Wanted::Listed : ahead::Wanted::Header;
  std::vector<std::uint64_t> objects;
  for (std::size_t i = position; i < std::min(position + kPageEntries, items_.size()); ++i)
    if (items_[i].type == static_cast<std::uint8_t>(format::LinkType::Hard))
      objects.push_back(items_[i].address);
  RequestBudget budget;
  ahead::prefetch(*file_->metadata(), objects, what, budget);
}

DirectoryListing::Item GroupListing::at(std::size_t position, std::string&) const {
  ask_for_page(position);
  const Stored& item = items_[position];
  const bool hard = item.type == static_cast<std::uint8_t>(format::LinkType::Hard);
  return {.name = name(position),
          .type = hard ? NodeType::File : NodeType::Symlink,
          .ino = hard ? file_->ino_of(item.address) : 0,
          .type_known = !hard};
}

// A group is shown either as a directory or as a symlink to its own path. Only a lookup tells which, and a
// client that walks the tree makes one anyway.
DirectoryListing::Item GroupListing::typed_at(std::size_t position, std::string& made) const {
  Item item = at(position, made);
  if (item.type_known) return item;
  const auto kind = object::peek_object_kind(*file_->metadata(), items_[position].address);
  item.type_known = kind && *kind != object::ObjectKind::Group;
  return item;
}

format::Link GroupListing::link(std::size_t position) const {
  const Stored& item = items_[position];
  format::Link link;
  link.name = name_of(item);
  link.type = item.type;
  link.address = item.address;
  return link;
}

CutNames GroupListing::cut_names() const {
  CutNames names;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::string_view shown = name(i);
    if (may_be_cut(shown)) names.emplace(shown, link(i).name);
  }
  return names;
}

}  // namespace h5mount::tree

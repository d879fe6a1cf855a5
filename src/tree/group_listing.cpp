#include <algorithm>
#include <unordered_set>

#include "group_contents.h"
#include "h5mount/tree/names.h"
#include "node.h"

namespace h5mount::tree {

namespace {

// A damaged group may contain a name twice; a directory cannot, and a lookup finds one of them.
void drop_doubles(std::vector<format::Link>& links, bool sorted_by_name) {
  if (sorted_by_name) {
    const auto doubles = std::ranges::unique(links, {}, &format::Link::name);
    links.erase(doubles.begin(), doubles.end());
    return;
  }
  std::unordered_set<std::string_view> names;
  names.reserve(links.size());
  std::vector<bool> kept(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) kept[i] = names.insert(links[i].name).second;
  if (names.size() == links.size()) return;
  std::size_t i = 0;
  std::erase_if(links, [&](const format::Link&) { return !kept[i++]; });
}

void sort_links(std::vector<format::Link>& links, bool by_creation_order) {
  if (by_creation_order)
    std::ranges::sort(links, [](const format::Link& a, const format::Link& b) {
      const std::int64_t x = a.creation_order.value_or(0), y = b.creation_order.value_or(0);
      return x != y ? x < y : a.name < b.name;
    });
  else if (!std::ranges::is_sorted(links, {}, &format::Link::name))
    std::ranges::sort(links, {}, &format::Link::name);
}

}  // namespace

GroupListing::GroupListing(ServedFilePtr file, std::vector<format::Link> links, bool by_creation_order,
                           std::optional<Error> damage)
    : file_(std::move(file)), damage_(std::move(damage)) {
  sort_links(links, by_creation_order);
  drop_doubles(links, !by_creation_order);
  UniqueNames unique;
  items_.reserve(links.size());
  for (const format::Link& link : links) {
    const std::string shown = unique.add(link.name, encode_name(link.name));
    const bool renamed = shown != link.name;
    const bool hard = link.is(format::LinkType::Hard);
    items_.push_back({.offset = text_.size(),
                      .shown_bytes = static_cast<std::uint32_t>(shown.size()),
                      .name_bytes = renamed ? static_cast<std::uint32_t>(link.name.size()) : 0,
                      .address = link.address,
                      .ino = hard ? file_->ino_of(link.address) : 0,
                      .type = link.type,
                      .renamed = renamed});
    text_ += shown;
    if (renamed) text_ += link.name;
  }
}

std::string_view GroupListing::name(std::size_t position) const {
  return std::string_view(text_).substr(items_[position].offset, items_[position].shown_bytes);
}

DirectoryListing::Item GroupListing::at(std::size_t position, std::string&) const {
  const Stored& item = items_[position];
  const bool hard = item.type == static_cast<std::uint8_t>(format::LinkType::Hard);
  return {.name = name(position),
          .type = hard ? NodeType::File : NodeType::Symlink,
          .ino = item.ino,
          .type_known = !hard};
}

// A group is a directory here or a symlink to its own path. Only a lookup determines which, and a client that
// walks the tree makes one anyway.
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
  link.name = item.renamed ? text_.substr(item.offset + item.shown_bytes, item.name_bytes)
                           : text_.substr(item.offset, item.shown_bytes);
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

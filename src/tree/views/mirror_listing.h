// MirrorListing: the entries of a group of a mirror in order, each with its shown name. Threads: as for
// listings.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "h5mount/object/list_damage.h"
#include "h5mount/tree/names.h"
#include "mirror.h"

namespace h5mount::tree {

class MirrorListing : public DirectoryListing {
 public:
  MirrorListing(const ServedFile& file, std::shared_ptr<const GroupListing> links)
      : links_(std::move(links)),
        most_bytes_(kFreeBytes + kPerFileByte * file.followed().source()->stored_bytes()) {}

  // `link`: position among the links; kOwn for an entry of the group itself.
  static constexpr std::uint32_t kOwn = std::numeric_limits<std::uint32_t>::max();
  Status add(const Mirror& mirror, const MirrorEntry& entry, std::uint32_t link, NodeType type) {
    std::string encoded = mirror.encode(entry);
    const std::string_view suffix = entry.part.empty() ? std::string_view() : mirror.suffix();
    const bool meets = !suffix.empty() && kept_.contains(encoded);
    const bool looks_like_file =
        entry.part.empty() && !mirror.suffix().empty() && encoded.ends_with(mirror.suffix());
    const bool odd = meets || looks_like_file || may_be_cut(without_suffix(encoded, suffix));
    std::string shown = std::move(encoded);
    if (odd) {
      const std::size_t bound = kMaxShownName - suffix.size();
      std::string stem(without_suffix(shown, suffix));
      if (meets) stem = cut_name(entry.link.value_or(""), stem, bound, 0);
      shown = (suffix.empty() ? directories_ : files_).add(stem, stem, bound).append(suffix);
    }
    if (text_.size() + shown.size() > most_bytes_)
      return fail(Error(ErrorCode::TooLarge, "more entries than a file of this size can sensibly have"));
    const bool other = !odd && mirror.decode(shown) != entry;
    if (other && !others_.insert(shown).second) return {};
    if (odd || other) parts_.emplace(items_.size(), entry.part);
    items_.push_back({text_.size(), static_cast<std::uint32_t>(shown.size()), link, type});
    text_ += shown;
    return {};
  }

  std::size_t size() const override { return items_.size(); }
  std::string_view name(std::size_t position) const {
    return std::string_view(text_).substr(items_[position].offset, items_[position].bytes);
  }
  Item at(std::size_t position, std::string&) const override {
    return {.name = name(position), .type = items_[position].type};
  }

  // Reserves a directory's name, which no file may have.
  void keep(std::string name) { kept_.insert(std::move(name)); }

  // Records why entries may be missing.
  void note(const Error& error) { damage_.note(error); }
  void close() { missing_ = damage_.error("entries"); }
  const Error* damage() const override { return missing_ ? &*missing_ : links_->damage(); }

  std::uint32_t link_position(std::size_t position) const { return items_[position].link; }
  const GroupListing& links() const { return *links_; }

  // The entry of the name at a position; nullopt if the name is not one of the mirror's.
  std::optional<MirrorEntry> entry(const Mirror& mirror, std::size_t position) const {
    const auto odd = parts_.find(position);
    if (odd == parts_.end()) return mirror.decode(name(position));
    const std::uint32_t link = link_position(position);
    MirrorEntry entry{.link = {}, .part = odd->second};
    if (link != kOwn) entry.link = links_->link(link).name;
    return entry;
  }

 private:
  struct Stored {
    std::size_t offset;  // of the name in text_
    std::uint32_t bytes;
    std::uint32_t link;
    NodeType type;
  };
  // Every part takes some bytes of the file and is shown with the name of a link. In a hostile file links
  // share objects, and objects share their parts, so the total is bounded.
  static constexpr std::uint64_t kFreeBytes = 64U << 20;
  static constexpr std::uint64_t kPerFileByte = 16;

  std::shared_ptr<const GroupListing> links_;
  std::uint64_t most_bytes_;
  std::vector<Stored> items_;
  std::string text_;
  std::unordered_map<std::size_t, std::string> parts_;  // of names that do not determine their part
  UniqueNames directories_, files_;
  std::unordered_set<std::string> kept_;    // names of directories that end in the suffix
  std::unordered_set<std::string> others_;  // names that determine neither link nor part: the first has it
  object::ListDamage damage_;
  std::optional<Error> missing_;
};

}  // namespace h5mount::tree

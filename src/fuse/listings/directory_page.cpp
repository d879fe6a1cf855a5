#include "directory_page.h"

#include <algorithm>

namespace h5mount::fuse {
namespace {

constexpr std::size_t kMaxReplyBytes = 1U << 20;
constexpr ino_t kUnknownIno = 0xFFFFFFFF;  // zero would hide the entry

}  // namespace

DirectoryPage::DirectoryPage(Adapter& adapter, tree::NodeId directory, const PageRequest& request,
                             const tree::DirectoryListing& listing, std::uint64_t listing_number,
                             RequestBudget& budget)
    : adapter_(adapter),
      directory_(directory),
      request_(request),
      listing_number_(listing_number),
      end_(request.position) {
  buffer_.resize(std::min(request.size, kMaxReplyBytes));
  while (end_ < listing.size() + kDots && add(listing, end_, budget)) ++end_;
  unchanged_ = read_.confirm_unchanged();
}

DirectoryPage::~DirectoryPage() {
  for (const tree::NodeId node : looked_up_) adapter_.tree->forget(node, 1);
}

Status DirectoryPage::send(Reply& reply) {
  H5_TRY(unchanged_);
  if (reply.with([&](fuse_req_t r) { return fuse_reply_buf(r, buffer_.data(), used_); }) == 0)
    looked_up_.clear();
  return {};
}

// Returns false if the entry does not fit, which is determined before the lookup, as that may read an object
// header.
bool DirectoryPage::add(const tree::DirectoryListing& listing, std::size_t position, RequestBudget& budget) {
  fuse_entry_param entry = {};
  entry.attr.st_ino = kUnknownIno;
  entry.attr.st_mode = S_IFDIR;
  if (position < kDots) {
    name_.assign(position + 1, '.');
  } else {
    const std::size_t at = position - kDots;
    const auto item =
        brings_attributes(position) ? listing.at(at, computed_name_) : listing.typed_at(at, computed_name_);
    name_.assign(item.name);
    entry.attr.st_mode = item.type_known ? type_bits(item.type) : 0;
    if (item.ino != 0) entry.attr.st_ino = item.ino;
  }
  const std::size_t space_left = buffer_.size() - used_;
  if (needed() > space_left) return false;
  if (position >= kDots) {
    if (brings_attributes(position))
      look_up(listing, position - kDots, entry, budget);
    else
      ++without_;
  }
  char* const at = buffer_.data() + used_;
  const off_t next = ListingOffset{position + 1, listing_number_}.packed();
  used_ += request_.plus ? fuse_add_direntry_plus(nullptr, at, space_left, name_.c_str(), &entry, next)
                         : fuse_add_direntry(nullptr, at, space_left, name_.c_str(), &entry.attr, next);
  return true;
}

// Without attributes an entry is passed without a node, and the kernel takes only its name and type.
bool DirectoryPage::brings_attributes(std::size_t position) const {
  if (request_.attributes == EntryAttributes::Most) return !ListingAdvice::held_out(position);
  return request_.attributes == EntryAttributes::All;
}

std::size_t DirectoryPage::needed() const {
  return request_.plus ? fuse_add_direntry_plus(nullptr, nullptr, 0, name_.c_str(), nullptr, 0)
                       : fuse_add_direntry(nullptr, nullptr, 0, name_.c_str(), nullptr, 0);
}

// An entry that cannot be looked up is still listed, without attributes: damage stays local.
void DirectoryPage::look_up(const tree::DirectoryListing& listing, std::size_t index, fuse_entry_param& entry,
                            RequestBudget& budget) {
  const auto found = adapter_.tree->lookup_listed(directory_, listing, index, read_, budget);
  if (!found && is_passing(found.error())) return;  // a lookup of its own will tell
  if (!found) {
    report_failure(*adapter_.tree, directory_, found.error().within("entry " + name_));
    return;
  }
  looked_up_.push_back(found->node);
  entry = adapter_.to_entry(*found);
}

}  // namespace h5mount::fuse

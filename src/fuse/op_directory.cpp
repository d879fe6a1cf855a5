// Positions in a directory: 0 is `.`, 1 is `..`, n + 2 is entry n of the listing. The offset that goes with
// an entry is the position after it.
#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "adapter.h"
#include "guard.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kDots = 2;
constexpr std::size_t kMostReplyBytes = 1U << 20;
constexpr ino_t kUnknownIno = 0xFFFFFFFF;  // zero would hide the entry

// What one request asks for.
struct Asked {
  std::size_t position, size;
  bool plus;
  bool operator==(const Asked&) const = default;
};

::mode_t type_bits(tree::NodeType type) {
  return type == tree::NodeType::Directory ? S_IFDIR : type == tree::NodeType::Symlink ? S_IFLNK : S_IFREG;
}

// Fills one reply. With `plus` every entry is looked up, and what was given to the kernel is remembered until
// it has been accepted.
class Page {
 public:
  Page(Adapter& adapter, tree::NodeId directory, const Asked& asked, const tree::DirectoryListing& listing)
      : adapter_(adapter), directory_(directory), asked_(asked), plus_(asked.plus), end_(asked.position) {
    buffer_.resize(std::min(asked.size, kMostReplyBytes));
    while (end_ < listing.size() + kDots && add(listing, end_)) ++end_;
  }
  ~Page() {
    for (const tree::NodeId node : looked_up_) adapter_.tree->forget(node, 1);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  const Asked& asked() const { return asked_; }
  std::size_t end() const { return end_; }  // the position after the last entry

  void send(Reply& reply) {
    if (fuse_reply_buf(reply.take(), buffer_.data(), used_) == 0) looked_up_.clear();
  }

 private:
  // False where it does not fit: asked before the lookup, which may read an object header.
  bool add(const tree::DirectoryListing& listing, std::size_t position) {
    fuse_entry_param entry = {};
    entry.attr.st_ino = kUnknownIno;
    entry.attr.st_mode = S_IFDIR;
    if (position < kDots) {
      name_.assign(position + 1, '.');
    } else {
      const std::size_t at = position - kDots;
      const auto item = plus_ ? listing.at(at, made_) : listing.typed_at(at, made_);
      name_.assign(item.name);
      entry.attr.st_mode = item.type_known ? type_bits(item.type) : 0;
      if (item.ino != 0) entry.attr.st_ino = item.ino;
    }
    const std::size_t room = buffer_.size() - used_;
    if (needed() > room) return false;
    if (plus_ && position >= kDots) look_up(listing, position - kDots, entry);
    char* const at = buffer_.data() + used_;
    const auto next = static_cast<off_t>(position + 1);
    used_ += plus_ ? fuse_add_direntry_plus(nullptr, at, room, name_.c_str(), &entry, next)
                   : fuse_add_direntry(nullptr, at, room, name_.c_str(), &entry.attr, next);
    return true;
  }

  std::size_t needed() const {
    return plus_ ? fuse_add_direntry_plus(nullptr, nullptr, 0, name_.c_str(), nullptr, 0)
                 : fuse_add_direntry(nullptr, nullptr, 0, name_.c_str(), nullptr, 0);
  }

  // An entry that cannot be looked up is listed all the same, without attributes: damage stays local.
  void look_up(const tree::DirectoryListing& listing, std::size_t index, fuse_entry_param& entry) {
    const auto found = adapter_.tree->lookup_listed(directory_, listing, index);
    if (!found) {
      report_failure(*adapter_.tree, directory_, found.error().within("entry " + name_));
      return;
    }
    looked_up_.push_back(found->node);
    entry = adapter_.to_entry(*found);
  }

  Adapter& adapter_;
  tree::NodeId directory_;
  Asked asked_;
  bool plus_;
  std::size_t end_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::string name_;
  std::string made_;  // by the listing
  std::vector<tree::NodeId> looked_up_;
};

// An open directory. The listing is made when it is first asked for: a directory that the kernel has cached
// is opened but not read.
struct DirectoryHandle {
  std::shared_ptr<void> pin;  // of the tree
  std::mutex mutex;           // held throughout a request: one open directory is read by one at a time anyway
  std::shared_ptr<const tree::DirectoryListing> listing;
  std::optional<Asked> expected;  // what goes on from the last request
  std::unique_ptr<Page> ahead;    // made for it already
};
using DirectoryHandlePtr = std::shared_ptr<DirectoryHandle>;

DirectoryHandlePtr& handle_of(const fuse_file_info& info) {
  return *reinterpret_cast<DirectoryHandlePtr*>(info.fh);
}

// Who goes on reading finds the next page made: it was filled while the one before was being looked at. Not
// where the file is followed: it may lie for long, and sizes in it would be older than some that were told
// since.
void read_directory(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info,
                    bool plus) {
  guard(request, plus ? "readdirplus" : "readdir", node, [&](Reply& reply) -> Status {
    Adapter& adapter = adapter_of(request);
    const DirectoryHandlePtr handle = handle_of(*info);  // may be closed as soon as the reply is there
    const std::lock_guard lock(handle->mutex);
    if (!handle->listing) {
      H5_ASSIGN(handle->listing, adapter.tree->open_directory(node));
    }
    const Asked asked{offset < 0 ? 0 : static_cast<std::size_t>(offset), size, plus};
    // After the last entry, in place of the end: the kernel takes a listing as complete, and keeps it, only
    // once a reply was empty.
    if (const Error* damage = handle->listing->damage();
        damage != nullptr && asked.position >= handle->listing->size() + kDots)
      return fail(*damage);
    const bool goes_on = handle->expected == asked;
    std::unique_ptr<Page> page = std::exchange(handle->ahead, nullptr);
    const bool lasting = !adapter.tree->follows();
    if (!page || page->asked() != asked || !lasting)
      page = std::make_unique<Page>(adapter, node, asked, *handle->listing);
    page->send(reply);
    handle->expected = Asked{page->end(), size, plus};
    if (goes_on && lasting && page->end() < handle->listing->size() + kDots)
      handle->ahead = std::make_unique<Page>(adapter, node, *handle->expected, *handle->listing);
    return {};
  });
}

}  // namespace

void op_opendir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "opendir", node, [&](Reply& reply) -> Status {
    auto handle = std::make_unique<DirectoryHandlePtr>(std::make_shared<DirectoryHandle>());
    (*handle)->pin = adapter_of(request).tree->pin();
    info->fh = reinterpret_cast<std::uint64_t>(handle.get());
    tree::Tree& tree = *adapter_of(request).tree;
    const bool lasting = !tree.follows() && tree.listing_lasts(node);
    info->cache_readdir = lasting;
    info->keep_cache = lasting;
    DirectoryHandlePtr* const given = handle.release();
    if (fuse_reply_open(reply.take(), info) != 0) delete given;
    return {};
  });
}

void op_readdir(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info) {
  read_directory(request, node, size, offset, info, false);
}

void op_readdirplus(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                    fuse_file_info* info) {
  read_directory(request, node, size, offset, info, true);
}

void op_releasedir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "releasedir", node, [&](Reply& reply) -> Status {
    delete &handle_of(*info);
    reply.error(0);
    return {};
  });
}

}  // namespace h5mount::fuse

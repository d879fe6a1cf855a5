// Positions in a directory: 0 is `.`, 1 is `..`, n + 2 is entry n of the listing. The offset of an entry in a
// reply is the position after it.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "adapter.h"
#include "guard.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/names.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kDots = 2;
constexpr std::size_t kMostReplyBytes = 1U << 20;
constexpr ino_t kUnknownIno = 0xFFFFFFFF;  // zero would hide the entry

// The range of a listing that one request reads.
struct PageRequest {
  std::size_t position, size;
  bool plus;  // with room for attributes
  EntryAttributes attributes = EntryAttributes::None;
  bool operator==(const PageRequest&) const = default;
};

// Fills one reply. Entries with attributes are looked up; until the kernel has accepted the reply, the
// destructor drops these references.
class Page {
 public:
  Page(Adapter& adapter, tree::NodeId directory, const PageRequest& request,
       const tree::DirectoryListing& listing, RequestBudget& budget)
      : adapter_(adapter),
        directory_(directory),
        request_(request),
        plus_(request.plus),
        end_(request.position) {
    buffer_.resize(std::min(request.size, kMostReplyBytes));
    while (end_ < listing.size() + kDots && add(listing, end_, budget)) ++end_;
    unchanged_ = read_.confirm_unchanged();
  }
  ~Page() {
    for (const tree::NodeId node : looked_up_) adapter_.tree->forget(node, 1);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  const PageRequest& request() const { return request_; }
  std::size_t without() const { return without_; }  // entries without attributes
  std::size_t end() const { return end_; }          // the position after the last entry

  // Stale where a file changed while the page was filled.
  Status send(Reply& reply) {
    H5_TRY(unchanged_);
    if (reply.with([&](fuse_req_t r) { return fuse_reply_buf(r, buffer_.data(), used_); }) == 0)
      looked_up_.clear();
    return {};
  }

 private:
  // False where the entry does not fit, determined before the lookup, which may read an object header.
  bool add(const tree::DirectoryListing& listing, std::size_t position, RequestBudget& budget) {
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
    const auto next = static_cast<off_t>(position + 1);
    used_ += plus_ ? fuse_add_direntry_plus(nullptr, at, space_left, name_.c_str(), &entry, next)
                   : fuse_add_direntry(nullptr, at, space_left, name_.c_str(), &entry.attr, next);
    return true;
  }

  // Where an entry is passed without a node, the kernel takes its name and type alone.
  bool brings_attributes(std::size_t position) const {
    if (request_.attributes == EntryAttributes::Most) return !ListingAdvice::held_out(position);
    return request_.attributes == EntryAttributes::All;
  }

  std::size_t needed() const {
    return plus_ ? fuse_add_direntry_plus(nullptr, nullptr, 0, name_.c_str(), nullptr, 0)
                 : fuse_add_direntry(nullptr, nullptr, 0, name_.c_str(), nullptr, 0);
  }

  // An entry that cannot be looked up is still listed, without attributes: damage stays local.
  void look_up(const tree::DirectoryListing& listing, std::size_t index, fuse_entry_param& entry,
               RequestBudget& budget) {
    const auto found = adapter_.tree->lookup_listed(directory_, listing, index, read_, budget);
    if (!found && concerns_one_request(found.error())) return;  // a lookup of its own will tell
    if (!found) {
      report_failure(*adapter_.tree, directory_, found.error().within("entry " + name_));
      return;
    }
    looked_up_.push_back(found->node);
    entry = adapter_.to_entry(*found);
  }

  Adapter& adapter_;
  tree::NodeId directory_;
  PageRequest request_;
  bool plus_;
  std::size_t end_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::size_t without_ = 0;
  std::string name_;
  std::string computed_name_;  // for names that the listing computes
  std::vector<tree::NodeId> looked_up_;
  tree::FilesRead read_;
  Status unchanged_;
};

// An open directory. The listing is made at the first request: a directory that the kernel has cached is
// opened but not read.
struct DirectoryHandle final : OpenHandle {
  using OpenHandle::OpenHandle;
  HandleKind kind() const override { return HandleKind::Directory; }

  Mutex mutex;  // held throughout a request: an open directory is read by one thread at a time
  std::shared_ptr<const tree::DirectoryListing> listing H5_GUARDED_BY(mutex);
  std::optional<std::size_t> expected_position
      H5_GUARDED_BY(mutex);                              // of the request that continues the last
  std::unique_ptr<Page> next_page H5_GUARDED_BY(mutex);  // the page for it, if already filled
};
using DirectoryHandlePtr = std::shared_ptr<DirectoryHandle>;

DirectoryHandlePtr make_handle(Adapter& adapter, tree::NodeId node) {
  auto handle = std::make_shared<DirectoryHandle>(node);
  handle->pin = adapter.tree->pin();
  return handle;
}

// The directory of a number that this process may not have given: an earlier server had opened it then.
Result<DirectoryHandlePtr> handle_of(Adapter& adapter, std::uint64_t number) {
  for (;;) {
    if (auto known = adapter.handles.find<DirectoryHandle>(number)) return known;
    H5_ASSIGN(const auto record, adapter.handles.opened_before(number, HandleKind::Directory));
    (void)adapter.handles.reopen(number, make_handle(adapter, record.node));
  }
}

std::uint64_t digest_of(const tree::DirectoryListing& listing) {
  std::uint64_t out = tree::fnv1a("names");
  std::string made;
  for (std::size_t i = 0; i < listing.size(); ++i)
    out = out * 0x9E37'79B9'7F4A'7C15U + tree::fnv1a(listing.at(i, made).name);
  return std::max<std::uint64_t>(out, 1);
}

// A client that is in the middle of a listing goes on by positions in it.
Status check_listing(Adapter& adapter, std::uint64_t number, const tree::DirectoryListing& listing,
                     bool begins) {
  if (!adapter.handles.kept() || adapter.handles.same_listing(number, digest_of(listing), begins)) return {};
  return fail({ErrorCode::Stale, "the directory changed while it was listed and the server was replaced"});
}

// While a client reads one page of a listing, the next is prepared. In a followed file it is not: the client
// may take long, and the page's sizes could then be older than others that the kernel has received since.
void read_directory(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info,
                    bool plus) {
  const std::uint64_t number = info->fh;
  guard(request, plus ? "readdirplus" : "readdir", node, [&](Reply& reply) -> Status {
    Adapter& adapter = reply.adapter();
    H5_ASSIGN(const DirectoryHandlePtr handle, handle_of(adapter, number));
    const MutexLock lock(handle->mutex);
    if (!handle->listing) {
      H5_ASSIGN(const auto listing, adapter.tree->open_directory(node, reply.budget()));
      H5_TRY(check_listing(adapter, number, *listing, offset <= 0));
      handle->listing = listing;
    }
    const auto position = offset < 0 ? 0 : static_cast<std::size_t>(offset);
    const pid_t process = reply.client();
    const auto attributes = [&](bool first) {
      if (!plus) return EntryAttributes::None;
      if (!adapter.own_listing_advice) return EntryAttributes::All;
      return adapter.listing_advice.advise(process, node, first);
    };
    const PageRequest wanted{position, size, plus, attributes(position == 0)};
    // The error replaces the empty reply after the last entry: the kernel takes a listing as complete, and
    // caches it, only after an empty reply.
    if (const Error* damage = handle->listing->damage();
        damage != nullptr && wanted.position >= handle->listing->size() + kDots)
      return fail(*damage);
    const bool continues = handle->expected_position == wanted.position;
    std::unique_ptr<Page> page = std::exchange(handle->next_page, nullptr);
    const bool lasting = !adapter.tree->follows(node);
    if (!page || page->request() != wanted || !lasting)
      page = std::make_unique<Page>(adapter, node, wanted, *handle->listing, reply.budget());
    if (plus && adapter.own_listing_advice)
      adapter.listing_advice.note_listed(process, node, page->without());
    H5_TRY(page->send(reply));
    handle->expected_position = page->end();
    if (!continues || !lasting || page->end() >= handle->listing->size() + kDots) return {};
    const PageRequest next{page->end(), size, plus, attributes(false)};
    if (next.attributes == EntryAttributes::None)
      return {};       // names take less time than another thread's wake
    note_long_work();  // the client goes on at the same time
    RequestBudget ahead;
    handle->next_page = std::make_unique<Page>(adapter, node, next, *handle->listing, ahead);
    return {};
  });
}

}  // namespace

void op_opendir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "opendir", node, [&](Reply& reply) -> Status {
    Adapter& adapter = reply.adapter();
    tree::Tree& tree = *adapter.tree;
    const std::uint64_t number = info->fh = adapter.handles.add(make_handle(adapter, node));
    const bool lasting = !tree.follows(node) && tree.lasts(node);
    info->cache_readdir = lasting;
    info->keep_cache = lasting;
    if (reply.with([&](fuse_req_t r) { return fuse_reply_open(r, info); }) != 0)
      adapter.handles.remove(number);
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
    reply.adapter().handles.remove(info->fh);
    reply.error(0);
    return {};
  });
}

}  // namespace h5mount::fuse

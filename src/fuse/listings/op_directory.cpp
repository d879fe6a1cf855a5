// Directories are not opened: OPENDIR is answered with ENOSYS once, after which the kernel sends no more of
// them, nor RELEASEDIR, and keeps every listing that it has read to its end until it is told that it changed.
// So the kernel is not told the end of a listing that it may not keep (end_listing). On a mount whose sources
// may change without notice directories are opened: that request then finds a change.
#include <array>
#include <memory>
#include <utility>

#include "../loop/serving_loop.h"
#include "../ops/adapter.h"
#include "../ops/guard.h"
#include "directory_listings.h"
#include "directory_page.h"

namespace h5mount::fuse {
namespace {

// An open directory, which keeps the tree's file open.
using HandlePtr = std::shared_ptr<OpenHandle>;

HandlePtr make_handle(Adapter& adapter, tree::NodeId node) {
  auto handle = std::make_shared<OpenHandle>(HandleKind::Directory, node);
  handle->pin = adapter.tree->pin();
  return handle;
}

// The directory of a number. If this process did not give the number, the process before had opened the
// directory.
Result<HandlePtr> handle_of(Adapter& adapter, std::uint64_t number) {
  for (;;) {
    if (auto known = adapter.handles.find<OpenHandle>(number)) return known;
    H5_ASSIGN(const tree::NodeId node, adapter.handles.node_of(number, HandleKind::Directory));
    adapter.handles.reopen(number, make_handle(adapter, node));
  }
}

// Whether the kernel may keep what a directory shows.
bool is_lasting(tree::Tree& tree, tree::NodeId directory) {
  return !tree.follows(directory) && tree.lasts(directory);
}

Result<OpenListingPtr> listing_at(Adapter& adapter, tree::NodeId directory, std::uint64_t number,
                                  ListingOffset at, RequestBudget& budget) {
  if (at.position != 0)
    if (OpenListingPtr known = adapter.listings->find(directory, at.listing)) return known;
  const bool lasting = is_lasting(*adapter.tree, directory);
  H5_ASSIGN(auto names, adapter.tree->open_directory(directory, budget));
  if (Handover* const handover = adapter.options.handover.get(); handover != nullptr)
    H5_TRY(handover->check_listing(number, *names, at.position == 0));
  return adapter.listings->add(directory, lasting, std::move(names));
}

// The kernel takes a listing as complete, and keeps it, only after an empty reply. A reply that is shorter
// than any entry contains none either, so the reader is at the end, but the kernel keeps nothing.
Status end_listing(Reply& reply, const OpenListingPtr& listing) {
  static constexpr std::array<char, 8> kNoEntry{};
  Adapter& adapter = reply.adapter();
  adapter.listings->drop_if([&](const OpenListing& one) { return &one == listing.get(); });
  if (const Error* damage = listing->names().damage(); damage != nullptr) return fail(*damage);
  const tree::NodeId directory = listing->directory();
  const bool lasting = listing->number() == 0 && is_lasting(*adapter.tree, directory);
  const bool kept = lasting && (!listing->names_alone() || !adapter.own_listing_advice ||
                                adapter.listing_advice.may_keep_names(directory));
  reply.with([&](fuse_req_t r) { return fuse_reply_buf(r, kNoEntry.data(), kept ? 0 : kNoEntry.size()); });
  return {};
}

// Makes the page that the client of a listing will probably ask for next.
void prepare_page(Adapter& adapter, const OpenListingPtr& listing, const PageRequest& next) noexcept {
  if (!listing->begin_preparation(next)) return;
  std::unique_ptr<DirectoryPage> page;
  try {
    RequestBudget ahead;
    page = std::make_unique<DirectoryPage>(adapter, listing->directory(), next, listing->names(),
                                           listing->number(), ahead);
  } catch (const std::exception&) {  // it is made when it is asked for
  }
  listing->store(std::move(page));
  adapter.listings->page_prepared();
}

// While a client reads one page of a listing, the next is prepared: by this thread if it lists names alone,
// as that takes less time than waking another one. The page of a listing in a followed file is not prepared:
// the client may take long, and the page's sizes could then be older than others that the kernel has received
// since.
void prepare_next(Adapter& adapter, const OpenListingPtr& listing, const PageRequest& next) {
  if (next.attributes == EntryAttributes::None) return prepare_page(adapter, listing, next);
  ServingLoop* const loop = ServingLoop::current();
  if (loop == nullptr) return;
  (void)loop->run_beside([&adapter, listing, next, pin = adapter.tree->pin()](bool serving) {
    if (serving) prepare_page(adapter, listing, next);
  });
}

void read_directory(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info,
                    bool plus) {
  const std::uint64_t number = info->fh;
  guard(request, plus ? "readdirplus" : "readdir", node, [&](Reply& reply) -> Status {
    Adapter& adapter = reply.adapter();
    HandlePtr handle;  // keeps the file; may be closed as soon as the request is answered
    if (adapter.opens_directories) {
      H5_ASSIGN(handle, handle_of(adapter, number));
    }
    const ListingOffset at = ListingOffset::unpacked(offset);
    H5_ASSIGN(const OpenListingPtr listing, listing_at(adapter, node, number, at, reply.budget()));
    if (at.position >= listing->end()) return end_listing(reply, listing);
    const pid_t process = reply.client();
    const auto attributes = [&](bool first) {
      if (!plus) return EntryAttributes::None;
      if (!adapter.own_listing_advice) return EntryAttributes::All;
      return adapter.listing_advice.advise(process, node, first);
    };
    const PageRequest wanted{at.position, size, plus, attributes(at.position == 0)};
    const bool lasting = !adapter.tree->follows(node);
    std::unique_ptr<DirectoryPage> page = listing->take(wanted);
    if (!page || !lasting)
      page = std::make_unique<DirectoryPage>(adapter, node, wanted, listing->names(), listing->number(),
                                             reply.budget());
    if (plus && adapter.own_listing_advice)
      adapter.listing_advice.note_listed(process, node, page->without());
    listing->note_without(page->without());
    H5_TRY(page->send(reply));
    const PageRequest next{page->end(), size, plus, attributes(false)};
    if (!lasting || (next.attributes == EntryAttributes::None && !ServingLoop::will_poll())) return {};
    if (listing->note_sent(at.position, page->end(), next)) prepare_next(adapter, listing, next);
    return {};
  });
}

}  // namespace

void op_opendir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "opendir", node, [&](Reply& reply) -> Status {
    Adapter& adapter = reply.adapter();
    if (!adapter.opens_directories) {
      reply.error(ENOSYS);
      return {};
    }
    const std::uint64_t number = info->fh = adapter.handles.add(make_handle(adapter, node));
    info->cache_readdir = info->keep_cache = is_lasting(*adapter.tree, node);
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

// The listings are dropped before the tree may become another file's.
void op_releasedir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "releasedir", node, [&](Reply& reply) -> Status {
    reply.adapter().listings->drop_if([&](const OpenListing& one) { return one.directory() == node; });
    reply.adapter().handles.remove(info->fh);
    reply.error(0);
    return {};
  });
}

}  // namespace h5mount::fuse

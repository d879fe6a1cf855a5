#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "adapter.h"
#include "guard.h"
#include "h5mount/base/checked.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kMaxSymlinkBytes = 4095;  // PATH_MAX minus the terminator
constexpr std::uint64_t kStatfsBlock = 4096;

}  // namespace

void op_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  guard(request, "lookup", parent, [&](Reply& reply) -> Status {
    Adapter& adapter = reply.adapter();
    const auto found = adapter.tree->lookup(parent, name, reply.budget());
    if (!found && found.error().code() == ErrorCode::NotFound) {
      fuse_entry_param missing = {};  // node 0: a negative entry, which the kernel caches
      missing.entry_timeout = adapter.missing_timeout(parent);
      reply.with([&](fuse_req_t r) { return fuse_reply_entry(r, &missing); });
      return {};
    }
    if (!found) return fail(found.error());
    if (adapter.own_listing_advice && adapter.listing_advice.note_lookup(reply.client(), parent))
      adapter.kernel->invalidate(parent, {{0, format::kUnlimited}});
    const fuse_entry_param entry = adapter.to_entry(*found);
    // If the kernel did not accept the reply, it counts no reference, so the one counted here is dropped.
    if (reply.with([&](fuse_req_t r) { return fuse_reply_entry(r, &entry); }) != 0)
      adapter.tree->forget(found->node, 1);
    return {};
  });
}

void op_forget(fuse_req_t request, fuse_ino_t node, std::uint64_t count) {
  tree::Tree& tree = *adapter_of(request).tree;
  try {
    tree.forget(node, count);
  } catch (const std::exception& exception) {
    report_accident(tree, "forget", node, exception.what());
  }
  fuse_reply_none(request);
}

void op_forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
  tree::Tree& tree = *adapter_of(request).tree;
  try {
    for (std::size_t i = 0; i < count; ++i) tree.forget(forgets[i].ino, forgets[i].nlookup);
  } catch (const std::exception& exception) {
    report_accident(tree, "forget_multi", tree::kRootNode, exception.what());
  }
  fuse_reply_none(request);
}

void op_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info* /*info*/) {
  guard(request, "getattr", node, [&](Reply& reply) -> Status {
    Adapter& adapter = reply.adapter();
    const tree::StatDepth depth =
        adapter.handles.has_file(node) ? tree::StatDepth::Size : tree::StatDepth::Full;
    H5_ASSIGN(const tree::NodeStat stat, adapter.tree->stat(node, depth, reply.budget()));
    const struct stat out = adapter.to_stat(stat);
    const double timeout = stat.complete ? adapter.lasting_timeout(stat) : 0;
    reply.with([&](fuse_req_t r) { return fuse_reply_attr(r, &out, timeout); });
    return {};
  });
}

void op_readlink(fuse_req_t request, fuse_ino_t node) {
  guard(request, "readlink", node, [&](Reply& reply) -> Status {
    H5_ASSIGN(const std::string target, reply.adapter().tree->readlink(node));
    if (target.size() > kMaxSymlinkBytes) {
      reply.error(ENAMETOOLONG);
    } else {
      reply.with([&](fuse_req_t r) { return fuse_reply_readlink(r, target.c_str()); });
    }
    return {};
  });
}

void op_statfs(fuse_req_t request, fuse_ino_t node) {
  guard(request, "statfs", node, [&](Reply& reply) -> Status {
    struct statvfs out = {};
    out.f_bsize = out.f_frsize = kStatfsBlock;
    // df leaves out a file system without blocks.
    out.f_blocks =
        std::max<fsblkcnt_t>(divide_up(reply.adapter().tree->statfs().file_bytes, kStatfsBlock), 1);
    out.f_namemax = 255;
    reply.with([&](fuse_req_t r) { return fuse_reply_statfs(r, &out); });
    return {};
  });
}

// The kernel checks permission bits itself if they matter (SessionOptions::check_permissions); only write
// access is left to refuse.
void op_access(fuse_req_t request, fuse_ino_t node, int mask) {
  guard(request, "access", node, [&](Reply& reply) -> Status {
    reply.error((mask & W_OK) != 0 ? EROFS : 0);
    return {};
  });
}

}  // namespace h5mount::fuse

#include "adapter.h"

#include <sys/stat.h>

#include <cerrno>
#include <limits>

namespace h5mount::fuse {
namespace {

constexpr double kForever = 1e9;       // seconds; the file does not change
constexpr double kWhileGrowing = 0.1;  // attributes in a followed file are requested again after this
constexpr double kUnreported = 1.0;    // what nothing tells changes of is looked at again after this
constexpr double kMissing = 10.0;      // names that do not exist
constexpr double kMissingHere = 1.0;   // those that may be created: in a file that can be replaced, and
                                       // wherever nothing tells of it
constexpr std::uint64_t kBlockBytes = 4096;

// The kernel refuses to write without a request, as the mount is read-only; these reply in case it sends one.
template <class... Args>
void refuse_change(fuse_req_t request, Args...) {
  fuse_reply_err(request, EROFS);
}

}  // namespace

::mode_t type_bits(tree::NodeType type) {
  return type == tree::NodeType::Directory ? S_IFDIR : type == tree::NodeType::Symlink ? S_IFLNK : S_IFREG;
}

double Adapter::lasting_timeout(const tree::NodeStat& stat) const {
  return stat.follows ? kWhileGrowing : stat.unreported ? kUnreported : kForever;
}
double Adapter::missing_timeout(tree::NodeId parent) const {
  if (tree->follows(parent)) return kWhileGrowing;
  return tree->reloads() || !tree->lasts(parent) ? kMissingHere : kMissing;
}

struct stat Adapter::to_stat(const tree::NodeStat& stat) const {
  struct stat out = {};
  out.st_ino = stat.ino;
  out.st_mode = type_bits(stat.type) | (stat.unreadable ? 0 : stat.mode & 0777);
  out.st_nlink = stat.nlink;
  out.st_uid = stat.uid;
  out.st_gid = stat.gid;
  // The kernel marks an inode with a negative size as bad.
  constexpr auto kMaxBytes = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  out.st_size = stat.size <= kMaxBytes ? static_cast<off_t>(stat.size) : 0;
  out.st_blocks = static_cast<blkcnt_t>(std::min(stat.blocks, kMaxBytes));
  out.st_blksize = kBlockBytes;
  out.st_mtim = {static_cast<std::time_t>(stat.mtime), static_cast<long>(stat.mtime_nanoseconds)};
  out.st_atim = out.st_ctim = out.st_mtim;
  return out;
}

fuse_entry_param Adapter::to_entry(const tree::Entry& entry) const {
  fuse_entry_param out = {};
  out.ino = entry.node;
  out.generation = 1;
  out.attr = to_stat(entry.stat);
  out.entry_timeout = lasting_timeout(entry.stat);
  out.attr_timeout = entry.stat.complete ? out.entry_timeout : 0;
  return out;
}

const fuse_lowlevel_ops& operations() {
  static const fuse_lowlevel_ops table = [] {
    fuse_lowlevel_ops ops = {};
    ops.init = op_init;
    ops.lookup = op_lookup;
    ops.forget = op_forget;
    ops.forget_multi = op_forget_multi;
    ops.getattr = op_getattr;
    ops.readlink = op_readlink;
    ops.statfs = op_statfs;
    ops.access = op_access;
    ops.open = op_open;
    ops.read = op_read;
    ops.lseek = op_lseek;
    ops.release = op_release;
    ops.opendir = op_opendir;
    ops.readdir = op_readdir;
    ops.readdirplus = op_readdirplus;
    ops.releasedir = op_releasedir;
    ops.getxattr = op_getxattr;
    ops.listxattr = op_listxattr;
    ops.setattr = refuse_change;
    ops.mknod = refuse_change;
    ops.mkdir = refuse_change;
    ops.unlink = refuse_change;
    ops.rmdir = refuse_change;
    ops.symlink = refuse_change;
    ops.rename = refuse_change;
    ops.link = refuse_change;
    ops.create = refuse_change;
    ops.write = refuse_change;
    ops.setxattr = refuse_change;
    ops.removexattr = refuse_change;
    ops.fallocate = refuse_change;
    return ops;
  }();
  return table;
}

}  // namespace h5mount::fuse

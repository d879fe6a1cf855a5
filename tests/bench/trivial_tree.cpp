// trivial_tree: a FUSE file system of 110,101 empty directories (100 of 100 of 10 of each) that does nothing
// else: what walks cost whatever the server does. Directories are opened, as FUSE programs do.
//
//   trivial_tree [-s] MOUNTPOINT    stays in the foreground until unmounted; -s: libfuse's loop of one thread
#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr double kForever = 1e9;
constexpr int kWide = 100, kLeaves = 10;
constexpr fuse_ino_t kFirst = 2, kSecond = 1000, kThird = 100'000;

int children_of(fuse_ino_t node) {
  return node < kSecond ? kWide : node < kThird ? kLeaves : 0;
}

fuse_ino_t child_of(fuse_ino_t node, int index) {
  const auto i = static_cast<fuse_ino_t>(index);
  if (node == FUSE_ROOT_ID) return kFirst + i;
  return node < kSecond ? kSecond + (node - kFirst) * kWide + i : kThird + (node - kSecond) * kLeaves + i;
}

std::string name_of(int index) {
  return "d" + std::to_string(index);
}

fuse_entry_param entry_of(fuse_ino_t node) {
  fuse_entry_param out = {};
  out.ino = out.attr.st_ino = node;
  out.attr.st_mode = S_IFDIR | 0555;
  out.attr.st_nlink = 2;
  out.attr_timeout = out.entry_timeout = kForever;
  return out;
}

void op_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const int index = name[0] == 'd' ? std::atoi(name + 1) : -1;
  if (index < 0 || index >= children_of(parent) || name_of(index) != name) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const fuse_entry_param entry = entry_of(child_of(parent, index));
  fuse_reply_entry(request, &entry);
}

void op_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  const fuse_entry_param entry = entry_of(node);
  fuse_reply_attr(request, &entry.attr, kForever);
}

void op_opendir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  info->cache_readdir = info->keep_cache = 1;
  fuse_reply_open(request, info);
}

void list(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, bool plus) {
  std::vector<char> buffer(size);
  std::size_t used = 0;
  for (int i = static_cast<int>(offset); i < children_of(node); ++i) {
    const fuse_entry_param entry = entry_of(child_of(node, i));
    const std::string name = name_of(i);
    char* const at = buffer.data() + used;
    const std::size_t bytes =
        plus ? fuse_add_direntry_plus(request, at, size - used, name.c_str(), &entry, i + 1)
             : fuse_add_direntry(request, at, size - used, name.c_str(), &entry.attr, i + 1);
    if (bytes > size - used) break;
    used += bytes;
  }
  fuse_reply_buf(request, buffer.data(), used);
}

void op_readdir(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  list(request, node, size, offset, false);
}

void op_readdirplus(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  list(request, node, size, offset, true);
}

}  // namespace

int main(int argc, char** argv) {
  const bool single = argc > 2 && std::strcmp(argv[1], "-s") == 0;
  std::string program = argv[0], read_only = "-oro";
  char* words[] = {program.data(), read_only.data()};
  fuse_args arguments = FUSE_ARGS_INIT(2, words);
  fuse_lowlevel_ops ops = {};
  ops.lookup = op_lookup;
  ops.getattr = op_getattr;
  ops.opendir = op_opendir;
  ops.readdir = op_readdir;
  ops.readdirplus = op_readdirplus;
  fuse_session* const session = fuse_session_new(&arguments, &ops, sizeof ops, nullptr);
  if (session == nullptr || fuse_session_mount(session, argv[argc - 1]) != 0) return 1;
  fuse_loop_config* const config = fuse_loop_cfg_create();
  const int result = single ? fuse_session_loop(session) : fuse_session_loop_mt(session, config);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return result == 0 ? 0 : 1;
}

// trivial_fuse: a minimal FUSE file system: one file, `data`, with nine extended attributes, whose replies
// are written directly from a mapping of a plain file, with the settings that measured fastest (1 MiB
// requests, kept pages, long timeouts, read-ahead of 1 MiB where permitted, no splice). The reference for
// data that needs no decoding.
//
//   trivial_fuse [-s] FILE MOUNTPOINT    stays in the foreground until unmounted; -s: libfuse's loop of one
//                                        thread instead of the one of many
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr double kForever = 1e9;
constexpr fuse_ino_t kData = 2;
char* g_bytes = nullptr;
std::size_t g_size = 0;

struct stat stat_of(fuse_ino_t node) {
  struct stat out = {};
  out.st_ino = node;
  out.st_nlink = 1;
  out.st_mode = node == kData ? S_IFREG | 0444 : S_IFDIR | 0555;
  out.st_size = node == kData ? static_cast<off_t>(g_size) : 0;
  out.st_blocks = out.st_size / 512;
  return out;
}

void op_init(void*, fuse_conn_info* connection) {
  connection->want &=
      ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_AUTO_INVAL_DATA);
  connection->want |= connection->capable & FUSE_CAP_EXPLICIT_INVAL_DATA;
  connection->max_background = 64;
}

void op_lookup(fuse_req_t request, fuse_ino_t, const char* name) {
  if (std::strcmp(name, "data") != 0) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  fuse_entry_param entry = {};
  entry.ino = kData;
  entry.attr = stat_of(kData);
  entry.attr_timeout = entry.entry_timeout = kForever;
  fuse_reply_entry(request, &entry);
}

void op_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  const struct stat out = stat_of(node);
  fuse_reply_attr(request, &out, kForever);
}

void op_open(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  info->keep_cache = 1;
  fuse_reply_open(request, info);
}

void op_read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  const auto at = std::min(static_cast<std::size_t>(offset), g_size);
  const ::iovec part{g_bytes + at, std::min(size, g_size - at)};
  fuse_reply_iov(request, &part, 1);
}

// As many as a small dataset has.
constexpr char kNames[] = "user.a\0user.b\0user.c\0user.d\0user.e\0user.f\0user.g\0user.h\0user.i";

void reply_value(fuse_req_t request, const char* value, std::size_t bytes, std::size_t most) {
  if (most == 0)
    fuse_reply_xattr(request, bytes);
  else if (most < bytes)
    fuse_reply_err(request, ERANGE);
  else
    fuse_reply_buf(request, value, bytes);
}

void op_listxattr(fuse_req_t request, fuse_ino_t node, std::size_t most) {
  reply_value(request, kNames, node == kData ? sizeof kNames : 0, most);
}

void op_getxattr(fuse_req_t request, fuse_ino_t node, const char* name, std::size_t most) {
  if (node != kData || std::strncmp(name, "user.", 5) != 0)
    fuse_reply_err(request, ENODATA);
  else
    reply_value(request, "value", 5, most);
}

void raise_read_ahead(std::string mountpoint) {
  struct stat root = {};
  if (::stat(mountpoint.c_str(), &root) != 0) return;
  const std::string path = "/sys/class/bdi/" + std::to_string(major(root.st_dev)) + ":" +
                           std::to_string(minor(root.st_dev)) + "/read_ahead_kb";
  if (std::FILE* const file = std::fopen(path.c_str(), "w")) {
    std::fputs("1024", file);
    std::fclose(file);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool single = argc == 4 && std::strcmp(argv[1], "-s") == 0;
  if (single) ++argv, --argc;
  if (argc != 3) return std::fputs("usage: trivial_fuse [-s] FILE MOUNTPOINT\n", stderr), 1;
  const int fd = ::open(argv[1], O_RDONLY | O_CLOEXEC);
  struct stat file = {};
  if (fd < 0 || ::fstat(fd, &file) != 0) return std::perror(argv[1]), 1;
  g_size = static_cast<std::size_t>(file.st_size);
  g_bytes = static_cast<char*>(::mmap(nullptr, g_size, PROT_READ, MAP_SHARED, fd, 0));
  if (g_bytes == MAP_FAILED) return std::perror("mmap"), 1;

  fuse_lowlevel_ops operations = {};
  operations.init = op_init;
  operations.lookup = op_lookup;
  operations.getattr = op_getattr;
  operations.open = op_open;
  operations.read = op_read;
  operations.listxattr = op_listxattr;
  operations.getxattr = op_getxattr;
  char program[] = "trivial_fuse", flag[] = "-o", options[] = "ro,fsname=trivial,subtype=trivial";
  char* words[] = {program, flag, options};
  fuse_args arguments = FUSE_ARGS_INIT(3, words);
  fuse_session* const session = fuse_session_new(&arguments, &operations, sizeof operations, nullptr);
  if (session == nullptr || fuse_set_signal_handlers(session) != 0 ||
      fuse_session_mount(session, argv[2]) != 0)
    return 1;
  std::thread herald(raise_read_ahead, std::string(argv[2]));
  fuse_loop_config* const config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, 32);
  const int result = single ? fuse_session_loop(session) : fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  fuse_session_unmount(session);
  herald.join();
  fuse_session_destroy(session);
  return result < 0;
}

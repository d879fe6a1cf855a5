// Adapter: the state that all operations share, and their table. libfuse passes it back as the session's user
// data.
#pragma once

#include <fuse_lowlevel.h>

#include <memory>

#include "../loop/request_watch.h"
#include "h5mount/fuse/session.h"
#include "listing_advice.h"
#include "open_handles.h"
#include "xattr_answers.h"

namespace h5mount::fuse {

class DirectoryListings;

struct Adapter {
  std::shared_ptr<tree::Tree> tree;
  SessionOptions options;
  std::shared_ptr<tree::KernelPages> kernel;  // set before the first request
  OpenHandles handles;
  XattrAnswers xattr_answers;
  ListingAdvice listing_advice;
  std::shared_ptr<DirectoryListings> listings;
  RequestWatch requests;
  // False if the kernel is told of every change to what it caches. Set before the first request; op_init sets
  // it to true if the kernel cannot do without OPENDIR.
  bool opens_directories = true;
  bool own_listing_advice = false;  // set by op_init; else the kernel decides which listings have attributes

  double lasting_timeout(const tree::NodeStat& stat) const;  // of names, and of attributes that are complete
  double missing_timeout(tree::NodeId parent) const;         // of names that do not exist
  struct stat to_stat(const tree::NodeStat& stat) const;
  fuse_entry_param to_entry(const tree::Entry& entry) const;
};

inline Adapter& adapter_of(fuse_req_t request) {
  return *static_cast<Adapter*>(fuse_req_userdata(request));
}

const fuse_lowlevel_ops& operations();

// The file type bits of st_mode (S_IFDIR and so on).
::mode_t type_bits(tree::NodeType type);

// Sets up the connection: settings agreed with the kernel before the first request.
void op_init(void* userdata, fuse_conn_info* connection);

void op_lookup(fuse_req_t request, fuse_ino_t parent, const char* name);
void op_forget(fuse_req_t request, fuse_ino_t node, std::uint64_t count);
void op_forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgets);
void op_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info* info);
void op_readlink(fuse_req_t request, fuse_ino_t node);
void op_statfs(fuse_req_t request, fuse_ino_t node);
void op_access(fuse_req_t request, fuse_ino_t node, int mask);

void op_open(fuse_req_t request, fuse_ino_t node, fuse_file_info* info);
void op_read(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info);
void op_lseek(fuse_req_t request, fuse_ino_t node, off_t offset, int whence, fuse_file_info* info);
void op_release(fuse_req_t request, fuse_ino_t node, fuse_file_info* info);

void op_opendir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info);
void op_readdir(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info);
void op_readdirplus(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                    fuse_file_info* info);
void op_releasedir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info);

void op_getxattr(fuse_req_t request, fuse_ino_t node, const char* name, std::size_t size);
void op_listxattr(fuse_req_t request, fuse_ino_t node, std::size_t size);

}  // namespace h5mount::fuse

#include <fcntl.h>
#include <unistd.h>

#include "adapter.h"
#include "guard.h"
#include "reply_pieces.h"
#include "serving_loop.h"

namespace h5mount::fuse {
namespace {

FileHandle& handle_of(const fuse_file_info& info) {
  return *reinterpret_cast<FileHandle*>(info.fh);
}

bool wants_to_write(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

void close_handle(Adapter& adapter, FileHandle* handle) {
  adapter.open_files.remove(handle->node);
  delete handle;
}

void read_now(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info) {
  guard(request, "read", node, [&](Reply& reply) -> Status {
    if (offset < 0) {
      reply.error(EINVAL);
      return {};
    }
    const std::shared_ptr<tree::OpenNode> file =
        handle_of(*info).file;  // may be closed as soon as the reply is sent
    dataset::Pieces pieces;
    H5_TRY(file->read(static_cast<std::uint64_t>(offset), size, pieces, reply.budget()));
    H5_TRY(reply_pieces(reply, pieces, size));
    // The reply was sent already; but further reads fail, and the kernel's copy of it is dropped.
    return pieces.kernel_only() ? file->revalidate() : Status{};
  });
}

}  // namespace

void op_open(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "open", node, [&](Reply& reply) -> Status {
    if (wants_to_write(info->flags)) {
      reply.error(EROFS);
      return {};
    }
    Adapter& adapter = adapter_of(request);
    H5_ASSIGN(auto file, adapter.tree->open(node, reply.budget()));
    const bool keeps_pages = !adapter.tree->follows() || file->keeps_pages();
    const bool file_is_direct = file->direct();
    auto handle = std::make_unique<FileHandle>(FileHandle{node, std::move(file), adapter.tree->pin()});
    adapter.open_files.add(node);
    info->fh = reinterpret_cast<std::uint64_t>(handle.get());
    // Without keep_cache an open waits uninterruptibly, even by SIGKILL, for every running read of the file.
    info->keep_cache = keeps_pages ? 1 : 0;
    info->direct_io = file_is_direct ? 1 : 0;
    FileHandle* const given = handle.release();
    if (fuse_reply_open(reply.take(), info) != 0) close_handle(adapter, given);
    return {};
  });
}

// While all threads are at work, reads wait for one of them, so that this one can answer what is quick.
void op_read(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info) {
  ServingLoop* const loop = ServingLoop::current();
  if (loop == nullptr || !loop->saturated()) return read_now(request, node, size, offset, info);
  try {
    loop->defer([=, copied = *info](bool serving) mutable {
      if (serving)
        read_now(request, node, size, offset, &copied);
      else
        fuse_reply_err(request, ENOTCONN);
    });
  } catch (const std::bad_alloc&) {
    fuse_reply_err(request, ENOMEM);
  }
}

void op_lseek(fuse_req_t request, fuse_ino_t node, off_t offset, int whence, fuse_file_info* info) {
  guard(request, "lseek", node, [&](Reply& reply) -> Status {
    if (offset < 0 || (whence != SEEK_DATA && whence != SEEK_HOLE)) {
      reply.error(offset < 0 ? ENXIO : EINVAL);
      return {};
    }
    tree::OpenNode& file = *handle_of(*info).file;
    const auto start = static_cast<std::uint64_t>(offset);
    const auto found =
        whence == SEEK_DATA ? file.seek_data(start, reply.budget()) : file.seek_hole(start, reply.budget());
    if (!found && found.error().code() == ErrorCode::NotFound) {
      reply.error(ENXIO);
      return {};
    }
    if (!found) return fail(found.error());
    fuse_reply_lseek(reply.take(), static_cast<off_t>(*found));
    return {};
  });
}

void op_release(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "release", node, [&](Reply& reply) -> Status {
    close_handle(adapter_of(request), &handle_of(*info));
    reply.error(0);
    return {};
  });
}

}  // namespace h5mount::fuse

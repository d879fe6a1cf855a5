#include <fcntl.h>
#include <unistd.h>

#include "../loop/serving_loop.h"
#include "adapter.h"
#include "column_ahead.h"
#include "guard.h"
#include "reply_pieces.h"

namespace h5mount::fuse {
namespace {

// Shared with the requests that use it: a request that the watch answered may go on after the file was
// closed.
struct FileHandle final : OpenHandle {
  explicit FileHandle(tree::NodeId opened) : OpenHandle(HandleKind::File, opened) {}
  ~FileHandle() override {
    if (ahead) ahead->stop();
  }

  std::shared_ptr<tree::OpenNode> file;
  std::shared_ptr<ColumnAhead> ahead;  // may be null
};
using FileHandlePtr = std::shared_ptr<FileHandle>;

Result<FileHandlePtr> open_file(Adapter& adapter, tree::NodeId node, RequestBudget& budget) {
  H5_ASSIGN(auto file, adapter.tree->open(node, budget));
  auto handle = std::make_shared<FileHandle>(node);
  handle->ahead = ColumnAhead::make(*file, node, adapter.kernel);
  handle->file = std::move(file);
  handle->pin = adapter.tree->pin();
  return handle;
}

// Opens the file of a number that this process has not given: the process before had opened it.
Result<FileHandlePtr> open_again(Adapter& adapter, std::uint64_t number, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId node, adapter.handles.node_of(number, HandleKind::File));
  H5_ASSIGN(FileHandlePtr handle, open_file(adapter, node, budget));
  adapter.handles.reopen(number, handle);
  return handle;
}

bool wants_to_write(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

// The node and number by which the kernel names an open file.
struct OpenedAs {
  fuse_ino_t node;
  std::uint64_t number;
  bool takes_fewer;  // true if an answer of fewer bytes than were asked for is not taken for the file's end
};

// Whether bytes beside those whose reading failed may be read.
bool is_of_bytes_lost(const Error& error) {
  return is_about_bytes(error.code()) || is_of_range(error);
}

// Reads the bytes before the first that cannot be read; fails with `why` if that is the first one.
Status read_before_lost(tree::OpenNode& file, std::uint64_t offset, std::uint64_t size, const Error& why,
                        dataset::Pieces& out, RequestBudget& budget) {
  std::uint64_t given = 0, refused = size;
  for (std::uint64_t next = 1; given + 1 < refused; next = given + (refused - given) / 2) {
    dataset::Pieces pieces;
    const Status done = file.read(offset, next, pieces, budget);
    if (!done && !is_of_bytes_lost(done.error())) return done;
    if (done) {
      given = next;
      out = std::move(pieces);
    } else {
      refused = next;
    }
  }
  return given > 0 ? Status{} : fail(why);
}

// `known`: may be null.
void read_now(Adapter& adapter, const std::shared_ptr<ActiveRequest>& request, const FileHandlePtr& known,
              std::size_t size, off_t offset, const OpenedAs& opened) {
  guard(adapter, request, "read", opened.node, [&](Reply& reply) -> Status {
    if (offset < 0) {
      reply.error(EINVAL);
      return {};
    }
    FileHandlePtr handle = known;
    if (!handle) {
      H5_ASSIGN(handle, open_again(adapter, opened.number, reply.budget()));
    }
    tree::OpenNode& file = *handle->file;
    dataset::Pieces pieces;
    Status done = file.read(static_cast<std::uint64_t>(offset), size, pieces, reply.budget());
    if (!done && opened.takes_fewer && is_of_bytes_lost(done.error()) && file.lacks_bytes())
      done = read_before_lost(file, static_cast<std::uint64_t>(offset), size, done.error(), pieces,
                              reply.budget());
    H5_TRY(std::move(done));
    if (handle->ahead) handle->ahead->note(static_cast<std::uint64_t>(offset), size);
    H5_TRY(reply_pieces(reply, pieces, size));
    // The reply was sent already, but if the file has changed, further reads fail and the kernel's copy is
    // dropped.
    return pieces.kernel_only() ? file.revalidate() : Status{};
  });
}

}  // namespace

void op_open(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "open", node, [&](Reply& reply) -> Status {
    if (wants_to_write(info->flags)) {
      reply.error(EROFS);
      return {};
    }
    Adapter& adapter = reply.adapter();
    H5_ASSIGN(FileHandlePtr handle, open_file(adapter, node, reply.budget()));
    const bool keeps_pages = !adapter.tree->follows(node) || handle->file->keeps_pages();
    const bool file_is_direct = handle->file->direct();
    const std::uint64_t number = info->fh = adapter.handles.add(std::move(handle));
    // Without keep_cache an open waits uninterruptibly, even by SIGKILL, for every running read of the file.
    info->keep_cache = keeps_pages ? 1 : 0;
    info->direct_io = file_is_direct ? 1 : 0;
    if (reply.with([&](fuse_req_t r) { return fuse_reply_open(r, info); }) != 0)
      adapter.handles.remove(number);
    return {};
  });
}

// While all threads are at work, reads wait for one of them, so that this one can answer what is quick.
void op_read(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* info) {
  Adapter& adapter = adapter_of(request);
  // The kernel names an owner of locks where it reads for a process, and none where it fills its pages.
  const OpenedAs opened{node, info->fh, info->lock_owner != 0};
  // The file may be closed as soon as the request is answered.
  const auto handle = adapter.handles.find<FileHandle>(opened.number);
  std::shared_ptr<ActiveRequest> active;
  try {
    active = std::make_shared<ActiveRequest>(
        request, (info->flags & O_DIRECT) != 0 ? ClientKind::Direct : ClientKind::Waiting);
    ServingLoop* const loop = ServingLoop::current();
    if (loop == nullptr || !loop->saturated()) return read_now(adapter, active, handle, size, offset, opened);
    const auto watched = std::make_shared<RequestWatch::Entry>(adapter.requests, active);
    const ServingLoop::Deferred read = [=, &adapter](bool serving) {
      (void)watched;  // while it waits
      if (serving && !active->answered()) return read_now(adapter, active, handle, size, offset, opened);
      if (fuse_req_t const unanswered = active->take(); unanswered != nullptr)
        fuse_reply_err(unanswered, ENOTCONN);
    };
    loop->defer(read);
  } catch (const std::bad_alloc&) {
    refuse(active ? active->take() : request);
  }
}

void op_lseek(fuse_req_t request, fuse_ino_t node, off_t offset, int whence, fuse_file_info* info) {
  const std::uint64_t number = info->fh;
  guard(request, "lseek", node, [&](Reply& reply) -> Status {
    if (offset < 0 || (whence != SEEK_DATA && whence != SEEK_HOLE)) {
      reply.error(offset < 0 ? ENXIO : EINVAL);
      return {};
    }
    auto handle = reply.adapter().handles.find<FileHandle>(number);
    if (!handle) {
      H5_ASSIGN(handle, open_again(reply.adapter(), number, reply.budget()));
    }
    tree::OpenNode& file = *handle->file;
    const auto start = static_cast<std::uint64_t>(offset);
    const auto found =
        whence == SEEK_DATA ? file.seek_data(start, reply.budget()) : file.seek_hole(start, reply.budget());
    if (!found && found.error().code() == ErrorCode::NotFound) {
      reply.error(ENXIO);
      return {};
    }
    if (!found) return fail(found.error());
    reply.with([&](fuse_req_t r) { return fuse_reply_lseek(r, static_cast<off_t>(*found)); });
    return {};
  });
}

void op_release(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  guard(request, "release", node, [&](Reply& reply) -> Status {
    reply.adapter().handles.remove(info->fh);
    reply.error(0);
    return {};
  });
}

}  // namespace h5mount::fuse

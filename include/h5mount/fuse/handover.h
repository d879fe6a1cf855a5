// Handover: what a process that serves a mount leaves to the one that goes on with the mount after it
// (-o survive; module `survive` has it). It numbers the open handles, and requests and answers go through it.
// Without one the mount ends with its process. Threads: any, from `begin` on.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "h5mount/base/unique_fd.h"
#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

enum class HandleKind : std::uint8_t { None, File, Directory };

class Handover {
 public:
  virtual ~Handover() = default;

  // The device of the mount if another process has served it; none: this process is to mount it. Once.
  virtual UniqueFd take_device() = 0;
  virtual bool goes_on() const = 0;  // whether another process has served the mount
  // The same tree under the ids that the kernel knows. `tree`: null if the source can no longer be opened.
  virtual std::shared_ptr<tree::Tree> adopt(std::shared_ptr<tree::Tree> tree) = 0;
  // Called once the session has its device, before the first request. `process` has the session process a
  // request and returns whether it goes on. Fails if nobody keeps the device, or if the session would agree
  // with the kernel on other terms than the process before.
  virtual Status begin(int device, const std::function<bool(std::span<std::byte> request)>& process) = 0;

  // Like read(2) and writev(2) on the device.
  virtual ssize_t read(int device, void* buffer, std::size_t length) = 0;
  virtual ssize_t answer(int device, const iovec* parts, int count) = 0;
  // To be called after a request was processed: some requests have no answer.
  virtual void processed(std::uint64_t request, std::uint32_t opcode) = 0;

  // Throws std::bad_alloc if no more handles can be kept.
  virtual std::uint64_t add_handle(HandleKind kind, tree::NodeId node) = 0;
  virtual void remove_handle(std::uint64_t number) = 0;
  // The node that the process before had opened under the number. Fails with Stale if there is none.
  virtual Result<tree::NodeId> handle_node(std::uint64_t number, HandleKind kind) const = 0;
  // Fails with Stale if the client of an open directory continues in a listing that was another one.
  virtual Status check_listing(std::uint64_t number, const tree::DirectoryListing& names, bool begins) = 0;
};

}  // namespace h5mount::fuse

// SurvivingMount: the shared memory of a mount that survives its servers, and what one of these servers keeps
// in it.
#pragma once

#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/fuse/handover.h"
#include "surviving_nodes.h"
#include "surviving_requests.h"

namespace h5mount::survive {

class SurvivingMount final : public fuse::Handover {
 public:
  // `device`: of the mount; none: this process is to mount it, and to give its device to `keep_device`, which
  // returns false if nobody keeps it. `cause`: how the server before this one ended.
  SurvivingMount(SurvivingMemory mapped, UniqueFd device, EndCause cause,
                 std::function<bool(int)> keep_device)
      : memory(std::move(mapped)),
        nodes(memory),
        requests(memory, nodes, cause),
        device_(std::move(device)),
        goes_on_(device_),
        keep_device_(std::move(keep_device)) {
    take_over_handles();
  }

  UniqueFd take_device() override { return std::move(device_); }
  bool goes_on() const override { return goes_on_; }
  std::shared_ptr<tree::Tree> adopt(std::shared_ptr<tree::Tree> tree) override;
  Status begin(int device, const std::function<bool(std::span<std::byte> request)>& process) override;

  ssize_t read(int device, void* buffer, std::size_t length) override {
    return requests.read(device, buffer, length);
  }
  ssize_t answer(int device, const iovec* parts, int count) override {
    return requests.answer(device, parts, count);
  }
  void processed(std::uint64_t request, std::uint32_t opcode) override {
    requests.processed(request, opcode);
  }
  std::uint64_t add_handle(HandleKind kind, tree::NodeId node) override;
  void remove_handle(std::uint64_t number) override;
  Result<tree::NodeId> handle_node(std::uint64_t number, HandleKind kind) const override;
  // A client in the middle of a listing continues by positions in it, so the listing must be the same; at the
  // beginning of a listing any is accepted.
  Status check_listing(std::uint64_t number, const tree::DirectoryListing& names, bool begins) override;

  const SurvivingMemory memory;
  SurvivingNodes nodes;
  SurvivingRequests requests;

 private:
  void take_over_handles();
  SharedHandle* find_handle(std::uint64_t number) const H5_REQUIRES(mutex_);  // null: there is none

  UniqueFd device_;
  const bool goes_on_;
  const std::function<bool(int)> keep_device_;
  mutable Mutex mutex_;
  std::vector<std::uint32_t> free_handles_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::survive

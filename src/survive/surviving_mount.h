// SurvivingMount: the shared memory of a mount that survives its servers, and what one of these servers keeps
// in it.
#pragma once

#include "h5mount/fuse/handover.h"
#include "surviving_handles.h"
#include "surviving_nodes.h"
#include "surviving_requests.h"

namespace h5mount::survive {

class SurvivingMount final : public fuse::Handover {
 public:
  // `device`: of the mount; none: this process is to mount it, and to give its device to `keep_device`, which
  // returns false if nobody keeps it. `blame`: how the server before this one ended.
  SurvivingMount(SurvivingMemory mapped, UniqueFd device, Blame blame, std::function<bool(int)> keep_device)
      : memory(std::move(mapped)),
        nodes(memory),
        handles(memory),
        requests(memory, nodes, blame),
        device_(std::move(device)),
        goes_on_(device_),
        keep_device_(std::move(keep_device)) {}

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
  std::uint64_t add_handle(HandleKind kind, tree::NodeId node) override { return handles.add(kind, node); }
  void remove_handle(std::uint64_t number) override { handles.remove(number); }
  Result<tree::NodeId> handle_node(std::uint64_t number, HandleKind kind) const override {
    return handles.node_of(number, kind);
  }
  Status check_listing(std::uint64_t number, const tree::DirectoryListing& names, bool begins) override {
    return handles.check_listing(number, names, begins);
  }

  const SurvivingMemory memory;
  SurvivingNodes nodes;
  SurvivingHandles handles;
  SurvivingRequests requests;

 private:
  UniqueFd device_;
  const bool goes_on_;
  const std::function<bool(int)> keep_device_;
};

}  // namespace h5mount::survive

// SurvivingRequests: the requests of a mount that survives its servers, from the moment when the kernel has
// handed them out until they are answered. They are read straight into the shared memory: the kernel gives a
// request once (only since Linux 6.9 could it be asked to give it again), and a client whose request was lost
// would wait for ever.
//
// The next server answers the requests that this one had read. A request that was being worked for when a
// server crashed may be the cause: such requests are worked for one after another, so that a further crash
// shows which one it was, and that one is answered with EIO (EndCause). Threads: any.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/thread_annotations.h"
#include "surviving_memory.h"
#include "surviving_nodes.h"

namespace h5mount::survive {

class SurvivingRequests {
 public:
  // Takes over the requests of an earlier server, which ended as `cause` says. Forgets are processed at once.
  SurvivingRequests(const SurvivingMemory& memory, SurvivingNodes& nodes, EndCause cause);

  // If the kernel and an earlier server have agreed already, the session is given that agreement: `process`
  // has it process a request. Fails if the session would agree on other terms. The older program goes on
  // then.
  Status begin(int device, const std::function<bool(std::span<std::byte> request)>& process);

  // As in fuse::Handover.
  ssize_t read(int device, void* buffer, std::size_t length);
  ssize_t answer(int device, const iovec* parts, int count);
  void processed(std::uint64_t request, std::uint32_t opcode);

  std::size_t inherited() const { return count_inherited_; }

 private:
  struct Inherited {
    std::uint32_t index = 0;
    std::vector<std::byte> bytes;
    bool suspect = false;
  };

  void inherit(std::uint32_t index, EndCause cause, SurvivingNodes& nodes) H5_REQUIRES(mutex_);
  std::optional<ssize_t> hand_out(int device, void* buffer, std::size_t length);
  std::uint32_t claim();
  void free_place(std::uint32_t index) H5_REQUIRES(mutex_);
  void free_place_of(std::uint64_t request) H5_REQUIRES(mutex_);
  void note(std::uint32_t index, const fuse_in_header& request, ByteSpan bytes);
  void note_agreement(const iovec* parts, int count);

  const SurvivingMemory& memory_;
  std::size_t count_inherited_ = 0;
  std::atomic<bool> any_inherited_ = false;
  bool replaying_ = false, replayed_ = false;  // used before the first thread
  std::atomic<std::uint64_t> agreeing_ = 0;    // the request FUSE_INIT
  mutable Mutex mutex_;
  std::deque<Inherited> waiting_ H5_GUARDED_BY(mutex_);
  std::vector<std::pair<std::uint64_t, int>> refused_ H5_GUARDED_BY(mutex_);  // with their errors
  std::optional<std::uint64_t> suspect_ H5_GUARDED_BY(mutex_);                // that is worked for
  std::unordered_map<std::uint64_t, std::uint32_t> places_ H5_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::survive

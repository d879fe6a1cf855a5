// SurvivingMemory: the memory that the servers of one mount share, one after the other.
//
// A server writes here what the next one needs, in such an order that the next one can go on from the state
// at any moment. The next one checks everything while it takes it over, as a process that has decoded hostile
// files wrote it. Every list has a fixed place and length, so that no number in the memory leads anywhere.
// Lists of free places are not kept: a place that nothing uses is free.
#pragma once

#include <linux/fuse.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/fuse/handover.h"
#include "h5mount/tree/names.h"

namespace h5mount::survive {

using fuse::HandleKind;

// How a server ended, and what that adds to the blame of each request that it was working for: a crash is
// likely to be the fault of one, SIGKILL mostly comes from outside. At kMaxBlame, which two crashes reach, it
// is answered with EIO.
enum class EndCause : unsigned { None = 0, Killed = 1, Crashed = 4 };
inline constexpr unsigned kMaxBlame = 8;

// Names are shorter; of the other requests only forgets are longer.
inline constexpr std::size_t kRequestBytes = 8192;
inline constexpr std::size_t kAgreementBytes = 512;  // of FUSE_INIT, and of its answer
inline constexpr std::uint32_t kNoTail = 0xFFFF'FFFF;

// FUSE_INIT and its answer: what the kernel and the first server agreed on.
struct SharedAgreement {
  std::uint32_t asked = 0, answered = 0;  // bytes of each; 0: not yet
  std::array<std::byte, kAgreementBytes> request, reply;
};

struct SharedHeader {
  std::uint64_t magic = 0;
  std::uint64_t layout = 0;
  std::uint64_t nodes = 0, tails = 0, handles = 0, requests = 0;  // places that were ever used
  std::uint64_t root_ino = 0, root_version = 0;                   // as of a SharedNode; 0: not noted yet
  std::uint32_t root_follows = 0;
  SharedAgreement agreement;
};

// A node that the kernel knows, and the place where it was first looked up.
struct SharedNode {
  std::uint32_t generation;
  std::uint32_t lookups;
  std::uint64_t parent;   // its id
  std::uint64_t ino;      // as shown
  std::int64_t mtime;     // as shown
  std::uint64_t version;  // of the files that its bytes come from, when it was opened; 0: not yet
  std::uint16_t name_length;
  std::uint8_t used;
  std::uint8_t flags;
  std::uint32_t tail;  // with the rest of a long name; kNoTail: there is none
  std::array<char, 48> name;
};
static_assert(sizeof(SharedNode) == 96);
inline constexpr std::uint8_t kNodeFollows = 1;  // its file may grow
inline constexpr std::uint8_t kNodeOthers = 2;   // its bytes may lie in other files

using SharedTail = std::array<char, tree::kMaxShownName - sizeof(SharedNode::name) + 1>;

struct SharedHandle {
  std::uint32_t generation;
  HandleKind kind;  // None: free
  std::uint64_t node;
  std::uint64_t listing;  // digest of a directory's listing; 0: not made yet
};

// A request that was read and not answered.
struct SharedRequest {
  std::uint32_t used;
  std::uint32_t begun;  // a server has worked for it
  std::uint32_t blame;
  std::uint32_t interrupted;
};

class SurvivingMemory {
 public:
  static constexpr std::size_t kNodes = 1U << 22, kTails = 1U << 22, kHandles = 1U << 20, kRequests = 4096;

  // Memory for one mount. Only the pages that are used take memory.
  static Result<UniqueFd> make();
  // Maps the memory, and initialises it if no server has used it yet.
  static Result<SurvivingMemory> map(int memory);
  ~SurvivingMemory();
  SurvivingMemory(SurvivingMemory&& other) noexcept : base_(std::exchange(other.base_, nullptr)) {}
  SurvivingMemory(const SurvivingMemory&) = delete;
  SurvivingMemory& operator=(const SurvivingMemory&) = delete;
  SurvivingMemory& operator=(SurvivingMemory&&) = delete;

  SharedHeader& header() const { return *at<SharedHeader>(0); }
  std::span<SharedNode> nodes() const { return {at<SharedNode>(kNodesAt), kNodes}; }
  std::span<SharedTail> tails() const { return {at<SharedTail>(kTailsAt), kTails}; }
  std::span<SharedHandle> handles() const { return {at<SharedHandle>(kHandlesAt), kHandles}; }
  std::span<SharedRequest> requests() const { return {at<SharedRequest>(kRequestsAt), kRequests}; }
  std::span<std::byte, kRequestBytes> request_bytes(std::size_t index) const {
    return std::span<std::byte, kRequestBytes>(base_ + kBytesAt + index * kRequestBytes, kRequestBytes);
  }

  // A store that the next server sees only after all stores before it.
  template <class T>
  static void publish(T& place, T value) {
    std::atomic_ref<T>(place).store(value, std::memory_order_release);
  }

  static constexpr std::size_t kRequestsAt = 4096;
  static constexpr std::size_t kBytesAt = kRequestsAt + kRequests * sizeof(SharedRequest);
  static constexpr std::size_t kHandlesAt = kBytesAt + kRequests * kRequestBytes;
  static constexpr std::size_t kNodesAt = kHandlesAt + kHandles * sizeof(SharedHandle);
  static constexpr std::size_t kTailsAt = kNodesAt + kNodes * sizeof(SharedNode);
  static constexpr std::size_t kBytes = kTailsAt + kTails * sizeof(SharedTail);

 private:
  explicit SurvivingMemory(std::byte* base) : base_(base) {}
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

  std::byte* base_;
};
static_assert(sizeof(SharedHeader) <= SurvivingMemory::kRequestsAt);
static_assert(SurvivingMemory::kBytesAt % 4096 == 0);

}  // namespace h5mount::survive

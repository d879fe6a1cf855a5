// KeptMemory: the memory that the servers of one mount share, one after the other
// (h5mount/fuse/kept_mount.h).
//
// A server writes here what the next one needs, in such an order that the next one can go on from the state
// at any moment. It reads nothing back; the next one checks everything while it takes it over, as a process
// that has decoded hostile files wrote it. Every list has a fixed place and length, so that no number in the
// memory leads anywhere. Lists of free places are not kept: a place that nothing uses is free.
#pragma once

#include <linux/fuse.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "h5mount/fuse/kept_mount.h"

namespace h5mount::fuse {

inline constexpr std::size_t kKeptRequestBytes =
    8192;  // names are shorter; of the rest only forgets are longer
inline constexpr std::size_t kKeptAgreementBytes = 512;  // of FUSE_INIT, and of its answer
inline constexpr std::uint32_t kNoTail = 0xFFFF'FFFF;

// FUSE_INIT and its answer: what the kernel and the first server agreed on.
struct KeptAgreement {
  std::uint32_t asked = 0, answered = 0;  // bytes of each; 0: not yet
  std::array<std::byte, kKeptAgreementBytes> request, reply;
};

struct KeptHeader {
  std::uint64_t magic = 0;
  std::uint64_t layout = 0;
  std::uint64_t nodes = 0, tails = 0, handles = 0, requests = 0;  // places that were ever used
  std::uint64_t root_ino = 0, root_version = 0;                   // as of a KeptNode; 0: not noted yet
  std::uint32_t root_follows = 0;
  KeptAgreement agreement;
};

// A node that the kernel knows, and the place where it was first looked up.
struct KeptNode {
  std::uint32_t generation;
  std::uint32_t lookups;
  std::uint64_t parent;   // its id
  std::uint64_t ino;      // as shown
  std::int64_t mtime;     // as shown
  std::uint64_t version;  // of the files that its bytes come from, when it was opened; 0: not yet
  std::uint16_t name_length;
  std::uint8_t used;
  std::uint8_t flags;
  std::uint32_t next;  // tail with the rest of the name
  std::array<char, 16> name;
};
static_assert(sizeof(KeptNode) == 64);
inline constexpr std::uint8_t kNodeFollows = 1;  // its file may grow
inline constexpr std::uint8_t kNodeOthers = 2;   // its bytes may lie in other files

struct KeptTail {
  std::uint32_t next;
  std::array<char, 60> name;
};

enum class HandleKind : std::uint8_t { None, File, Directory };

struct KeptHandle {
  std::uint32_t generation;
  HandleKind kind;  // None: free
  std::uint64_t node;
  std::uint64_t listing;  // digest of a directory's listing; 0: not made yet
};

// A request that was read and not answered.
struct KeptRequest {
  std::uint32_t used;
  std::uint32_t begun;  // a server has worked for it
  std::uint32_t blame;
  std::uint32_t interrupted;
};

class KeptMemory {
 public:
  static constexpr std::size_t kNodes = 1U << 22, kTails = 1U << 22, kHandles = 1U << 20, kRequests = 4096;

  // Maps the memory, and initialises it if no server has used it yet.
  static Result<KeptMemory> map(int memory);
  ~KeptMemory();
  KeptMemory(KeptMemory&& other) noexcept : base_(std::exchange(other.base_, nullptr)) {}
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  KeptMemory& operator=(KeptMemory&&) = delete;

  KeptHeader& header() const { return *at<KeptHeader>(0); }
  std::span<KeptNode> nodes() const { return {at<KeptNode>(kNodesAt), kNodes}; }
  std::span<KeptTail> tails() const { return {at<KeptTail>(kTailsAt), kTails}; }
  std::span<KeptHandle> handles() const { return {at<KeptHandle>(kHandlesAt), kHandles}; }
  std::span<KeptRequest> requests() const { return {at<KeptRequest>(kRequestsAt), kRequests}; }
  std::span<std::byte, kKeptRequestBytes> request_bytes(std::size_t index) const {
    return std::span<std::byte, kKeptRequestBytes>(base_ + kBytesAt + index * kKeptRequestBytes,
                                                   kKeptRequestBytes);
  }

  // A store that the next server sees only after all stores before it.
  template <class T>
  static void publish(T& place, T value) {
    std::atomic_ref<T>(place).store(value, std::memory_order_release);
  }

  static constexpr std::size_t kRequestsAt = 4096;
  static constexpr std::size_t kBytesAt = kRequestsAt + kRequests * sizeof(KeptRequest);
  static constexpr std::size_t kHandlesAt = kBytesAt + kRequests * kKeptRequestBytes;
  static constexpr std::size_t kNodesAt = kHandlesAt + kHandles * sizeof(KeptHandle);
  static constexpr std::size_t kTailsAt = kNodesAt + kNodes * sizeof(KeptNode);
  static constexpr std::size_t kBytes = kTailsAt + kTails * sizeof(KeptTail);

 private:
  explicit KeptMemory(std::byte* base) : base_(base) {}
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

  std::byte* base_;
};
static_assert(sizeof(KeptHeader) <= KeptMemory::kRequestsAt);
static_assert(KeptMemory::kBytesAt % 4096 == 0);

}  // namespace h5mount::fuse

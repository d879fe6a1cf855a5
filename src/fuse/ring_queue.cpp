#include "ring_queue.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ranges>
#include <thread>
#include <utility>

#include "reply_place.h"
#include "request_header.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kHeaderBytes = 4096;  // so that payloads begin with a page
// The longest request: what would be longer is a write, which the kernel refuses on a read-only mount.
constexpr std::size_t kMaxRingBytes = 128U << 10;

thread_local RingQueue* t_queue = nullptr;

std::size_t bytes_of(std::span<const ::iovec> pieces) {
  std::size_t total = 0;
  for (const ::iovec& piece : pieces) total += piece.iov_len;
  return total;
}

}  // namespace

Result<std::unique_ptr<RingQueue>> RingQueue::make(const std::vector<std::uint16_t>& processors,
                                                   unsigned entries, std::size_t payload_bytes) {
  auto made = std::unique_ptr<RingQueue>(new RingQueue(entries));
  // Each processor that shares the ring must have an entry, even those that are offline at present. The other
  // entries belong to the first processor.
  for (std::size_t i = 0; i < entries; ++i)
    made->entries_[i].processor = processors[i < processors.size() ? i : 0];
  H5_ASSIGN(made->ring_, IoUring::make(entries));
  H5_TRY(made->map_entries(payload_bytes));
  return made;
}

// The kernel uses the memory as long as it has the entries.
RingQueue::~RingQueue() {
  ring_.reset();
  if (memory_ != nullptr) ::munmap(memory_, memory_bytes_);
}

Status RingQueue::map_entries(std::size_t payload_bytes) {
  const std::size_t each = kHeaderBytes + payload_bytes;
  memory_bytes_ = entries_.size() * each;
  void* const at = ::mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return fail(io_error(errno, "memory for requests"));
  memory_ = static_cast<std::byte*>(at);
  std::byte* place = memory_;
  for (Entry& entry : entries_) {
    entry.headers = reinterpret_cast<UringHeaders*>(place);
    entry.payload = {place + kHeaderBytes, payload_bytes};
    entry.places = {::iovec{place, sizeof(UringHeaders)}, ::iovec{place + kHeaderBytes, payload_bytes}};
    place += each;
  }
  return {};
}

Status RingQueue::begin(fuse_session* session) {
  session_ = session;
  for (const Entry& entry : entries_) register_entry(entry);
  alive_ = entries_.size();
  submit();
  // If the kernel refuses a command, it does so at once.
  while (const auto completion = ring_->take()) {
    if (completion->result < 0)
      return fail(io_error(-completion->result, "registering with FUSE over io_uring"));
    early_.push_back(*completion);
  }
  return {};
}

// While the kernel is short of memory it submits nothing, and clients wait for what was pushed. Nobody else
// would submit it: the leader may wait for the next request.
void RingQueue::submit() {
  constexpr std::chrono::milliseconds kBetween{10};
  while (!ring_->submit() && !ended()) std::this_thread::sleep_for(kBetween);
}

void RingQueue::register_entry(const Entry& entry) {
  const UringCommand command{.flags = 0, .commit_id = 0, .queue = entry.processor, .padding = {}};
  ring_->push({.device = fuse_session_fd(session_),
               .operation = kUringRegister,
               .address = reinterpret_cast<std::uintptr_t>(entry.places.data()),
               .length = static_cast<std::uint32_t>(entry.places.size()),
               .user_data = number_of(entry),
               .argument = std::as_bytes(std::span(&command, 1))});
}

int RingQueue::receive(fuse_buf& buffer) {
  if (buffer.mem == nullptr) buffer.mem = std::malloc(kMaxRingBytes);
  if (buffer.mem == nullptr) return -ENOMEM;
  for (;;) {
    while (const auto completion = next()) {
      Entry& entry = entries_[static_cast<std::size_t>(completion->user_data)];
      if (completion->result < 0)
        lost(entry);
      else if (take(entry, buffer))
        return static_cast<int>(buffer.size);
    }
    if (alive_ == 0) return 0;  // the mount has ended
    const int error = ring_->enter(true);
    if (error == -EAGAIN)
      submit();
    else if (error < 0 && error != -EBUSY)
      return error;
  }
}

std::optional<IoUring::Completion> RingQueue::next() {
  if (early_.empty()) return ring_->take();
  const IoUring::Completion first = early_.back();
  early_.pop_back();
  return first;
}

// Puts the request together as it would be read from /dev/fuse. False: it was refused.
bool RingQueue::take(Entry& entry, fuse_buf& buffer) {
  // Another thread may have answered the entry's previous request, with only the kernel between the two
  // threads; this load synchronises with that thread.
  (void)entry.request.load(std::memory_order_acquire);
  fuse_in_header header;
  std::memcpy(&header, entry.headers->in_out, sizeof header);
  const std::size_t payload = entry.headers->entry.payload_size;
  entry.tried_again = false;
  entry.request.store(header.unique, std::memory_order_relaxed);
  const std::size_t rest = header.len - sizeof header - payload;
  if (header.len < sizeof header + payload || header.len > kMaxRingBytes ||
      rest > sizeof entry.headers->operation || payload > entry.payload.size()) {
    give_back(entry, {.len = sizeof(fuse_out_header), .error = -E2BIG, .unique = header.unique}, 0);
    return false;
  }
  auto* const out = static_cast<std::byte*>(buffer.mem);
  std::memcpy(out, &header, sizeof header);
  std::memcpy(out + sizeof header, entry.headers->operation, rest);
  std::memcpy(out + sizeof header + rest, entry.payload.data(), payload);
  buffer.size = header.len;
  return true;
}

// The thread that had given the entry back has ended, or the mount has.
void RingQueue::lost(Entry& entry) {
  if (!ended() && !std::exchange(entry.tried_again, true)) return register_entry(entry);
  --alive_;
}

void RingQueue::process(const fuse_buf& buffer) noexcept {
  // The entry is found by the request's number: another thread may lead by now, and have taken the next
  // request.
  fuse_in_header header;
  std::memcpy(&header, buffer.mem, sizeof header);
  const Entry* const entry = find(header.unique);
  const ReplyPlace place(entry != nullptr ? entry->payload : std::span<std::byte>());
  RingQueue* const before = std::exchange(t_queue, this);
  fuse_session_process_buf(session_, &buffer);
  t_queue = before;
}

pid_t RingQueue::client_of(const fuse_buf& buffer) const {
  return client_of_request(buffer);
}

RingQueue* RingQueue::current() {
  return t_queue;
}

// Searches from the end, as the kernel begins with the last entry.
RingQueue::Entry* RingQueue::find(std::uint64_t request) {
  for (Entry& entry : std::views::reverse(entries_))
    if (entry.request.load(std::memory_order_relaxed) == request) return &entry;
  return nullptr;
}

std::optional<ssize_t> RingQueue::answer(std::span<const ::iovec> reply) {
  fuse_out_header header;
  std::memcpy(&header, reply.front().iov_base, sizeof header);
  Entry* const entry = find(header.unique);
  if (entry == nullptr) return std::nullopt;
  const std::span<const ::iovec> pieces = reply.subspan(1);
  const std::size_t total = bytes_of(pieces);
  if (total > entry->payload.size()) {
    header.error = -EIO;
    give_back(*entry, header, 0);
  } else {
    std::byte* to = entry->payload.data();
    for (const ::iovec& piece : pieces) {
      if (piece.iov_base != to) std::memcpy(to, piece.iov_base, piece.iov_len);
      to += piece.iov_len;
    }
    give_back(*entry, header, total);
  }
  return static_cast<ssize_t>(sizeof header + total);
}

// The leader's answer is submitted when it waits for the next request, or before it works on.
void RingQueue::give_back(Entry& entry, const fuse_out_header& header, std::size_t payload) {
  const UringCommand command{
      .flags = 0, .commit_id = entry.headers->entry.commit_id, .queue = entry.processor, .padding = {}};
  std::memcpy(entry.headers->in_out, &header, sizeof header);
  entry.headers->entry.payload_size = static_cast<std::uint32_t>(payload);
  entry.request.store(0, std::memory_order_release);
  ring_->push({.device = fuse_session_fd(session_),
               .operation = kUringCommitAndFetch,
               .user_data = number_of(entry),
               .argument = std::as_bytes(std::span(&command, 1))});
  if (!ServingLoop::leads(*this)) submit();
}

}  // namespace h5mount::fuse

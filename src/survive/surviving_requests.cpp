#include "surviving_requests.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "h5mount/base/log.h"

namespace h5mount::survive {
namespace {

// The time between two checks whether the next suspect may be worked for.
constexpr int kBetweenSuspects = 5;  // milliseconds
constexpr std::chrono::milliseconds kUntilPlace{1};

bool has_answer(std::uint32_t opcode) {
  return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET && opcode != FUSE_INTERRUPT;
}

template <class T>
std::optional<T> part_at(ByteSpan bytes, std::size_t offset) {
  T out;
  if (offset > bytes.size() || bytes.size() - offset < sizeof out) return std::nullopt;
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

std::size_t total(const iovec* parts, int count) {
  std::size_t out = 0;
  for (int i = 0; i < count; ++i) out += parts[i].iov_len;
  return out;
}

// Some of the forgets may have been counted already.
void forget_again(ByteSpan request, const fuse_in_header& header, SurvivingNodes& nodes) {
  if (header.opcode == FUSE_FORGET) {
    const auto one = part_at<fuse_forget_in>(request, sizeof header);
    if (one) nodes.forget_exactly(header.nodeid, one->nlookup);
    return;
  }
  std::size_t at = sizeof header + sizeof(fuse_batch_forget_in);
  for (std::optional<fuse_forget_one> one; (one = part_at<fuse_forget_one>(request, at)); at += sizeof *one)
    nodes.forget_exactly(one->nodeid, one->nlookup);
}

}  // namespace

// ---- what an earlier server left

SurvivingRequests::SurvivingRequests(const SurvivingMemory& memory, SurvivingNodes& nodes, EndCause cause)
    : memory_(memory) {
  SharedHeader& header = memory_.header();
  header.requests = std::min<std::uint64_t>(header.requests, SurvivingMemory::kRequests);
  const MutexLock lock(mutex_);
  for (auto index = static_cast<std::uint32_t>(header.requests); index-- > 0;) inherit(index, cause, nodes);
  count_inherited_ = waiting_.size() + refused_.size();
  any_inherited_ = !waiting_.empty();
}

void SurvivingRequests::inherit(std::uint32_t index, EndCause cause, SurvivingNodes& nodes) {
  SharedRequest& shared = memory_.requests()[index];
  const auto bytes = memory_.request_bytes(index);
  const auto header = part_at<fuse_in_header>(bytes, 0);
  const bool sound = shared.used == 1 && header && header->len >= sizeof *header && header->unique != 0;
  if (!sound || places_.contains(header->unique)) return free_place(index);
  const std::size_t length = std::min<std::size_t>(header->len, bytes.size());
  Inherited out{.index = index, .bytes = std::vector(bytes.data(), bytes.data() + length)};
  if (!has_answer(header->opcode)) {
    if (header->opcode != FUSE_INTERRUPT) forget_again(out.bytes, *header, nodes);
    return free_place(index);
  }
  places_[header->unique] = index;
  if (shared.begun != 0) shared.blame = std::min(shared.blame, kMaxBlame) + static_cast<unsigned>(cause);
  shared.begun = 0;
  out.suspect = shared.blame >= static_cast<unsigned>(EndCause::Crashed);
  if (shared.blame >= kMaxBlame) {
    log(LogLevel::Error, "a request has ended two servers, and is answered with EIO: operation {} on node {}",
        header->opcode, header->nodeid);
    refused_.emplace_back(header->unique, EIO);
  } else if (shared.interrupted != 0 || header->len > bytes.size()) {
    refused_.emplace_back(header->unique, shared.interrupted != 0 ? EINTR : EIO);
  } else {
    waiting_.push_back(std::move(out));
  }
}

// Replays to the session what the kernel asked the first server, as its answer must be the same as then, and
// answers the requests that are refused.
Status SurvivingRequests::begin(int device,
                                const std::function<bool(std::span<std::byte> request)>& process) {
  const SharedAgreement& agreed = memory_.header().agreement;
  if (agreed.answered != 0) {
    std::vector<std::byte> request(agreed.request.begin(), agreed.request.end());
    request.resize(std::min<std::size_t>(request.size(), agreed.asked));
    if (request.size() < sizeof(fuse_in_header))
      return fail({ErrorCode::Internal, "what the kernel and an earlier server agreed on is lost"});
    replaying_ = true;
    const bool goes_on = process(request);
    replaying_ = false;
    if (!replayed_ || !goes_on)
      return fail({ErrorCode::UnsupportedFeature,
                   "this version of h5mount has other needs than the one that made the mount: unmount, and "
                   "mount again"});
  }
  std::vector<std::pair<std::uint64_t, int>> refused;
  {
    const MutexLock lock(mutex_);
    refused.swap(refused_);
  }
  for (const auto& [unique, error] : refused) {
    fuse_out_header header{.len = sizeof header, .error = -error, .unique = unique};
    const iovec part{&header, sizeof header};
    (void)answer(device, &part, 1);
  }
  return {};
}

// ---- answers

void SurvivingRequests::note_agreement(const iovec* parts, int count) {
  SharedAgreement& agreed = memory_.header().agreement;
  std::array<std::byte, kAgreementBytes> reply{};
  const std::size_t length = total(parts, count);
  if (length > reply.size()) return;
  std::size_t at = 0;
  for (int i = 0; i < count; ++i) {
    std::memcpy(reply.data() + at, parts[i].iov_base, parts[i].iov_len);
    at += parts[i].iov_len;
  }
  if (replaying_) {
    replayed_ = length == agreed.answered && reply == agreed.reply;
    return;
  }
  agreed.reply = reply;
  SurvivingMemory::publish(agreed.answered, static_cast<std::uint32_t>(length));
}

ssize_t SurvivingRequests::answer(int device, const iovec* parts, int count) {
  const auto& header = *static_cast<const fuse_out_header*>(parts[0].iov_base);
  if (replaying_ || (header.unique != 0 && header.unique == agreeing_)) note_agreement(parts, count);
  if (replaying_) return static_cast<ssize_t>(total(parts, count));
  const ssize_t written = ::writev(device, parts, count);
  if (header.unique == 0) return written;
  const int trouble = errno;
  {
    const MutexLock lock(mutex_);
    if (suspect_ == header.unique) suspect_.reset();
    free_place_of(header.unique);
  }
  errno = trouble;
  return written;
}

void SurvivingRequests::processed(std::uint64_t request, std::uint32_t opcode) {
  if (has_answer(opcode)) return;
  const MutexLock lock(mutex_);
  free_place_of(request);
}

void SurvivingRequests::free_place_of(std::uint64_t request) {
  const auto place = places_.find(request);
  if (place == places_.end()) return;
  free_place(place->second);
  places_.erase(place);
}

void SurvivingRequests::free_place(std::uint32_t index) {
  SurvivingMemory::publish(memory_.requests()[index].used, 0U);
  free_.push_back(index);
}

// ---- reading

std::uint32_t SurvivingRequests::claim() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      SharedHeader& header = memory_.header();
      if (free_.empty() && header.requests < SurvivingMemory::kRequests)
        free_.push_back(static_cast<std::uint32_t>(header.requests++));
      if (!free_.empty()) {
        const std::uint32_t out = free_.back();
        free_.pop_back();
        return out;
      }
    }
    std::this_thread::sleep_for(kUntilPlace);  // as many requests are being worked for as can be kept
  }
}

// Hands out a request that waits: returns its length, or -1. Returns nullopt if the device is to be read
// instead.
std::optional<ssize_t> SurvivingRequests::hand_out(int device, void* buffer, std::size_t length) {
  while (any_inherited_.load(std::memory_order_relaxed)) {
    {
      const MutexLock lock(mutex_);
      const auto next = std::ranges::find_if(
          waiting_, [this](const Inherited& one) H5_REQUIRES(mutex_) { return !one.suspect || !suspect_; });
      if (next != waiting_.end() && next->bytes.size() <= length) {
        const auto out = static_cast<ssize_t>(next->bytes.size());
        std::memcpy(buffer, next->bytes.data(), next->bytes.size());
        if (next->suspect) suspect_ = part_at<fuse_in_header>(next->bytes, 0)->unique;
        SurvivingMemory::publish(memory_.requests()[next->index].begun, 1U);
        waiting_.erase(next);
        any_inherited_ = !waiting_.empty();
        return out;
      }
    }
    pollfd readable{.fd = device, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, kBetweenSuspects);
    if (ready < 0) return -1;
    if (ready > 0) break;
  }
  return std::nullopt;
}

ssize_t SurvivingRequests::read(int device, void* buffer, std::size_t length) {
  if (const auto inherited = hand_out(device, buffer, length)) return *inherited;
  const std::uint32_t index = claim();
  const auto bytes = memory_.request_bytes(index);
  SharedRequest& shared = memory_.requests()[index];
  shared = {};
  const fuse_in_header none = {};
  std::memcpy(bytes.data(), &none, sizeof none);  // so that the page is there, and says nothing
  shared.begun = 1;
  SurvivingMemory::publish(shared.used, 1U);
  const std::size_t first = std::min(length, bytes.size());
  const std::array<iovec, 2> parts{
      iovec{bytes.data(), first},
      iovec{static_cast<std::byte*>(buffer) + first, length - first},
  };
  const ssize_t taken = ::readv(device, parts.data(), parts.size());
  if (taken < static_cast<ssize_t>(sizeof(fuse_in_header))) {
    const int trouble = errno;
    {
      const MutexLock lock(mutex_);
      free_place(index);
    }
    errno = trouble;
    return taken;
  }
  const std::size_t held = std::min(static_cast<std::size_t>(taken), first);
  std::memcpy(buffer, bytes.data(), held);
  note(index, *static_cast<const fuse_in_header*>(buffer), {static_cast<std::byte*>(buffer), held});
  return taken;
}

void SurvivingRequests::note(std::uint32_t index, const fuse_in_header& request, ByteSpan bytes) {
  if (request.opcode == FUSE_INIT && bytes.size() <= kAgreementBytes) {
    SharedAgreement& agreed = memory_.header().agreement;
    std::ranges::copy(bytes, agreed.request.begin());
    agreed.asked = static_cast<std::uint32_t>(bytes.size());
    agreeing_ = request.unique;
  }
  const MutexLock lock(mutex_);
  places_[request.unique] = index;
  if (request.opcode != FUSE_INTERRUPT) return;
  const auto what = part_at<fuse_interrupt_in>(bytes, sizeof request);
  const auto place = what ? places_.find(what->unique) : places_.end();
  if (place != places_.end()) memory_.requests()[place->second].interrupted = 1;
}

}  // namespace h5mount::survive

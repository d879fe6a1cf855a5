#include "ring_transport.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

#include "adapter.h"
#include "fuse_uring_abi.h"
#include "h5mount/base/thread.h"

namespace h5mount::fuse {
namespace {

constexpr const char* kParameter = "/sys/module/fuse/parameters/enable_uring";
constexpr const char* kProcessors = "/sys/devices/system/cpu/";
constexpr std::uint32_t kPageBytes = 4096;

std::string first_word(const std::string& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

// The text "0-7" gives eight. Returns nullopt if the numbers have gaps, as the kernel's numbers of queues are
// then not known.
std::optional<unsigned> count_of(const std::string& which) {
  const std::string range = first_word(kProcessors + which);
  if (range == "0") return 1;
  if (!range.starts_with("0-")) return std::nullopt;
  unsigned last = 0;
  const char* const end = range.data() + range.size();
  const auto [at, trouble] = std::from_chars(range.data() + 2, end, last);
  if (trouble != std::errc{} || at != end || last >= 0xFFFF) return std::nullopt;
  return last + 1;
}

RingTransport& transport_of(void* userdata) {
  return *static_cast<Adapter*>(userdata)->rings;
}

ssize_t read_request(int device, void* buffer, std::size_t bytes, void* userdata) {
  return transport_of(userdata).read(device, {static_cast<std::byte*>(buffer), bytes});
}

ssize_t write_reply(int device, ::iovec* pieces, int count, void* userdata) {
  return transport_of(userdata).write(device, {pieces, static_cast<std::size_t>(count)});
}

}  // namespace

Result<std::unique_ptr<RingTransport>> RingTransport::make() {
  const std::string enabled = first_word(kParameter);
  if (enabled.empty()) return fail({ErrorCode::UnsupportedFeature, "the kernel has no FUSE over io_uring"});
  if (enabled != "Y")
    return fail({ErrorCode::UnsupportedFeature, std::string(kParameter) + " is " + enabled});
  const auto possible = count_of("possible");
  if (!possible) return fail({ErrorCode::UnsupportedFeature, "processors are not numbered in a row"});
  const auto online = static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  const unsigned count = std::min({*possible, online, kMaxRings});
  auto made = std::unique_ptr<RingTransport>(new RingTransport());
  const unsigned shared = (*possible + count - 1) / count;  // processors of a ring, each with an entry
  const unsigned each = std::bit_ceil(std::max(kEntries / count, shared + 1));
  for (unsigned i = 0; i < count; ++i) {
    std::vector<std::uint16_t> processors;
    for (unsigned p = i; p < *possible; p += count) processors.push_back(static_cast<std::uint16_t>(p));
    auto ring = std::make_unique<Ring>();
    H5_ASSIGN(ring->queue, RingQueue::make(processors, each, kMaxReplyBytes));
    made->rings_.push_back(std::move(ring));
  }
  return made;
}

RingTransport::~RingTransport() {
  end();
}

Status RingTransport::attach(fuse_session* session, std::function<void(const Status&)> decided) {
  session_ = session;
  fuse_custom_io io{};
  io.writev = write_reply;
  io.read = read_request;
  if (fuse_session_custom_io(session, &io, fuse_session_fd(session)) != 0)
    return fail({ErrorCode::Io, "libfuse does not pass its replies on"});
  const MutexLock lock(mutex_);
  decided_ = std::move(decided);
  return {};
}

void RingTransport::start(const ServingLoop::Options& options) {
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    Ring& ring = *rings_[i];
    ServingLoop::Options own = options;
    own.processor = static_cast<int>(i);
    own.on_end = nullptr;
    ring.loop = std::make_unique<ServingLoop>(*ring.queue, own);
    ring.running = true;
    ring.thread = start_thread("h5-ring", [this, &ring] {
      run_guarded("h5-ring", [&] { serve(ring); });
      ring.running = false;
    });
  }
}

void RingTransport::serve(Ring& ring) {
  if (await_agreement() != Agreed::Yes) return;
  const Status begun = ring.queue->begin(session_);
  note_begun(begun);
  if (begun) ring.loop->run();
}

RingTransport::Agreed RingTransport::await_agreement() {
  MutexLock lock(mutex_);
  while (agreed_ == Agreed::NotYet) changed_.wait(lock);
  return agreed_;
}

void RingTransport::agree(Agreed agreed) {
  const MutexLock lock(mutex_);
  if (agreed_ == Agreed::NotYet) agreed_ = agreed;
  if (agreed_ == Agreed::No) settled_ = true;
  changed_.notify_all();
}

void RingTransport::note_begun(const Status& begun) {
  std::function<void(const Status&)> decided;
  {
    const MutexLock lock(mutex_);
    if (!begun || ++begun_ == rings_.size()) decided = std::exchange(decided_, nullptr);
  }
  if (!decided) return;
  decided(begun);
  const MutexLock lock(mutex_);
  settled_ = true;
  changed_.notify_all();
}

void RingTransport::await_decision() {
  MutexLock lock(mutex_);
  while (!settled_) changed_.wait(lock);
}

void RingTransport::interrupt() {
  for (const auto& ring : rings_)
    if (ring->loop) ring->loop->interrupt();
}

void RingTransport::end() {
  constexpr std::chrono::milliseconds kPause{1};
  agree(Agreed::No);
  for (const auto& ring : rings_) {
    if (!ring->thread.joinable()) continue;
    while (ring->running) {
      ring->loop->interrupt();
      std::this_thread::sleep_for(kPause);
    }
    ring->thread.join();
    ring->queue->close();
  }
}

ssize_t RingTransport::read(int device, std::span<std::byte> request) {
  const ssize_t bytes = ::read(device, request.data(), request.size());
  constexpr std::size_t kOffered = sizeof(fuse_in_header) + offsetof(fuse_init_in, unused);
  if (bytes < static_cast<ssize_t>(kOffered)) return bytes;
  fuse_in_header header;
  fuse_init_in init;
  std::memcpy(&header, request.data(), sizeof header);
  if (header.opcode != FUSE_INIT) return bytes;
  std::memcpy(&init, request.data() + sizeof header, offsetof(fuse_init_in, unused));
  const bool offered = (init.flags & kInitExtension) != 0 && (init.flags2 & kOverIoUring) != 0;
  if (offered) {
    init_request_ = header.unique;
  } else {
    agree(Agreed::No);
    note_begun(fail({ErrorCode::UnsupportedFeature, "the kernel does not offer it"}));
  }
  return bytes;
}

ssize_t RingTransport::write(int device, std::span<::iovec> reply) {
  fuse_out_header header;
  std::memcpy(&header, reply.front().iov_base, sizeof header);
  if (header.unique != 0 && header.unique == init_request_) return reply_to_init(device, reply);
  if (header.unique != 0) {
    RingQueue* const likely = RingQueue::current();
    if (likely != nullptr)
      if (const auto answered = likely->answer(reply)) return *answered;
    for (const auto& ring : rings_)
      if (ring->queue.get() != likely)
        if (const auto answered = ring->queue->answer(reply)) return *answered;
  }
  return ::writev(device, reply.data(), static_cast<int>(reply.size()));
}

// The reply as libfuse made it, except for what concerns the rings.
ssize_t RingTransport::reply_to_init(int device, std::span<::iovec> reply) {
  init_request_ = 0;
  fuse_out_header header;
  std::memcpy(&header, reply.front().iov_base, sizeof header);
  if (header.error != 0 || reply.size() != 2 || reply[1].iov_len < offsetof(fuse_init_out, unused)) {
    agree(Agreed::No);
    return ::writev(device, reply.data(), static_cast<int>(reply.size()));
  }
  fuse_init_out init = {};
  std::memcpy(&init, reply[1].iov_base, std::min(sizeof init, reply[1].iov_len));
  init.flags |= kInitExtension;
  init.flags2 |= kOverIoUring;
  init.max_write = std::min<std::uint32_t>(init.max_write, kMaxReplyBytes);
  init.max_background = std::min(init.max_background, kMaxBackground);
  init.max_pages = std::min<std::uint16_t>(init.max_pages, kMaxReplyBytes / kPageBytes);
  const std::array<::iovec, 2> out{reply[0], ::iovec{&init, reply[1].iov_len}};
  const ssize_t written = ::writev(device, out.data(), static_cast<int>(out.size()));
  agree(written < 0 ? Agreed::No : Agreed::Yes);
  return written;
}

}  // namespace h5mount::fuse

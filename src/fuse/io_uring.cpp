#include "io_uring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace h5mount::fuse {
namespace {

constexpr std::size_t kCommandBytes = 128;  // IORING_SETUP_SQE128
constexpr std::size_t kArgumentAt = offsetof(io_uring_sqe, cmd);

std::uint32_t load(std::uint32_t* shared) {
  return std::atomic_ref(*shared).load(std::memory_order_acquire);
}

void store(std::uint32_t* shared, std::uint32_t value) {
  std::atomic_ref(*shared).store(value, std::memory_order_release);
}

Error refused(const char* what) {
  return io_error(errno, what);
}

}  // namespace

IoUring::Mapping::~Mapping() {
  if (at != nullptr) ::munmap(at, bytes);
}

IoUring::~IoUring() = default;

Result<std::unique_ptr<IoUring>> IoUring::make(unsigned commands) {
  auto made = std::unique_ptr<IoUring>(new IoUring());
  io_uring_params params = {};
  params.flags = IORING_SETUP_SQE128 | IORING_SETUP_R_DISABLED;
  const long fd = ::syscall(SYS_io_uring_setup, commands, &params);
  if (fd < 0) return fail(refused("io_uring_setup"));
  made->ring_ = UniqueFd(static_cast<int>(fd));
  if ((params.features & IORING_FEAT_SINGLE_MMAP) == 0)
    return fail({ErrorCode::UnsupportedFeature, "the kernel's io_uring is too old"});
  H5_TRY(made->map(params));
  H5_TRY(made->restrict_to_commands());
  if (made->call_kernel(0, 0, 0) != 0) return fail(refused("io_uring_enter"));
  return made;
}

Status IoUring::map(const io_uring_params& params) {
  const auto shared = [&](std::size_t bytes, std::uint64_t offset, Mapping& out) -> Status {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_.get(),
                            static_cast<off_t>(offset));
    if (at == MAP_FAILED) return fail(refused("mapping an io_uring"));
    out.at = static_cast<std::byte*>(at);
    out.bytes = bytes;
    return {};
  };
  const std::size_t indexes = params.sq_off.array + params.sq_entries * sizeof(std::uint32_t);
  const std::size_t results = params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
  H5_TRY(shared(std::max(indexes, results), IORING_OFF_SQ_RING, rings_));
  H5_TRY(shared(params.sq_entries * kCommandBytes, IORING_OFF_SQES, commands_));
  const auto number = [&](std::uint32_t offset) {
    return reinterpret_cast<std::uint32_t*>(rings_.at + offset);
  };
  head_ = number(params.sq_off.head);
  tail_ = number(params.sq_off.tail);
  mask_ = *number(params.sq_off.ring_mask);
  completion_head_ = number(params.cq_off.head);
  completion_tail_ = number(params.cq_off.tail);
  completion_mask_ = *number(params.cq_off.ring_mask);
  completions_ = reinterpret_cast<const io_uring_cqe*>(rings_.at + params.cq_off.cqes);
  for (std::uint32_t i = 0; i < params.sq_entries; ++i) number(params.sq_off.array)[i] = i;
  return {};
}

Status IoUring::restrict_to_commands() const {
  std::array<io_uring_restriction, 1> allowed = {};
  allowed[0].opcode = IORING_RESTRICTION_SQE_OP;
  allowed[0].sqe_op = IORING_OP_URING_CMD;
  const auto call = [&](unsigned operation, const void* argument, unsigned count) {
    return ::syscall(SYS_io_uring_register, ring_.get(), operation, argument, count);
  };
  if (call(IORING_REGISTER_RESTRICTIONS, allowed.data(), allowed.size()) != 0)
    return fail(refused("restricting an io_uring"));
  if (call(IORING_REGISTER_ENABLE_RINGS, nullptr, 0) != 0) return fail(refused("enabling an io_uring"));
  return {};
}

// There is always room: no more commands are under way than were passed to `make`.
void IoUring::push(const Command& command) {
  const MutexLock lock(pushing_);
  const std::uint32_t tail = *tail_;
  std::byte* const at = commands_.at + (tail & mask_) * kCommandBytes;
  std::memset(at, 0, kCommandBytes);
  auto& out = *reinterpret_cast<io_uring_sqe*>(at);
  out.opcode = IORING_OP_URING_CMD;
  out.fd = command.device;
  out.cmd_op = command.operation;
  out.addr = command.address;
  out.len = command.length;
  out.user_data = command.user_data;
  std::memcpy(at + kArgumentAt, command.argument.data(), command.argument.size());
  store(tail_, tail + 1);
}

long IoUring::call_kernel(std::uint32_t submitted, std::uint32_t awaited, unsigned flags) const {
  return ::syscall(SYS_io_uring_enter, ring_.get(), submitted, awaited, flags, nullptr, 0);
}

// If another thread submits at the same time, the kernel finds fewer commands than it is told and does not
// wait; a caller that wants to wait then calls again.
int IoUring::enter(bool wait) {
  const std::uint32_t pushed = load(tail_) - load(head_);
  if (pushed == 0 && !wait) return 0;
  return call_kernel(pushed, wait ? 1 : 0, wait ? IORING_ENTER_GETEVENTS : 0) < 0 ? -errno : 0;
}

bool IoUring::submit() {
  const std::uint32_t pushed = load(tail_);
  enter(false);
  return static_cast<std::int32_t>(load(head_) - pushed) >= 0;
}

bool IoUring::ready() const {
  return *completion_head_ != load(completion_tail_);
}

std::optional<IoUring::Completion> IoUring::take() {
  const std::uint32_t head = *completion_head_;
  if (head == load(completion_tail_)) return std::nullopt;
  const io_uring_cqe& completion = completions_[head & completion_mask_];
  const Completion out{completion.user_data, completion.res};
  store(completion_head_, head + 1);
  return out;
}

}  // namespace h5mount::fuse

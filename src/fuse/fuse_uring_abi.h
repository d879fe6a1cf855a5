// FUSE over io_uring, as far as the linux/fuse.h of Debian 12 lacks it. Source: include/uapi/linux/fuse.h of
// Linux 6.14, and Documentation/filesystems/fuse/fuse-io-uring.rst.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h5mount::fuse {

inline constexpr std::uint32_t kInitExtension = 1U << 30;       // FUSE_INIT_EXT: flags2 is there
inline constexpr std::uint32_t kOverIoUring = 1U << (41 - 32);  // FUSE_OVER_IO_URING, in flags2

struct UringEntryState {  // fuse_uring_ent_in_out
  std::uint64_t flags;
  std::uint64_t commit_id;     // of the request, to be given back with the reply
  std::uint32_t payload_size;  // bytes
  std::uint32_t padding;
  std::uint64_t reserved;
};

struct UringHeaders {                   // fuse_uring_req_header
  alignas(8) std::byte in_out[128];     // fuse_in_header of a request, fuse_out_header of a reply
  alignas(8) std::byte operation[128];  // the first argument of a request, which the operation defines
  UringEntryState entry;
};
static_assert(sizeof(UringHeaders) == 288);

struct UringCommand {  // fuse_uring_cmd_req
  std::uint64_t flags;
  std::uint64_t commit_id;
  std::uint16_t queue;
  std::uint8_t padding[6];
};

inline constexpr std::uint32_t kUringRegister = 1;        // FUSE_IO_URING_CMD_REGISTER
inline constexpr std::uint32_t kUringCommitAndFetch = 2;  // FUSE_IO_URING_CMD_COMMIT_AND_FETCH

}  // namespace h5mount::fuse

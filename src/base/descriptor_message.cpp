#include "h5mount/base/descriptor_message.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace h5mount {
namespace {

constexpr std::size_t kMaxDescriptors = 2;

// A message of these bytes, with room for descriptors.
struct Envelope {
  Envelope(char* bytes, std::size_t length) : part{bytes, length} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  iovec part;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
};

}  // namespace

bool send_with_descriptors(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  Envelope out(const_cast<char*>(bytes.data()), bytes.size());
  const std::size_t length = std::min(descriptors.size(), kMaxDescriptors) * sizeof(int);
  out.message.msg_controllen = length == 0 ? 0 : CMSG_SPACE(length);
  if (cmsghdr* const header = CMSG_FIRSTHDR(&out.message); header != nullptr) {
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(length);
    std::memcpy(CMSG_DATA(header), descriptors.data(), length);
  }
  return ::sendmsg(socket, &out.message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

DescriptorMessage receive_with_descriptors(int socket, std::size_t most) {
  DescriptorMessage out{.bytes = std::string(most, '\0'), .descriptors = {}};
  Envelope in(out.bytes.data(), most);
  ssize_t length = 0;
  do {
    length = ::recvmsg(socket, &in.message, MSG_CMSG_CLOEXEC);
  } while (length < 0 && errno == EINTR);
  out.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  if (length <= 0) return out;
  for (cmsghdr* header = CMSG_FIRSTHDR(&in.message); header != nullptr;
       header = CMSG_NXTHDR(&in.message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    std::array<int, kMaxDescriptors> numbers{};
    const std::size_t bytes = std::min(header->cmsg_len - CMSG_LEN(0), sizeof numbers);
    std::memcpy(numbers.data(), CMSG_DATA(header), bytes);
    for (std::size_t i = 0; i < bytes / sizeof(int); ++i) out.descriptors.emplace_back(numbers[i]);
  }
  return out;
}

}  // namespace h5mount

#include "keeper_messages.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>

namespace h5mount::cli {
namespace {

constexpr std::size_t kMaxDescriptors = 2;
constexpr int kFirstStored = 3;

struct Ancillary {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes{};
};

bool send_with(int socket, const void* name, socklen_t name_length, std::string_view text,
               const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message = {};
  message.msg_name = const_cast<void*>(name);
  message.msg_namelen = name_length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Ancillary ancillary;
  if (!descriptors.empty()) {
    const std::size_t bytes = std::min(descriptors.size(), kMaxDescriptors) * sizeof(int);
    message.msg_control = ancillary.bytes.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

std::vector<UniqueFd> descriptors_of(msghdr& message) {
  std::vector<UniqueFd> out;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int one = -1;
      std::memcpy(&one, CMSG_DATA(header) + i * sizeof one, sizeof one);
      out.emplace_back(one);
    }
  }
  return out;
}

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

template <class Number>
Number number_in(std::string_view text) {
  Number out{};
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), out);
  return trouble == std::errc{} && end == text.data() + text.size() ? out : Number{};
}

}  // namespace

bool send_message(int socket, KeeperWord word, unsigned char detail, const std::vector<int>& descriptors) {
  const std::array<char, 2> text{static_cast<char>(word), static_cast<char>(detail)};
  return send_with(socket, nullptr, 0, {text.data(), text.size()}, descriptors);
}

std::optional<KeeperMessage> receive_message(int socket) {
  std::array<char, 2> text{};
  iovec part{text.data(), text.size()};
  Ancillary ancillary;
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.bytes.data();
  message.msg_controllen = ancillary.bytes.size();
  ssize_t length = 0;
  do {
    length = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (length < 0 && errno == EINTR);
  if (length != static_cast<ssize_t>(text.size())) return std::nullopt;
  return KeeperMessage{static_cast<KeeperWord>(text[0]), static_cast<unsigned char>(text[1]),
                       descriptors_of(message)};
}

bool notify_systemd(const std::string& text, std::optional<int> descriptor) {
  const std::string_view place = environment("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (place.empty() || place.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  std::ranges::copy(place, address.sun_path);
  if (place.front() == '@') address.sun_path[0] = '\0';
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size());
  return socket && send_with(socket.get(), &address, length, text,
                             descriptor ? std::vector<int>{*descriptor} : std::vector<int>{});
}

unsigned count_stored_descriptors() {
  if (number_in<pid_t>(environment("LISTEN_PID")) != ::getpid()) return 0;
  constexpr unsigned kMax = 16;
  return std::min(number_in<unsigned>(environment("LISTEN_FDS")), kMax);
}

namespace {

// Calls `use` with each descriptor and its name, which is empty if it has none.
void for_each_stored(const std::function<void(int, std::string_view)>& use) {
  std::string_view names = environment("LISTEN_FDNAMES");
  for (unsigned i = 0; i < count_stored_descriptors(); ++i) {
    const std::string_view one = names.substr(0, names.find(':'));
    use(kFirstStored + static_cast<int>(i), one);
    names.remove_prefix(std::min(one.size() + 1, names.size()));
  }
}

}  // namespace

std::optional<int> stored_descriptor(const std::string& name) {
  std::optional<int> out;
  for_each_stored([&](int descriptor, std::string_view one) {
    if (one == name && !out) out = descriptor;
  });
  return out;
}

std::vector<int> handed_sockets() {
  std::vector<int> out;
  for_each_stored([&](int descriptor, std::string_view name) {
    if (name != kDeviceName && name != kMemoryName) out.push_back(descriptor);
  });
  return out;
}

}  // namespace h5mount::cli

#include "h5mount/survive/systemd.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "h5mount/base/descriptor_message.h"
#include "h5mount/base/text.h"

namespace h5mount::survive {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool notify_systemd(const std::string& text, std::optional<int> descriptor) {
  const std::string_view place = environment("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (place.empty() || place.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  std::ranges::copy(place, address.sun_path);
  if (place.front() == '@') address.sun_path[0] = '\0';
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size());
  return socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
         send_with_descriptors(socket.get(), text,
                               descriptor ? std::vector<int>{*descriptor} : std::vector<int>{});
}

std::vector<StoredDescriptor> stored_descriptors() {
  constexpr int kFirst = 3, kMost = 16;
  std::vector<StoredDescriptor> out;
  if (parse_whole<int>(environment("LISTEN_PID")) != ::getpid()) return out;
  std::string_view names = environment("LISTEN_FDNAMES");
  const int count = std::min(parse_whole<int>(environment("LISTEN_FDS")).value_or(0), kMost);
  for (int number = kFirst; number < kFirst + count; ++number) {
    out.push_back({number, std::string(take_until(names, ':'))});
  }
  return out;
}

}  // namespace h5mount::survive

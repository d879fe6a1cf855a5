#include "h5mount/survive/systemd.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "h5mount/base/descriptor_message.h"

namespace h5mount::survive {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

int number_in(std::string_view text) {
  int out = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), out);
  return trouble == std::errc{} && end == text.data() + text.size() ? out : 0;
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
  if (number_in(environment("LISTEN_PID")) != ::getpid()) return out;
  std::string_view names = environment("LISTEN_FDNAMES");
  const int count = std::min(number_in(environment("LISTEN_FDS")), kMost);
  for (int number = kFirst; number < kFirst + count; ++number) {
    const std::string_view one = names.substr(0, names.find(':'));
    out.push_back({number, std::string(one)});
    names.remove_prefix(std::min(one.size() + 1, names.size()));
  }
  return out;
}

}  // namespace h5mount::survive

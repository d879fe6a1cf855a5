#include "h5mount/serve/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host.h"

namespace h5mount::serve {
namespace {

constexpr int kBacklog = 4096;
constexpr mode_t kOwnerOnly = 0177;  // bits that are removed from a socket's mode

struct Address {
  sockaddr_storage storage = {};
  socklen_t length = 0;
};

Result<Address> parse_address(const std::string& text, std::uint16_t port) {
  Address out;
  auto* const four = reinterpret_cast<sockaddr_in*>(&out.storage);
  if (::inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    out.length = sizeof *four;
    return out;
  }
  auto* const six = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (::inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    out.length = sizeof *six;
    return out;
  }
  return fail(Error(ErrorCode::InvalidValue, text + " is no address: as numbers, 127.0.0.1 or ::1"));
}

UniqueFd stream_socket(int family) {
  return UniqueFd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

Listener describe_port(const sockaddr_storage& address) {
  Listener out;
  char text[INET6_ADDRSTRLEN] = "";
  out.six = address.ss_family == AF_INET6;
  if (out.six) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
    out.port = ntohs(six.sin6_port);
    out.loopback = is_loopback(six.sin6_addr);
  } else {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
    out.port = ntohs(four.sin_port);
    out.loopback = ntohl(four.sin_addr.s_addr) >> 24 == 127;
  }
  const std::string host = out.six ? fmt::format("[{}]", text) : text;
  out.url = fmt::format("http://{}:{}/", host, out.port);
  return out;
}

Result<Listener> listen_on_port(const ServerOptions& options) {
  H5_ASSIGN(Address address, parse_address(options.address, options.port));
  auto* const place = reinterpret_cast<sockaddr*>(&address.storage);
  UniqueFd socket = stream_socket(address.storage.ss_family);
  const int on = 1;
  if (socket.get() >= 0) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool done = socket.get() >= 0 && ::bind(socket.get(), place, address.length) == 0 &&
                    ::listen(socket.get(), kBacklog) == 0 &&
                    ::getsockname(socket.get(), place, &address.length) == 0;
  const int trouble = errno;
  Listener out = describe_port(address.storage);
  if (!done) return fail(io_error(trouble, "cannot listen on " + out.url));
  out.socket = std::move(socket);
  return out;
}

// Removes a socket that nobody listens on any more. Anything else at the path is an error, and so is a socket
// of another user, which only root could remove.
Status make_room(const std::string& path, const sockaddr_un& address) {
  struct stat there = {};
  if (::lstat(path.c_str(), &there) != 0)
    return errno == ENOENT ? Status() : Status(fail(io_error(errno, path)));
  if (!S_ISSOCK(there.st_mode))
    return fail(Error(ErrorCode::Io, path + " exists and is no socket: name another path"));
  if (there.st_uid != ::geteuid())
    return fail(Error(ErrorCode::Io, path + " is another user's socket: name another path"));
  const UniqueFd probe = stream_socket(AF_UNIX);
  if (probe.get() < 0) return fail(io_error(errno, path));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno != ECONNREFUSED)
    return fail(
        Error(ErrorCode::Io,
              path + " is in use: another program answers on it; end that one, or name another path"));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(io_error(errno, "cannot replace " + path));
  return {};
}

Result<Listener> listen_on_path(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(
        Error(ErrorCode::InvalidValue, fmt::format("unix:{}: the path of a socket has at most {} bytes", path,
                                                   sizeof address.sun_path - 1)));
  std::memcpy(address.sun_path, path.data(), path.size());
  H5_TRY(make_room(path, address));
  Listener out;
  out.socket = stream_socket(AF_UNIX);
  if (out.socket.get() < 0) return fail(io_error(errno, "cannot listen on " + path));
  // The mode is right from the moment at which the file exists. The mask applies to all threads of the
  // process: files that others make meanwhile are for this user alone too.
  const mode_t before = ::umask(kOwnerOnly);
  const int bound = ::bind(out.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int trouble = errno;
  ::umask(before);
  if (bound != 0) return fail(io_error(trouble, "cannot listen on " + path));
  out.file = SocketFile(path);
  out.own_file = true;
  if (::listen(out.socket.get(), kBacklog) != 0) return fail(io_error(errno, "cannot listen on " + path));
  out.url = fmt::format("http://unix:{}:/", path);
  return out;
}

// ---- sockets that others made

Listener describe_path(const sockaddr_un& address, socklen_t length) {
  Listener out;
  const std::size_t most = length - std::min<std::size_t>(length, offsetof(sockaddr_un, sun_path));
  const std::string path(address.sun_path, ::strnlen(address.sun_path, most));
  struct stat there = {};
  const auto whole = std::filesystem::absolute(path).lexically_normal();
  out.url = fmt::format("http://unix:{}:/", path.empty() ? path : whole.string());
  out.own_file = ::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode) &&
                 there.st_uid == ::geteuid() && (there.st_mode & 0077) == 0;
  return out;
}

Result<Listener> describe_socket(int descriptor) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  int listens = 0;
  socklen_t bytes = sizeof listens;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return fail({ErrorCode::InvalidValue, "what was handed over (LISTEN_FDS) is no socket that listens"});
  if (address.ss_family == AF_UNIX)
    return describe_path(reinterpret_cast<const sockaddr_un&>(address), length);
  if (address.ss_family == AF_INET || address.ss_family == AF_INET6) return describe_port(address);
  return fail({ErrorCode::InvalidValue, "the socket that was handed over (LISTEN_FDS) has no address"});
}

// The place that `options` name, in the words of a socket's own.
Result<Listener> describe_named(const ServerOptions& options) {
  Listener out;
  if (!options.socket_path.empty()) {
    const auto whole = std::filesystem::absolute(options.socket_path).lexically_normal();
    out.url = fmt::format("http://unix:{}:/", whole.string());
    return out;
  }
  H5_ASSIGN(const Address address, parse_address(options.address, options.port));
  return describe_port(address.storage);
}

// `*` is every address, whichever family the socket says it in.
bool is_any(const std::string& url) {
  return url.starts_with("http://0.0.0.0:") || url.starts_with("http://[::]:");
}

bool same_place(const Listener& named, const Listener& handed) {
  const auto without_port = [](const std::string& url) { return url.substr(0, url.rfind(':')); };
  if (named.port != 0 && named.port != handed.port) return false;
  if (named.port == 0 && handed.port == 0) return named.url == handed.url;
  if (is_any(named.url) && is_any(handed.url)) return true;
  return without_port(named.url) == without_port(handed.url);
}

Result<Listener> adopt_socket(const ServerOptions& options) {
  UniqueFd socket(options.handed_socket);
  H5_ASSIGN(Listener out, describe_listening(options, socket.get()));
  const int flags = ::fcntl(socket.get(), F_GETFL);
  ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK);
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  out.socket = std::move(socket);
  out.handed = true;
  return out;
}

}  // namespace

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  struct stat made = {};
  if (::lstat(path_.c_str(), &made) != 0) path_.clear();
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

void SocketFile::remove() {
  struct stat now = {};
  if (!path_.empty() && ::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_)
    ::unlink(path_.c_str());
  path_.clear();
}

Result<Listener> describe_listening(const ServerOptions& options, int descriptor) {
  H5_ASSIGN(Listener handed, describe_socket(descriptor));
  H5_ASSIGN(const Listener named, describe_named(options));
  if (same_place(named, handed)) return handed;
  return fail({ErrorCode::InvalidValue,
               fmt::format("--serve names {}, but the socket that was handed over (LISTEN_FDS) is at {}",
                           named.url, handed.url)});
}

Result<Listener> listen_at(const ServerOptions& options) {
  if (options.handed_socket >= 0) return adopt_socket(options);
  return options.socket_path.empty() ? listen_on_port(options) : listen_on_path(options.socket_path);
}

}  // namespace h5mount::serve

// The running server over sockets, in this process, with short deadlines.
#pragma once

#include "h5mount/serve/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "h5mount/base/unique_fd.h"
#include "support/h5py_file.h"

namespace h5mount::serve {
using std::chrono::milliseconds;
using std::chrono::steady_clock;

inline constexpr std::size_t kLarge = 48U << 20;

inline const std::vector<std::byte>& file_bytes() {
  static const auto bytes = test::written_with_h5py(
      "import numpy as np\n"
      "f['x'] = np.arange(1000, dtype='<i4')\n"
      "f.create_dataset('large', (48 << 20,), 'u1', chunks=(1 << 20,), compression='gzip')\n"
      "f.create_dataset('stored', (80 << 20,), 'u1')[-1:] = 1\n");
  return bytes;
}

// A source whose version the test sets.
struct TestSource {
  std::shared_ptr<std::atomic<std::uint64_t>> version = std::make_shared<std::atomic<std::uint64_t>>(1);
  std::shared_ptr<std::atomic<bool>> current = std::make_shared<std::atomic<bool>>(true);

  Result<OpenedSource> open() const {
    H5_ASSIGN(auto files, object::FileSet::open(io::make_memory_source(file_bytes()), {}));
    H5_ASSIGN(auto tree, tree::Tree::make({std::make_shared<cache::BlockCache>(64U << 20),
                                           std::make_shared<cache::WorkerPool>(2), files},
                                          {}));
    return OpenedSource{tree, [version = version, current = current] {
                          return SourceState{*current, *version, 1'000'000'000'000'000'000};
                        }};
  }
  SourceToServe source() const {
    auto opened = open();
    EXPECT_TRUE(opened);
    return {"f.h5",
            [self = *this] {
              *self.current = true;
              return self.open();
            },
            *opened};
  }
};

class Client {
 public:
  // To an address of IPv4 or IPv6 in place of 127.0.0.1.
  Client(const std::string& address, std::uint16_t port) {
    sockaddr_in6 six = {};
    sockaddr_in four = {};
    six.sin6_family = AF_INET6;
    four.sin_family = AF_INET;
    six.sin6_port = four.sin_port = htons(port);
    const bool is_six = ::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1;
    if (!is_six) ::inet_pton(AF_INET, address.c_str(), &four.sin_addr);
    socket_ = UniqueFd(::socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    connected_ = ::connect(socket_.get(),
                           is_six ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four),
                           is_six ? sizeof six : sizeof four) == 0;
  }
  explicit Client(const std::string& url, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    connected_ = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  bool send(std::string_view text) const {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  void get(const std::string& target, const std::string& fields = "") const {
    send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
  }
  // What comes until the end, or until nothing comes for so long.
  std::string all(milliseconds patience = milliseconds(20000)) {
    std::string out;
    char buffer[65536];
    pollfd wanted = {socket_.get(), POLLIN, 0};
    while (::poll(&wanted, 1, static_cast<int>(patience.count())) == 1) {
      const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (count <= 0) {
        closed_ = true;
        break;
      }
      out.append(buffer, static_cast<std::size_t>(count));
    }
    return out;
  }
  bool closed() const { return closed_; }
  std::size_t some() const {
    char buffer[512];
    return static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(socket_.get(), buffer, sizeof buffer, 0)));
  }

 private:
  UniqueFd socket_;
  bool connected_ = false, closed_ = false;
};

// Whether this machine has IPv6.
inline bool has_six() {
  const UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return socket.get() >= 0 &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

inline unsigned status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? static_cast<unsigned>(std::stoi(answer.substr(9, 3))) : 0;
}

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_serve()) GTEST_SKIP() << "built without libmicrohttpd";
    ASSERT_FALSE(file_bytes().empty());
  }
  void start(const ServerOptions& options = {}) {
    std::vector<SourceToServe> sources;
    sources.push_back(source.source());
    start_with(std::move(sources), options);
  }
  void start_with(std::vector<SourceToServe> sources, const ServerOptions& options = {}) {
    auto started = Server::start(options, std::move(sources));
    ASSERT_TRUE(started) << started.error().text();
    server = *std::move(started);
  }
  std::string answer(const std::string& request) const {
    Client client(server->url());
    client.send(request);
    return client.all(milliseconds(1000));
  }
  std::string answer_at(const std::string& address, const std::string& request) const {
    const std::string url = server->url();
    Client client(address, static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    client.send(request);
    return client.all(milliseconds(1000));
  }
  std::string get(const std::string& target, const std::string& fields = "") const {
    return answer("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fields +
                  "\r\n");
  }

  TestSource source;
  std::unique_ptr<Server> server;
};

inline std::string field(const std::string& answer, const std::string& name) {
  const std::size_t place = answer.find("\r\n" + name + ": ");
  if (place == std::string::npos) return {};
  const std::size_t begin = place + name.size() + 4;
  return answer.substr(begin, answer.find("\r\n", begin) - begin);
}

}  // namespace h5mount::serve

#include "claims_visit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "h5mount/base/unique_fd.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/io/byte_source.h"
#include "h5mount/serve/server.h"
#include "h5mount/tree/tree.h"
#include "memory_peak.h"

namespace h5mount::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kCache = 16U << 20;

std::shared_ptr<cache::WorkerPool> workers() {
  static const auto pool = std::make_shared<cache::WorkerPool>(2);
  return pool;
}

class Visit {
 public:
  Visit(const ClaimsBounds& bounds, ClaimsReport& report) : bounds_(bounds), report_(report) {
    reset_memory_peak();
    before_ = memory_peak();
  }

  void tree(tree::Tree& of) {
    walk(of, tree::kRootNode, "", 3);
    const auto hidden = of.lookup(tree::kRootNode, ".h5");
    if (!hidden) return;
    const auto listing = of.open_directory(hidden->node);
    if (!listing) return;
    for (std::size_t i = 0; i < (*listing)->size(); ++i) {
      const std::string name = (*listing)->name_at(i);
      if (const auto found = of.lookup(hidden->node, name))
        found->stat.type == tree::NodeType::Directory ? walk(of, found->node, "/.h5/" + name, 3)
                                                      : file(of, found->node, "/.h5/" + name);
    }
  }

  // What the walk met, and forms of it.
  void server(const std::string& url) {
    std::vector<std::string> targets = {"/", "/?list", "/api/meta", "/api/paths", "/.h5/?list"};
    for (const std::string& path : paths_) {
      targets.push_back(path);
      for (const char* endpoint : {"meta", "attr", "data", "stats", "paths", "views"})
        targets.push_back(std::string("/.h5/api/") + endpoint + "?path=" + path);
      targets.push_back(path + "/?list");
    }
    const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    for (const std::string& target : targets) timed("GET " + target, [&] { return get(port, target); });
  }

 private:
  template <class Request>
  auto timed(const std::string& what, Request&& request) -> decltype(request()) {
    const auto began = Clock::now();
    auto result = request();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    ++report_.requests;
    if (!result) ++report_.refused;
    if (seconds > report_.slowest_seconds) {
      report_.slowest_seconds = seconds;
      report_.slowest = what;
    }
    if (seconds > bounds_.seconds) violation(what + " took " + std::to_string(seconds) + " s");
    const std::uint64_t peak = memory_peak(), most = before_ + kCache;
    if (peak > most + report_.memory_above_cache) {
      report_.memory_above_cache = peak - most;
      report_.largest = what;
      if (report_.memory_above_cache > bounds_.memory_above_cache)
        violation(what + ": " + std::to_string(report_.memory_above_cache >> 20) + " MiB above the cache");
    }
    return result;
  }

  void violation(std::string what) { report_.violations.push_back(std::move(what)); }

  void walk(tree::Tree& of, tree::NodeId node, const std::string& path, unsigned levels) {
    (void)timed("list_xattrs " + path, [&] { return of.list_xattrs(node); });
    const auto listing = timed("open_directory " + path, [&] { return of.open_directory(node); });
    if (!listing) return;
    const std::size_t count = (*listing)->size();
    const std::size_t step = std::max<std::size_t>(1, count / bounds_.entries);
    for (std::size_t i = 0; i < count; i += step) {
      const std::string below = path + "/" + (*listing)->name_at(i);
      const auto entry = timed("lookup " + below, [&] { return of.lookup_listed(node, **listing, i); });
      if (!entry) continue;
      if (paths_.size() < kMaxPaths && paths_.size() % 3 != 2) paths_.push_back(encoded(below));
      switch (entry->stat.type) {
        case tree::NodeType::Directory:
          if (levels > 0) walk(of, entry->node, below, levels - 1);
          break;
        case tree::NodeType::Symlink:
          (void)timed("readlink " + below, [&] { return of.readlink(entry->node); });
          break;
        case tree::NodeType::File:
          file(of, entry->node, below);
          break;
      }
      of.forget(entry->node, 1);
    }
  }

  void file(tree::Tree& of, tree::NodeId node, const std::string& path) {
    constexpr std::uint64_t kBytes = 64U << 10;
    (void)timed("list_xattrs " + path, [&] { return of.list_xattrs(node); });
    const auto stat = timed("stat " + path, [&] { return of.stat(node, tree::StatDepth::Full); });
    const auto open = timed("open " + path, [&] { return of.open(node); });
    if (!open) return;
    const auto read = [&](std::uint64_t offset) {
      dataset::Pieces pieces;
      return (*open)->read(offset, kBytes, pieces);
    };
    (void)timed("read " + path, [&] { return read(0); });
    if (stat && stat->size > kBytes)
      (void)timed("read the end of " + path, [&] { return read(stat->size - kBytes); });
  }

  static std::string encoded(const std::string& path) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::string out;
    for (const char c : path) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-') {
        out += c;
        continue;
      }
      out += '%';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    }
    return out;
  }

  // The first MiB of an answer.
  static Status get(std::uint16_t port, const std::string& target) {
    constexpr std::size_t kMax = 1U << 20;
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const timeval patience{60, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const std::string request =
        "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-65535\r\nConnection: close\r\n\r\n";
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
      return fail({ErrorCode::Io, "no connection"});
    std::vector<char> buffer(64U << 10);
    for (std::size_t got = 0; got < kMax;) {
      const ssize_t count = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
      if (count <= 0) break;
      got += static_cast<std::size_t>(count);
    }
    return {};
  }

  static constexpr std::size_t kMaxPaths = 60;

  const ClaimsBounds& bounds_;
  ClaimsReport& report_;
  std::uint64_t before_ = 0;
  std::vector<std::string> paths_;
};

}  // namespace

ClaimsReport visit_claims(const std::vector<std::byte>& file, const ClaimsBounds& bounds, bool over_http) {
  ClaimsReport report;
  Visit visit(bounds, report);
  auto files = object::FileSet::open(io::make_memory_source(file), {});
  if (!files) return report;
  const auto tree = tree::Tree::make({std::make_shared<cache::BlockCache>(kCache), workers(), *files}, {});
  if (!tree) return report;
  report.opened = true;
  {
    const std::shared_ptr<void> pin = (*tree)->pin();
    visit.tree(**tree);
  }
  if (!over_http || !serve::can_serve()) return report;
  const serve::OpenedSource opened{*tree, [] { return serve::SourceState{}; }};
  std::vector<serve::SourceToServe> sources;
  sources.push_back({"claims.h5", [opened]() -> Result<serve::OpenedSource> { return opened; }, opened});
  const auto server = serve::Server::start({}, std::move(sources));
  if (!server) return report;
  visit.server((*server)->url());
  return report;
}

}  // namespace h5mount::test

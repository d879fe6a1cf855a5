#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "h5mount/base/thread.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/base/watchdog.h"
#include "h5mount/serve/listener.h"
#include "http/exchange.h"
#include "s3/s3_site.h"
#include "site/site.h"

namespace h5mount::serve {
namespace {

constexpr unsigned kMaxLoops = 4;  // threads that send and receive
// Options for the threads that read trees: their number, to which one for each processor is added, and the
// largest number, which is reached if sources hang. A job may take long, but must not hold up jobs of other
// clients. So requests that have taken long before share a few threads; and if jobs that were thought to be
// quick take long after all, or if long jobs wait rather than work, further threads are started for those
// that wait.
JobQueue::Options quick_readers() {
  return {.name = "h5-quick",
          .threads = std::thread::hardware_concurrency() + 4,
          .limit = JobQueue::kUnlimited,  // a job for each connection
          .patience = std::chrono::milliseconds(50),
          .max_threads = 384};
}
JobQueue::Options long_readers() {
  return {.name = "h5-long",
          .threads = std::thread::hardware_concurrency() + 8,
          .limit = JobQueue::kUnlimited,
          .patience = std::chrono::milliseconds(1000),
          .max_threads = 128};
}
constexpr std::chrono::milliseconds kLongestTick{1000};
constexpr std::chrono::milliseconds kDrainTick{10};
// A loop may have accepted a connection just before it is told to accept no more; then that is counted within
// this time.
constexpr std::chrono::milliseconds kLastAccepted{500};

// Leaves the target encoded, as Site decodes it: after decoding here, `/` could not be told from `%2F`.
std::size_t keep_encoded(void*, MHD_Connection*, char* text) {
  return std::strlen(text);
}

// The functions that answer requests: with pages and listings of the sources, or as buckets.
struct Answerer {
  std::function<Answer(const Request&, RequestWork&)> answer;
  FailedAnswer failed;
};
template <class AnySite>
Answerer answerer_of(std::shared_ptr<AnySite> site) {
  return {[site](const Request& request, RequestWork& work) { return site->answer(request, work); },
          [site](const Request& request, const Answer& instead_of, const Error& error) {
            return site->failed(request, instead_of, error);
          }};
}
Answerer answerer(const ServerOptions& options, const Listener& listener,
                  std::vector<SourceToServe> sources) {
  if (options.s3)
    return answerer_of(std::make_shared<S3Site>(*options.s3, listener.loopback, std::move(sources)));
  return answerer_of(std::make_shared<Site>(
      SiteOptions{options.cors_origin, listener.loopback, options.token, listener.port}, std::move(sources)));
}

Status check_readers(const ServerOptions& options, const Listener& listener) {
  const bool open = options.s3 && !options.s3->key && !options.s3->anonymous;
  if (!open || listener.loopback || !options.socket_path.empty()) return {};
  return fail(Error(ErrorCode::InvalidValue,
                    "whoever reaches the address would read: --s3-key-file=FILE asks for signed requests, "
                    "--anonymous lets everybody read"));
}

class HttpServer final : public Server {
 public:
  HttpServer(const ServerOptions& options, Listener listener, std::vector<SourceToServe> sources)
      : options_(options),
        listener_(std::move(listener)),
        local_(std::ranges::all_of(sources, [](const SourceToServe& source) { return source.opened.local; })),
        answerer_(answerer(options, listener_, std::move(sources))),
        connections_(
            {options.header_deadline, options.stall_deadline, std::size_t{options.connections} / 4 * 3}),
        quick_jobs_(quick_readers()),
        long_jobs_(long_readers()),
        context_{answerer_.answer,
                 answerer_.failed,
                 quick_jobs_,
                 long_jobs_,
                 connections_,
                 writable_,
                 options.work_deadline,
                 local_,
                 options.memory,
                 options.log_answer,
                 false},
        check_(check_interval(), [this](Watchdog::Clock::time_point) {
          connections_.shut_late();
          return connections_.count() > 0;
        }) {}

  Status listen() {
    H5_TRY(writable_.start());
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
                           (listener_.six ? MHD_USE_IPv6 : MHD_NO_FLAG);
    const unsigned loops = std::clamp(std::thread::hardware_concurrency(), 1U, kMaxLoops);
    daemon_ = MHD_start_daemon(
        flags, 0, nullptr, nullptr, &on_request, this, MHD_OPTION_LISTEN_SOCKET, listener_.socket.get(),
        MHD_OPTION_THREAD_POOL_SIZE, loops, MHD_OPTION_CONNECTION_LIMIT,
        std::max(options_.connections, loops), MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,
        MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK,
        &keep_encoded, nullptr, MHD_OPTION_URI_LOG_CALLBACK, &on_target, this, MHD_OPTION_NOTIFY_COMPLETED,
        &on_completed, this, MHD_OPTION_NOTIFY_CONNECTION, &on_connection, this,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    if (daemon_ == nullptr) return fail(Error(ErrorCode::Io, "libmicrohttpd does not start"));
    (void)listener_.socket.release();  // it belongs to the daemon, until that is quiesced
    return {};
  }

  ~HttpServer() override {
    if (daemon_ != nullptr) drain(std::chrono::hours(1), Ending::AtOnce);
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  std::string url() const override { return listener_.url; }

  bool drain(std::chrono::milliseconds patience, Ending how) override {
    const bool gently = how == Ending::Gently && listener_.handed;
    if (!context_.draining.exchange(true)) {
      // New connections are refused at once, unless others accept from the same socket, or will. The
      // daemon's threads may use the descriptor until they have ended.
      listening_ = UniqueFd(MHD_quiesce_daemon(daemon_));
      if (!listener_.handed) ::shutdown(listening_.get(), SHUT_RDWR);
      listener_.file.remove();
      quiesced_at_ = std::chrono::steady_clock::now();
    }
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!is_drained(gently) && std::chrono::steady_clock::now() < end) {
      connections_.shut_waiting(gently);
      std::this_thread::sleep_for(kDrainTick);
    }
    return is_drained(gently);
  }

 private:
  // No exception may pass through libmicrohttpd, which calls what follows. Without memory for a request its
  // connection is closed.
  static void* on_target(void* self, const char* target, MHD_Connection* connection) {
    auto& server = *static_cast<HttpServer*>(self);
    Exchange* made = nullptr;
    if (has_context(connection))
      run_guarded("serve", [&] { made = new Exchange(server.context_, connection, target); });
    return made;
  }
  static MHD_Result on_request(void*, MHD_Connection*, const char* url, const char* method,
                               const char* version, const char*, std::size_t* uploaded, void** exchange) {
    auto* const here = static_cast<Exchange*>(*exchange);
    return here == nullptr ? MHD_NO : here->advance(method, url, version, *uploaded);
  }
  static void on_completed(void*, MHD_Connection*, void** exchange, MHD_RequestTerminationCode how) {
    const std::unique_ptr<Exchange> owned(static_cast<Exchange*>(*exchange));
    *exchange = nullptr;
    if (owned) run_guarded("serve", [&] { owned->end(how); });
  }
  static bool has_context(MHD_Connection* connection) {
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != nullptr && info->socket_context != nullptr;
  }
  static void on_connection(void* self, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode what) {
    auto& server = *static_cast<HttpServer*>(self);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      const MHD_ConnectionInfo* const info =
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
      run_guarded("serve", [&] { *context = server.connections_.add(info->connect_fd); });
      server.check_.wake();
    } else if (*context != nullptr) {
      server.connections_.remove(static_cast<Connection*>(*context));
      *context = nullptr;
    }
  }

  bool is_drained(bool gently) const {
    const auto since = std::chrono::steady_clock::now() - quiesced_at_;
    return (!gently || since > kLastAccepted) && connections_.count() == 0;
  }

  std::chrono::milliseconds check_interval() const {
    const auto tick = std::min({options_.header_deadline / 4, options_.stall_deadline / 4, kLongestTick});
    return std::max(tick, std::chrono::milliseconds(1));
  }

  const ServerOptions options_;
  Listener listener_;
  const bool local_;
  const Answerer answerer_;
  Connections connections_;
  WritableWait writable_;
  JobQueue quick_jobs_, long_jobs_;
  ExchangeContext context_;
  MHD_Daemon* daemon_ = nullptr;
  UniqueFd listening_;  // valid once the daemon is quiesced; closed after it has ended
  std::chrono::steady_clock::time_point quiesced_at_;
  Watchdog::Check check_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options,
                                              std::vector<SourceToServe> sources) {
  H5_TRY(load_libmicrohttpd());
  H5_ASSIGN(Listener listener, listen_at(options));
  H5_TRY(check_readers(options, listener));
  auto server = std::make_unique<HttpServer>(options, std::move(listener), std::move(sources));
  H5_TRY(server->listen());
  return server;
}

bool can_serve() {
  return true;
}

}  // namespace h5mount::serve

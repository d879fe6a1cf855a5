// Transfers: HTTP requests by libcurl, on one thread that has one pool of connections. It knows no retries,
// no redirects and no credentials: one request in, one answer out.
//
// Threads: `start` and `later` may be called from any thread; callbacks run in the transfers' own thread, and
// must not wait. What a callback throws is logged and goes no further.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "h5mount/base/error.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/uri.h"

namespace h5mount::remote {

// Loads libcurl, which comes before every use of it. Errors: UnsupportedFeature. Threads: any.
Status load_libcurl();

using Clock = std::chrono::steady_clock;

struct HttpRequest {
  std::string url;
  Fields headers;
  std::string user, password;  // for HTTP's own authentication; empty: none
  std::string method = "GET";
  std::string body;                   // only of a POST
  bool direct = false;                // use no proxy
  std::size_t most_bytes = 0;         // a body that is longer ends the transfer
  std::chrono::milliseconds silence;  // a try that gets under 1,000 bytes a second for this long is given up
  bool fresh = false;                 // use a new connection
  bool only_public = false;           // fail if the address is a loopback or private one
  // Called with the answer's status and fields before the first piece of the body; if it returns false, the
  // transfer ends. May be null.
  std::function<bool(long status, const Fields& fields)> on_fields;
};

struct HttpAnswer {
  long status = 0;  // 0 if there is no answer
  Fields fields;    // those of the last answer; names are in lower case
  std::string body;
  std::string trouble;  // why the answer is incomplete; empty if it is complete
  void set_trouble(const char* why) noexcept;
  std::string address;  // the server's address
  bool refused_private = false;

  // The first field of that name (in lower case); null if there is none.
  const std::string* field(std::string_view name) const;
};

class Transfers {
 public:
  explicit Transfers(unsigned most_at_once);
  ~Transfers();
  // Ends all transfers, and those that are started later: their callbacks are called with a trouble.
  void end();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  using Done = std::function<void(HttpAnswer)>;
  // `urgent`: somebody waits for the answer, so the request goes before others that wait for a connection.
  void start(HttpRequest request, Done done, bool urgent);
  void later(Clock::duration delay, std::function<void()> call);
  // Starts a request and waits for its answer; not for callbacks.
  HttpAnswer ask(HttpRequest request);
  // How often a request was sent while none was under way.
  std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  struct Transfer;
  // Lists move transfers from one to the other without memory: what was asked for is answered, whatever else
  // fails.
  using List = std::list<std::unique_ptr<Transfer>>;
  using Calls = std::multimap<Clock::time_point, std::function<void()>>;
  void run();
  void work();
  void take_new();
  void begin(List::iterator place);
  bool prepare(Transfer& transfer) const;
  void finish(List::iterator place, CURLcode code);
  void end_silent(Clock::time_point now);
  void run_due(Clock::time_point now);
  void end_all();
  static void refuse(Transfer& transfer);
  void wake();

  const unsigned most_at_once_;
  struct Handles {
    Handles();
    ~Handles();
    CURLM* const multi;
    CURLSH* const share;  // cookies, names and TLS sessions
  };
  const Handles handles_;
  List active_, waiting_;
  Calls due_;
  std::atomic<std::uint64_t> rounds_ = 0;
  Mutex mutex_;
  List added_ H5_GUARDED_BY(mutex_);
  Calls added_calls_ H5_GUARDED_BY(mutex_);
  bool stop_ H5_GUARDED_BY(mutex_) = false;
  bool started_ H5_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace h5mount::remote

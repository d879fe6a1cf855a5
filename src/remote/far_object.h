// FarObject: one object of a server at the version that was opened: the URL that it is asked for by, and the
// version that answers must have. Fetch: the bytes of one range of it, with its tries, redirects and
// deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client.h"
#include "h5mount/base/thread_annotations.h"
#include "transport/answer.h"

namespace h5mount::remote {

class FarObject {
 public:
  FarObject(ClientParts& client, const Url& asked) : client_(client), asked_(asked) {}

  ClientParts& client() const { return client_; }
  const Url& asked() const { return asked_; }
  std::string shown() const { return asked_.shown(); }

  // The URL to ask for: the one that redirects led to, else the user's own.
  Url location() const;
  bool redirected() const;
  void set_location(const Url& url, bool only_public);
  void forget_location();
  bool only_public() const;

  std::optional<Version> version() const;
  void set_version(Version version);

  // To be called if another version was seen; the object then stays stale.
  void make_stale();
  bool stale() const { return stale_.load(std::memory_order_acquire); }
  Error stale_error() const;

  // Set after a request that got nothing within its time: later requests have one short try, until one of
  // them gets something.
  void set_silent(bool silent) { silent_.store(silent, std::memory_order_relaxed); }
  bool silent() const { return silent_.load(std::memory_order_relaxed); }

 private:
  ClientParts& client_;
  const Url asked_;
  std::atomic<bool> stale_ = false, silent_ = false;
  mutable Mutex mutex_;
  std::optional<Url> location_ H5_GUARDED_BY(mutex_);
  bool only_public_ H5_GUARDED_BY(mutex_) = false;
  std::optional<Version> version_ H5_GUARDED_BY(mutex_);
};

using FetchDone = std::function<void(Result<std::string>)>;
// Fetches [begin, end) of the object, or as much of it as exists if its version is not known yet, and then
// calls `done` in a thread that must not wait. Errors: Stale, AccessDenied, NotFound (the object does not
// exist, and its version is not known yet), Io.
void fetch(std::shared_ptr<FarObject> object, std::uint64_t begin, std::uint64_t end, bool urgent,
           FetchDone done);

}  // namespace h5mount::remote

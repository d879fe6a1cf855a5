// Sources that lie on servers: http://, https:// and s3://. Ranges that are wanted together are fetched side
// by side, neighbours in one request; what has come is kept for a while, for all sources of a Client within
// one bound. Every answer must be of the version that was opened: a read gives its bytes or fails with Stale.
//
// Threads: any. A Client has one thread of its own, from the first request on; its sources keep it alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "h5mount/io/byte_source.h"
#include "h5mount/remote/url.h"

namespace h5mount::remote {

constexpr std::uint64_t kMinDiskCacheBytes = 1U << 20;

struct Options {
  std::chrono::seconds timeout{30};  // how long a request may get nothing useful, all its tries included
  bool validate_size = false;        // the length alone says which version it is
  bool looks_for_changes = false;    // every 10 s while a source is used
  std::string headers_file;          // lines `HOST NAME: VALUE`
  std::string s3_endpoint, s3_region;
  bool anonymous = false, requester_pays = false;
  std::string disk_cache;  // directory where what came is kept; empty: nowhere
  std::uint64_t disk_cache_bytes = std::uint64_t{10} << 30;
};

struct Counters {
  std::uint64_t requests = 0, bytes = 0, rounds = 0, retries = 0, disk_hits = 0;
};

// Whether this build can: with libcurl.
bool can_fetch();

class Client {
 public:
  // Errors: of `headers_file` and `disk_cache`; UnsupportedFeature where the build cannot fetch.
  static Result<std::shared_ptr<Client>> make(const Options& options);
  virtual ~Client() = default;

  // Asks for the first MiB, which brings length and version. Errors: NotFound and Io with what is wrong; it
  // shows no secret of the URL.
  virtual Result<std::shared_ptr<io::ByteSource>> open(const Url& url) = 0;
  virtual Counters counters() const = 0;
  // Before the program ends: waits until what came is in the disk cache. Nothing is kept afterwards.
  virtual void finish() = 0;
};

}  // namespace h5mount::remote

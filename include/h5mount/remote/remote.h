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
#include <vector>

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
  std::string profile;  // of AWS's tools; empty: AWS_PROFILE, else default
  bool anonymous = false, requester_pays = false;
  std::string disk_cache;  // directory where what came is kept; empty: nowhere
  std::uint64_t disk_cache_bytes = std::uint64_t{10} << 30;
};

struct Counters {
  std::uint64_t requests = 0, bytes = 0, rounds = 0, retries = 0, disk_hits = 0;
};

// A name right below a prefix of a bucket: an object, or what keys have in common up to a '/'.
struct ListedName {
  std::string name;  // what follows the prefix, of a directory without its last '/'; any bytes but '/'
  bool directory = false;
  std::uint64_t size = 0;
  std::string entity_tag;
  std::int64_t modified = 0;  // seconds since 1970; 0: the server does not tell
};
struct ListQuery {
  std::string begin;     // names that begin so
  std::string next;      // where the page before says that its names go on
  unsigned most = 1000;  // names
};
struct ListedPage {
  std::vector<ListedName> names;
  std::string next;  // empty: there are no more
};

// Whether this build can: with libcurl, expat and nlohmann-json.
bool can_fetch();

class Client {
 public:
  // Errors: of `headers_file` and `disk_cache`; UnsupportedFeature where the build cannot fetch.
  static Result<std::shared_ptr<Client>> make(const Options& options);
  virtual ~Client() = default;

  // Looks where credentials for S3 are to be had, while this process may still start programs: a profile may
  // name one. Errors: a profile that is not there.
  virtual Status prepare_s3() = 0;
  // Asks for the first MiB, which brings length and version. Errors: NotFound and Io with what is wrong; it
  // shows no secret of the URL.
  virtual Result<std::shared_ptr<io::ByteSource>> open(const Url& url) = 0;
  // A page of the names right below `prefix` (s3), by one request. A name that is empty and no directory is
  // an object whose key is the prefix itself. Errors: AccessDenied, Io.
  virtual Result<ListedPage> list(const Url& prefix, const ListQuery& query) = 0;
  virtual Counters counters() const = 0;
  // Before the program ends: waits until what came is in the disk cache. Nothing is kept afterwards.
  virtual void finish() = 0;
};

}  // namespace h5mount::remote

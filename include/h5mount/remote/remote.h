// Sources that lie on servers: http://, https:// and s3://. Ranges that are wanted together are fetched in
// parallel, adjacent ones in one request. Bytes that have come are kept for a while; all sources of a Client
// share one bound for them. Every answer must be of the version that was opened: a read returns bytes of that
// version or fails with Stale.
//
// Threads: any. A Client has one thread of its own, from the first request on; its sources keep the Client
// alive.
//
// Opening an object starts that thread, so a mount opens URLs in the process that serves, after it has given
// up its rights (cli/mount/mount_command.cpp).
//
// Sockets are in the process that decodes. The other way is a process that fetches, with network and
// credentials, which decodes no byte, beside one that decodes and has neither, joined by a socket pair and
// shared memory. Its cost is no reason against it: on two loaded processors a round trip between two
// processes took 10 to 41 µs and 8 MiB through shared memory 4 to 7 ms, where the answer of a server takes
// tens of milliseconds. A file that takes the decoder over would get no credentials and no network, but still
// whatever it may ask the fetching process for: all objects that the names of a file lead to; and a mount of
// root's keeps CAP_DAC_READ_SEARCH in both. Against it stand a protocol with hostile data on one side, a
// second life and death of each mount (what one process does when the other has ended, for readers, umount
// and signals), and memory that both map and one may change while the other reads it. So sockets stay here as
// long as sanitizers and fuzzing hold all that decodes and the filter allows IPv4, IPv6 and netlink only;
// SECURITY.md tells what that exposes. Should that change, Client is the line to cut along: nothing above it
// knows of requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/io/byte_source.h"
#include "h5mount/remote/url.h"

namespace h5mount::remote {

constexpr std::uint64_t kMinDiskCacheBytes = 1U << 20;

struct Options {
  std::chrono::seconds timeout{30};  // how long a request may get nothing useful, including all its tries
  bool validate_size = false;        // identify an object's version by its length alone
  bool looks_for_changes = false;    // check for changes every 10 s while a source is used
  std::string headers_file;          // with lines `HOST NAME: VALUE`; empty: none
  std::string s3_endpoint, s3_region;
  std::string profile;  // a profile of AWS's tools; empty: AWS_PROFILE, else default
  bool anonymous = false, requester_pays = false;
  std::string disk_cache;  // directory where bytes are kept; empty: they are not kept on disk
  std::uint64_t disk_cache_bytes = std::uint64_t{10} << 30;
};

struct Counters {
  std::uint64_t requests = 0, bytes = 0, rounds = 0, retries = 0, disk_hits = 0;
};

// A name directly below a prefix of a bucket: an object, or the common beginning of keys up to a '/'.
struct ListedName {
  std::string name;  // the part behind the prefix, of a directory without its last '/'; any bytes but '/'
  bool directory = false;
  std::uint64_t size = 0;
  std::string entity_tag;
  std::int64_t modified = 0;  // seconds since 1970; 0: not known
};
struct ListQuery {
  std::string begin;     // only names that begin with this text are listed
  std::string next;      // ListedPage::next of the page before; empty for the first page
  unsigned most = 1000;  // largest number of names
};
struct ListedPage {
  std::vector<ListedName> names;
  std::string next;  // where the next page begins; empty if this is the last one
};

class Client {
 public:
  // Fails with errors of `headers_file` and `disk_cache`, and with UnsupportedFeature if the build cannot
  // fetch.
  static Result<std::shared_ptr<Client>> make(const Options& options);
  virtual ~Client() = default;

  // Finds out where credentials for S3 come from, while this process may still start programs: a profile may
  // name one. Fails if the profile does not exist.
  virtual Status prepare_s3() = 0;
  // Opens an object by asking for its first MiB, whose answer tells its length and version. Fails with
  // NotFound, AccessDenied, Io, or BadSignature for a page that a server sends in its place, and the reason,
  // which shows no secret of the URL.
  virtual Result<std::shared_ptr<io::ByteSource>> open(const Url& url) = 0;
  // A page of the names directly below `prefix` (s3), by one request. An empty name that is no directory is
  // an object whose key is the prefix itself. Errors: AccessDenied, Io.
  virtual Result<ListedPage> list(const Url& prefix, const ListQuery& query) = 0;
  // Whether the server states no version of an object that `open` returned, so that a read may mix bytes of
  // two. False where the option says that the length identifies it.
  virtual bool versions_unknown(const io::ByteSource& source) const = 0;
  virtual Counters counters() const = 0;
  // To be called before the program ends: waits until the bytes that have come are in the disk cache. Nothing
  // is kept afterwards.
  virtual void finish() = 0;
};

}  // namespace h5mount::remote

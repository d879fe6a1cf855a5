// Server: the trees of one or several sources over HTTP/1.1, read-only. GET and HEAD with ranges and
// conditions, listings as HTML and JSON, and a page that shows an object to people; docs/promise.md 'Served
// over HTTP' says what clients get.
//
// Connections are served by the event loops of libmicrohttpd. The loops themselves answer requests that local
// files can answer quickly; other threads do all work that takes longer or needs other files. Long bodies
// that a local file stores as they are go from its pages into the socket, without a copy in this process. A
// connection has at most kConnectionBytes for its header and kBodyBytes for its body, whatever is sent; if an
// answer is a text that is made (a listing, a description), that takes as much again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/tree/tree.h"

namespace h5mount::serve {

// The state of an open source's files.
struct SourceState {
  // False if another file has the name now, or if the file was written and is not followed.
  bool current = true;
  std::uint64_t version = 0;  // the source's own: differs after every change
  std::int64_t modified = 0;  // nanoseconds since 1970
};

struct OpenedSource {
  std::shared_ptr<tree::Tree> tree;
  // Called from any thread. Null if the tree shows many files, each with its own state (Tree::file_of).
  std::function<SourceState()> state;
  // Whether all who may read the source may read a node, which may belong to a file that a link names. Null:
  // they may read all nodes. A server is for other users, so files that a file names are opened by the rules
  // of allow_other, and what fewer users may read than the source is refused.
  std::function<bool(const tree::NodeStat&)> shown = nullptr;
  // Whether the source's files are on local file systems, where reading does not hang: answers that take a
  // moment are then made on the connection's own thread.
  bool local = false;
};

// A source that is opened again whenever another file has its name. `open` is called by one thread at a time.
struct SourceToServe {
  std::string name;  // the directory's name if there are several sources; as given by the user
  std::function<Result<OpenedSource>()> open;
  OpenedSource opened;
};

inline constexpr std::size_t kConnectionBytes = 16U << 10;
inline constexpr std::size_t kBodyBytes = (1U << 20) + (64U << 10);
inline constexpr std::size_t kMinBodyBytes = 8U << 10;  // if there are many connections

// A key pair that requests must be signed with.
struct S3Key {
  std::string access_key, secret_key;
};

// Serves the sources as buckets, in the protocol of Amazon S3, instead of pages and listings.
struct S3Options {
  std::optional<S3Key> key = {};
  bool anonymous = false;  // anybody may read without a key, even if the address is no loopback address
  std::string host = {};   // the parent domain of buckets' names; empty: buckets are named in paths only
};

struct ServerOptions {
  std::string address = "127.0.0.1";  // a numeric address
  std::uint16_t port = 0;             // 0: any free port
  // If not empty, used instead of address and port: a socket that is made at this path, for this user alone,
  // and removed at the end. A socket that nobody listens on is replaced; anything else at the path is an
  // error.
  std::string socket_path = {};
  // If not -1, used instead of making a socket: one that listens at that place already, for which see
  // describe_listening. The server takes it over; at its end others may go on with the same socket.
  int handed_socket = -1;
  // The token that a client must show to be answered: as the parameter `token` of a target, which is
  // exchanged for a cookie; as the password of Basic; or as Bearer. It consists of letters, digits, `-`, `.`,
  // `_` and `~`; if it is empty, everybody is answered.
  std::string token = {};
  std::optional<S3Options> s3 = {};
  // The origin whose pages may read (`https://example.org`), or `*`; empty: no page of another origin may.
  std::string cors_origin = {};
  // The time from the connection, or the last answer, to the end of the next header.
  std::chrono::milliseconds header_deadline{30'000};
  // The time in which a client must take 64 KiB of a body.
  std::chrono::milliseconds stall_deadline{60'000};
  // The time in which a part of an answer must be made; more for large files.
  std::chrono::milliseconds work_deadline{limits::kRequestMilliseconds};
  // The memory of what is made as a whole for an answer counts with these blocks; null: with nothing.
  std::shared_ptr<cache::BlockCache> memory = nullptr;
  unsigned connections = 4096;  // if there are more, they wait to be accepted
  // Called with a line for each answer, from any thread; may be null.
  std::function<void(const std::string&)> log_answer = {};
};

class Server {
 public:
  // Fails with UnsupportedFeature if built without libmicrohttpd, with Io if the address or path cannot be
  // listened on, and with InvalidValue if everybody could read through S3 without `anonymous` being set.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options,
                                               std::vector<SourceToServe> sources);
  virtual ~Server() = default;

  virtual std::string url() const = 0;  // http://127.0.0.1:8000/ or http://unix:PATH:/; without the token

  // Accepts no more connections, and waits until the answers that were begun are sent, at most for
  // `patience`. Returns false if some were not sent: then the server must not be destroyed, as threads still
  // work for them, and the process can only exit. Gently: where others go on with a socket that was handed
  // over, it also waits for requests that may be on their way, so that nobody notices.
  enum class Ending : std::uint8_t { AtOnce, Gently };
  virtual bool drain(std::chrono::milliseconds patience, Ending how) = 0;
};

// Whether this build can serve.
bool can_serve();

}  // namespace h5mount::serve

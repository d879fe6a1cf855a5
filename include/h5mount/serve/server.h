// Server: the trees of one or several sources over HTTP/1.1, read-only. GET and HEAD with ranges and
// conditions, listings as HTML and JSON, and a page that shows an object to people; docs/promise.md 'Served
// over HTTP' says what clients get.
//
// Connections are served by the event loops of libmicrohttpd. What is quickly answered from local files is
// answered there; whatever takes longer, and all of other files, is the work of other threads. Long bodies
// that lie in a local file as they are go from its pages into the socket, without a copy here. A connection
// has at most kConnectionBytes for its header and kBodyBytes for its body, whatever is sent; where an answer
// is a text that is made (a listing, a description), as much again for that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::serve {

// The state of an open source's files.
struct SourceState {
  // False: another file has the name now, or the file was written and is not followed.
  bool current = true;
  std::uint64_t version = 0;  // of the source itself: differs after every change
  std::int64_t modified = 0;  // nanoseconds since 1970
};

struct OpenedSource {
  std::shared_ptr<tree::Tree> tree;
  // Called from any thread. Null: the tree shows many files, each with its own state (Tree::file_of).
  std::function<SourceState()> state;
  // Whether all who may read the source may read a node: it may belong to a file that a link names. Null:
  // all.
  std::function<bool(const tree::NodeStat&)> shown = nullptr;
  // Its files are on local file systems, where reading does not hang: what takes a moment is answered on the
  // connection's own thread.
  bool local = false;
};

// A source that is opened again whenever its file is another one. `open` is called by one thread at a time.
struct Source {
  std::string name;  // the directory's name where there are several sources; as given by the user
  std::function<Result<OpenedSource>()> open;
  OpenedSource opened;
};

inline constexpr std::size_t kConnectionBytes = 16U << 10;
inline constexpr std::size_t kBodyBytes = (1U << 20) + (64U << 10);
inline constexpr std::size_t kMinBodyBytes = 64U << 10;  // where there are many connections

// A key pair that requests must be signed with.
struct S3Key {
  std::string access_key, secret_key;
};

// The sources as buckets, in the protocol of Amazon S3, in place of pages and listings.
struct S3Options {
  std::optional<S3Key> key = {};
  bool anonymous = false;  // whoever reaches an address that is no loopback one reads without a key
  std::string host = {};   // names below it are those of buckets; empty: buckets stand in paths alone
};

struct ServerOptions {
  std::string address = "127.0.0.1";  // numeric
  std::uint16_t port = 0;             // 0: any that is free
  // In place of address and port: a socket that is made there, for this user alone, and removed at the end.
  // One that nobody listens on is replaced; anything else there is an error.
  std::string socket_path = {};
  // What a client must show to be answered: as the parameter `token` of a target, which is exchanged for a
  // cookie; as the password of Basic; or as Bearer. Letters, digits, `-`, `.`, `_` and `~`; empty: none.
  std::string token = {};
  std::optional<S3Options> s3 = {};
  // The origin whose pages may read (`https://example.org`), or `*`; empty: none.
  std::string cors_origin = {};
  // From the connection, or the last answer, to the end of the next header.
  std::chrono::milliseconds header_deadline{30'000};
  // A client must take 64 KiB of a body in this time.
  std::chrono::milliseconds stall_deadline{60'000};
  unsigned connections = 4096;  // more wait to be accepted
  // A line for each answer; null: none. Called from any thread.
  std::function<void(const std::string&)> log_answer = {};
};

class Server {
 public:
  // UnsupportedFeature: built without libmicrohttpd. Io: the address or path cannot be listened on.
  // InvalidValue: everybody would read through S3, which nobody has said.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, std::vector<Source> sources);
  virtual ~Server() = default;

  virtual std::string url() const = 0;  // http://127.0.0.1:8000/, http://unix:PATH:/; without the token

  // Accepts no more connections, and waits until the answers that were begun are sent, at most for
  // `patience`. False where some were not: then the server must not be destroyed, as threads still work for
  // them, and the process can only exit.
  virtual bool drain(std::chrono::milliseconds patience) = 0;
};

// Whether this build can serve.
bool can_serve();

}  // namespace h5mount::serve

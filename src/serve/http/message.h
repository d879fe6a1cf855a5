// A request and its answer, independent of the library that carries them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body.h"
#include "conditions.h"
#include "url.h"

namespace h5mount::serve {

using Header = std::pair<std::string, std::string>;

// A request, whose text is parsed when it is made: all that is asked of it later are members. Fields that are
// sent more than once are joined by commas.
struct Request {
  Request() = default;
  Request(std::string method_sent, std::string target_sent, std::vector<Header> fields);

  std::string method;
  std::string uri;              // the target as it was sent
  std::vector<Header> headers;  // as they were sent, for signatures

  std::optional<Target> target;  // nullopt if it is no path
  std::string host;              // the target's, or else that of the field; trimmed
  bool several_hosts = false;
  bool has_body = false;
  std::optional<std::string> authorization, cookie, origin, range;
  Conditions conditions;
  bool accepts_gzip = false;
  bool names_html = false;    // Accept names text/html, not only by a wildcard
  bool prefers_json = false;  // Accept names application/json, and gives it no less weight than text/html
  bool from_fetch = false;    // a script of a page asks: browsers, Node and Deno say so
  bool names_program = false;
  bool asks_for_private_network = false;

  // Whether the method is answered; any other is refused without reading anything.
  bool only_reads() const { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }
};

struct Answer {
  unsigned status = 200;
  std::vector<Header> headers;
  BodyPtr body;  // null: the body is empty
  // If set, the node is known to be damaged, so HEAD reads the beginning as GET does, and gets the same
  // answer.
  bool reads_for_head = false;
  // The body is a chunk of a Zarr store: it is made as a whole before the answer begins, so that what fails
  // is stated in the answer (chunk_failure.h).
  bool of_chunk = false;
  bool of_api = false;       // errors that end the work on it are answered as those of the interface
  std::string problem = {};  // the text of an error, not escaped

  void add(std::string name, std::string value) { headers.emplace_back(std::move(name), std::move(value)); }
};

// Whether a writer has the file open. That may last, and it is that file alone that cannot be read.
bool is_held_by_writer(const Error& error);

// The same error of reading what was found: a file that it names is missing, while there is something here.
Error of_found(const Error& error);

// An answer that nobody may keep.
Answer uncached_answer(std::string_view type, BodyPtr body);
// An answer of one line of text.
Answer plain_answer(unsigned status, std::string_view text);
// The answer to an error of the tree; the second form replaces its text.
Answer error_answer(const Error& error);
Answer error_answer(const Error& error, std::string_view text);

}  // namespace h5mount::serve

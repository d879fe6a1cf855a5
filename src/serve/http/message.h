// A request and its answer, independent of the library that carries them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body.h"

namespace h5mount::serve {

using Header = std::pair<std::string, std::string>;

struct Request {
  std::string method;
  std::string target;  // as it was sent
  std::vector<Header> headers;

  // The values of all fields of that name (in any case), joined by commas; nullopt if there is none.
  std::optional<std::string> header(std::string_view name) const;
  std::size_t count(std::string_view name) const;
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
  // is told by the answer (chunk_failure.h).
  bool of_chunk = false;
  bool of_api = false;       // errors that end the work on it are told as those of the interface
  std::string problem = {};  // the text of an error, not escaped

  void add(std::string name, std::string value) { headers.emplace_back(std::move(name), std::move(value)); }
};

// Whether a writer has the file open. That may last, and it is that file alone that cannot be read.
bool is_held_by_writer(const Error& error);

// The same error of reading what was found: a file that it names is missing, while there is something here.
Error of_found(const Error& error);

// An answer of one line of text.
Answer plain_answer(unsigned status, std::string_view text);
// The answer to an error of the tree; the second form replaces its text.
Answer error_answer(const Error& error);
Answer error_answer(const Error& error, std::string_view text);

}  // namespace h5mount::serve

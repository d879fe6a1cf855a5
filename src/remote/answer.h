// What an answer to a request for a range means.
#pragma once

#include <optional>
#include <string>

#include "transfers.h"

namespace h5mount::remote {

// What every answer must say again.
struct Version {
  std::uint64_t length = 0;
  std::string entity_tag, modified;  // empty: the server names none
};

// The range that was asked for; `known`: the object's version, nothing before the first answer.
struct Wanted {
  std::uint64_t begin, end;
  std::optional<Version> known;
  bool validate_size = false;
};

enum class Verdict : std::uint8_t {
  Bytes,     // its body is what was asked for
  Again,     // it is broken, or the server cannot answer now
  Redirect,  // it leads elsewhere
  Denied,    // 401, 403
  Gone,      // 404, 410
  Changed,   // it is of another version
  NoRanges,  // the server sends the whole object, which is large
  Refused,   // it will not be answered otherwise
};

struct Judged {
  Verdict verdict;
  std::string why;  // for people; empty where it has what was asked for
  Version version;  // of Bytes
};

// By status and fields alone.
Judged judge_failure(long status, const HttpAnswer& answer);  // one that is neither 200 nor 206
Judged judge(const Wanted& wanted, long status, const HttpAnswer& answer);

}  // namespace h5mount::remote

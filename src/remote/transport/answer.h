// The meaning of an answer to a request for a range. Nothing else looks at the status and fields of such an
// answer.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "transfers.h"

namespace h5mount::remote {

// The version of an object, which every answer must state again.
struct Version {
  std::uint64_t length = 0;
  std::string entity_tag, modified;  // empty if the server states none
};

// The range that was asked for. `known`: the object's version; nullopt before the first answer.
struct Wanted {
  std::uint64_t begin, end;
  std::optional<Version> known;
  bool validate_size = false;
};

enum class Verdict : std::uint8_t {
  Bytes,     // the answer's body is what was asked for
  Empty,     // the object has no bytes; the answer's body is none of it
  Again,     // the answer is broken, or the server cannot answer now
  Redirect,  // the answer leads elsewhere
  Denied,    // 401, 403
  Gone,      // 404, 410
  Changed,   // the answer is of another version
  NoRanges,  // the server sends the whole object, which is large
  Refused,   // the server will not answer otherwise
};

struct Judged {
  Verdict verdict;
  std::string why;  // for people; empty if the answer has what was asked for
  Version version;  // only for Bytes and Empty
};

// Judges an answer by status and fields alone.
Judged judge_failure(long status, const HttpAnswer& answer);  // for any status but 200 and 206
Judged judge(const Wanted& wanted, long status, const HttpAnswer& answer);

inline constexpr unsigned kMaxTries = 4;
// The pause after `tries` tries, the last of which got `answer`: it grows, has jitter, and is at least as
// long as the server asks for.
std::chrono::milliseconds pause_before(unsigned tries, const HttpAnswer& answer);

}  // namespace h5mount::remote

// Conditional requests: RFC 9110 section 13. Threads: any.
#pragma once

#include <ctime>
#include <optional>
#include <string>

namespace h5mount::serve {

// The identity of a representation's state.
struct Validators {
  std::string etag;  // with its quotes, without `W/`; empty if there is none
  std::optional<std::time_t> modified = {};
  // Whether representations with this tag mean the same although their bytes may differ.
  bool weak = false;
};

struct Conditions {
  std::optional<std::string> if_match = {}, if_none_match = {}, if_modified_since = {},
                             if_unmodified_since = {}, if_range = {};
};

enum class Verdict { Proceed, NotModified, PreconditionFailed };
Verdict evaluate(const Conditions& conditions, const Validators& validators, std::time_t now);

// Whether a Range field must be obeyed: there is no If-Range, or it names exactly this state.
bool range_applies(const std::optional<std::string>& if_range, const Validators& validators, std::time_t now);

}  // namespace h5mount::serve

// Conditional requests: RFC 9110 section 13. Threads: any.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace h5mount::serve {

// What identifies the state of a representation.
struct Validators {
  std::string etag;  // with its quotes, without `W/`; empty: none
  std::optional<std::time_t> modified = {};
  // Representations with this tag mean the same, but their bytes may differ.
  bool weak = false;
};

struct Conditions {
  std::optional<std::string_view> if_match = {}, if_none_match = {}, if_modified_since = {},
                                  if_unmodified_since = {};
};

enum class Verdict { Proceed, NotModified, PreconditionFailed };
Verdict evaluate(const Conditions& conditions, const Validators& validators, std::time_t now);

// Whether a Range field is to be obeyed: without If-Range, or where it names exactly this state.
bool range_applies(std::optional<std::string_view> if_range, const Validators& validators, std::time_t now);

}  // namespace h5mount::serve

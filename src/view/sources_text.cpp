#include "sources_text.h"

#include <fmt/format.h>

#include "h5mount/base/utf8.h"
#include "h5mount/view/value_text.h"

namespace h5mount {

namespace {

constexpr std::size_t kMostReasonBytes = 512;
constexpr std::size_t kTailBytes = 64;  // room for the count of those left out

std::string_view state_name(NamedSource::State state) {
  switch (state) {
    case NamedSource::State::Found: return "found";
    case NamedSource::State::Missing: return "missing";
    case NamedSource::State::Refused: return "refused";
  }
  return "";
}

std::string source_text(const NamedSource& source) {
  std::string out = R"({"file":)";
  append_json_string(source.file, out);
  if (!source.dataset.empty()) {
    out += R"(,"dataset":)";
    append_json_string(source.dataset, out);
  }
  out += fmt::format(R"(,"state":"{}")", state_name(source.state));
  if (source.numbered) out += fmt::format(R"(,"numbered":{})", *source.numbered);
  if (!source.reason.empty()) {
    out += R"(,"reason":)";
    append_json_string(utf8_prefix(source.reason, kMostReasonBytes), out);
  }
  return out + "}";
}

}  // namespace

std::string sources_text(const NamedSources& sources, std::size_t most_bytes) {
  std::string out = "[";
  std::uint64_t left_out = sources.left_out;
  for (const NamedSource& source : sources.list) {
    const std::string one = source_text(source);
    if (out.size() + one.size() + kTailBytes > most_bytes) {
      ++left_out;
      continue;
    }
    if (out.size() > 1) out += ',';
    out += one;
  }
  if (left_out > 0) out += fmt::format(R"({}{{"left_out":{}}})", out.size() > 1 ? "," : "", left_out);
  return out + "]";
}

}  // namespace h5mount

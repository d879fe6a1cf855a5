#include "sources_text.h"

#include <fmt/format.h>

#include "h5mount/base/utf8.h"
#include "h5mount/text/value_text.h"

namespace h5mount::tree {

namespace {

constexpr std::size_t kMaxReasonBytes = 512;
constexpr std::size_t kTailBytes = 64;  // for the count of omitted sources

std::string_view state_name(dataset::NamedSource::State state) {
  switch (state) {
    case dataset::NamedSource::State::Found:
      return "found";
    case dataset::NamedSource::State::Missing:
      return "missing";
    case dataset::NamedSource::State::Refused:
      return "refused";
  }
  return "";
}

std::string source_text(const dataset::NamedSource& source) {
  std::string out = R"({"file":)";
  text::append_json_string(source.file, out);
  if (!source.dataset.empty()) {
    out += R"(,"dataset":)";
    text::append_json_string(source.dataset, out);
  }
  out += fmt::format(R"(,"state":"{}")", state_name(source.state));
  if (source.numbered) out += fmt::format(R"(,"numbered":{})", *source.numbered);
  if (!source.reason.empty()) {
    out += R"(,"reason":)";
    text::append_json_string(utf8_prefix(source.reason, kMaxReasonBytes), out);
  }
  return out + "}";
}

}  // namespace

std::string sources_text(const dataset::NamedSources& sources, std::size_t most_bytes) {
  std::string out = "[";
  std::uint64_t left_out = sources.left_out;
  for (const dataset::NamedSource& source : sources.list) {
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

}  // namespace h5mount::tree

#include "sources_text.h"

#include <fmt/format.h>

#include <array>

#include "h5mount/base/utf8.h"
#include "h5mount/text/json_writer.h"

namespace h5mount::tree {

namespace {

constexpr std::size_t kMaxReasonBytes = 512;
constexpr std::size_t kTailBytes = 64;  // for the count of omitted sources

// By State.
constexpr std::array<std::string_view, 3> kStates = {"found", "missing", "refused"};

std::string source_text(const dataset::NamedFile& source) {
  std::string out;
  text::JsonWriter json(out);
  json.begin_object().member("file", source.file);
  if (!source.dataset.empty()) json.member("dataset", source.dataset);
  json.member("state", kStates[static_cast<std::size_t>(source.state)]);
  if (source.numbered) json.member("numbered", *source.numbered);
  if (!source.reason.empty()) json.member("reason", utf8_prefix(source.reason, kMaxReasonBytes));
  json.end_object();
  return out;
}

}  // namespace

std::string sources_text(const dataset::NamedSources& sources, std::size_t most_bytes) {
  std::string out = "[";
  std::uint64_t left_out = sources.left_out;
  for (const dataset::NamedFile& source : sources.list) {
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

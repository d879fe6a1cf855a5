// The texts that tell of references.
#include <fmt/format.h>

#include "../objects/attribute_values.h"
#include "references.h"

namespace h5mount::tree {

std::string ReferenceSummary::text() const {
  constexpr std::size_t kRest = 200;
  std::string out = fmt::format(R"({{"direct":{},"inline":{},"served":{})", direct, held, served);
  std::uint64_t cut = more;
  const auto append_map = [&](std::string_view name, const std::vector<LeftOut>& of) {
    out.append(",\"").append(name).append("\":{");
    bool first = true;
    for (const LeftOut& one : of) {
      const std::string member =
          fmt::format("{}{}:{}", first ? "" : ",", text::json_string(one.path), text::json_string(one.why));
      if (out.size() + member.size() + kRest > kMaxXattrBytes) {
        ++cut;
        continue;
      }
      first = false;
      out += member;
    }
    out += '}';
  };
  append_map("left_out", left_out);
  append_map("json_only", json_only);
  append_map("no_icechunk", no_icechunk);
  if (cut > 0) out += fmt::format(R"(,"more":{})", cut);
  return out + "}";
}

std::string ReferenceSummary::files_text() const {
  std::string out = "[";
  for (const ReferencedFile& file : files) {
    if (out.size() > 1) out += ',';
    out += fmt::format(R"({{"url":{},"size":{},"mtime":{}.{:09},"etag":{}}})", text::json_string(file.url),
                       file.size, file.modified / 1'000'000'000, file.modified % 1'000'000'000,
                       file.entity_tag.empty() ? "null" : text::json_string(file.entity_tag));
  }
  return out + "]";
}

}  // namespace h5mount::tree

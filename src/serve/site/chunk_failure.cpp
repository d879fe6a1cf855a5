#include "chunk_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "h5mount/base/text.h"

namespace h5mount::serve {
namespace {

constexpr unsigned kFirstFailure = 500;
constexpr std::size_t kMaxReason = 500;
constexpr std::array<std::string_view, 3> kStores = {"plain.zarr", "stored.zarr", "v3.zarr"};

bool is_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Version 2: `0.0`; version 3: `c.0.0`, or `c` of an array without dimensions.
bool is_key(std::string_view name, bool version3) {
  if (!version3) return is_number(name);
  return name == "c" || (name.starts_with("c.") && is_number(name.substr(2)));
}

// A field's value has printable ASCII only.
std::string field_text(std::string_view text) {
  std::string out(text.substr(0, kMaxReason));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

}  // namespace

bool is_chunk_key(std::string_view path) {
  while (!path.empty()) {
    if (take_until(path, '/') != ".h5") continue;
    const std::string_view store = take_until(path, '/');
    if (std::ranges::find(kStores, store) == kStores.end()) continue;
    const std::string_view last = path.substr(path.rfind('/') + 1);
    return is_key(last, store == "v3.zarr");
  }
  return false;
}

bool asks_for_chunk(const Request& request) {
  return request.target && request.target->place && is_chunk_key(*request.target->place);
}

Answer chunk_failure(const Request& request, Answer answer, std::optional<std::uint64_t> size) {
  // Fetch's own requests carry this field: browsers, Node and Deno take a failure for one, and a body of
  // another size for data.
  if (answer.status < kFirstFailure || request.from_fetch) return answer;
  // GDAL, which names no program, takes an empty file for one that is missing.
  BodyPtr body = request.names_program ? nullptr : make_text_body(size == 1 ? "\xFF\xFF" : "\xFF");
  Answer out = uncached_answer("application/octet-stream", std::move(body));
  out.add("X-H5mount-Error", field_text(fmt::format("{} {}", answer.status, answer.problem)));
  return out;
}

}  // namespace h5mount::serve

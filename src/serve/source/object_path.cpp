#include "object_path.h"

#include "h5mount/base/text.h"
#include "h5mount/tree/names.h"

namespace h5mount::serve {
namespace {

// Calls `convert` with each name of a path; it appends to the result.
template <class Convert>
std::string converted(std::string_view path, Convert convert) {
  std::string out;
  for (const std::string_view name : split(path, '/'))
    if (!name.empty()) convert(name, out);
  return out;
}

}  // namespace

std::string own_path(std::string_view shown) {
  const std::string out = converted(shown, [](std::string_view name, std::string& text) {
    text += '/';
    text += tree::decode_name(name).value_or(std::string(name));
  });
  return out.empty() ? "/" : out;
}

std::string shown_path(std::string_view own) {
  return converted(own, [](std::string_view name, std::string& text) {
    if (name == ".") return;
    if (!text.empty()) text += '/';
    text += tree::encode_name(name);
  });
}

}  // namespace h5mount::serve

#include "object_path.h"

#include <algorithm>

#include "h5mount/tree/names.h"

namespace h5mount::serve {
namespace {

// Calls `convert` with each name of a path; it appends to the result.
template <class Convert>
std::string converted(std::string_view path, Convert convert) {
  std::string out;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) convert(path.substr(begin, end - begin), out);
    begin = end + 1;
  }
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

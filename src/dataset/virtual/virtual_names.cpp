#include "virtual_names.h"

namespace h5mount::dataset {
namespace {

// Calls literal(c) and number() for the parts of a name.
template <class Literal, class Number>
void parse(std::string_view name, Literal literal, Number number) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char next = i + 1 < name.size() ? name[i + 1] : '\0';
    if (name[i] == '%' && next == 'b')
      number(), ++i;
    else if (name[i] == '%' && next == '%')
      literal('%'), ++i;
    else
      literal(name[i]);
  }
}

}  // namespace

bool has_block_number(std::string_view name) {
  bool found = false;
  parse(name, [](char) {}, [&] { found = true; });
  return found;
}

std::string numbered_name(std::string_view name, std::uint64_t block) {
  std::string out;
  parse(name, [&](char c) { out += c; }, [&] { out += std::to_string(block); });
  return out;
}

std::string plain_name(std::string_view name) {
  return numbered_name(name, 0);
}

}  // namespace h5mount::dataset

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/base/text.h"

namespace h5mount {
namespace {

constexpr std::size_t kLongestWord = 48;  // longer than the name of any option

std::string letters_of(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c != '_' && c != '-') out += to_lower(c);
  }
  return out;
}

// Levenshtein's distance, computed one row of the table at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row.back();
}

}  // namespace

std::string_view suggestion(std::string_view word, std::span<const std::string_view> names) {
  if (word.size() > kLongestWord) return {};
  const std::string letters = letters_of(word);
  std::size_t least = letters.size() <= 4 ? 2 : 3;
  std::string_view found;
  for (const std::string_view name : names) {
    const std::size_t changes = distance(letters, letters_of(name));
    if (changes >= least) continue;
    least = changes;
    found = name;
  }
  return found;
}

}  // namespace h5mount

// The names of two lists, side by side in the order of their bytes. Threads: one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace h5mount::front {

class NamePairs {
 public:
  struct Name {
    std::string name;
    std::size_t position;  // in its list
    auto operator<=>(const Name&) const = default;
  };
  using Names = std::vector<Name>;

  NamePairs() = default;
  NamePairs(Names a, Names b) : a_(std::move(a)), b_(std::move(b)) {
    std::ranges::sort(a_);
    std::ranges::sort(b_);
  }

  struct Pair {
    std::string name;
    std::optional<std::size_t> a, b;  // the positions; a list that has the name twice gives two pairs
  };
  std::optional<Pair> next() {
    const bool left_a = next_a_ < a_.size(), left_b = next_b_ < b_.size();
    if (!left_a && !left_b) return std::nullopt;
    const int order = !left_a ? 1 : !left_b ? -1 : a_[next_a_].name.compare(b_[next_b_].name);
    Pair out{order > 0 ? b_[next_b_].name : a_[next_a_].name, {}, {}};
    if (order <= 0) out.a = a_[next_a_++].position;
    if (order >= 0) out.b = b_[next_b_++].position;
    return out;
  }

 private:
  Names a_, b_;
  std::size_t next_a_ = 0, next_b_ = 0;
};

}  // namespace h5mount::front

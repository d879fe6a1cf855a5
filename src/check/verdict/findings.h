// Findings: what a verdict has found so far. Threads: one at a time.
#pragma once

#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "h5mount/check/check.h"
#include "h5mount/check/verdict.h"

namespace h5mount::check {

class Findings {
 public:
  // Of a kind and place there is one finding; of names of other files and of filters one for each.
  void add(VerdictKind kind, VerdictCode code, const std::string& place, VerdictValue value = {},
           VerdictValue limit = {});
  void forbid(VerdictKind kind, bool forbidden, const std::string& place, VerdictValue value = {},
              VerdictValue limit = {}) {
    add(kind, forbidden ? VerdictCode::Forbidden : VerdictCode::Warning, place, std::move(value),
        std::move(limit));
  }
  // What the walk has found to be damaged, or beyond what this program reads.
  void add_damage(const Finding& finding, bool strict);

  Verdict take();

 private:
  static constexpr std::size_t kCodes = 5;  // from the worst one on
  std::array<std::vector<VerdictFinding>, kCodes> by_code_;
  std::unordered_set<std::string> known_;
  std::uint64_t left_out_ = 0;
};

// `offset N`: the place of what no object has.
std::string offset_place(std::uint64_t offset);

}  // namespace h5mount::check

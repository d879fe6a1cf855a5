#include "fair_turns.h"

#include <algorithm>

#include "h5mount/base/mechanism.h"

namespace h5mount::dataset {

void FairTurns::join(Turn& turn) {
  if (!is_on(Mechanism::FairTurns)) turn.owner = nullptr;  // all owners share one line
  const auto line = std::ranges::find(lines_, turn.owner, &Line::owner);
  if (line != lines_.end())
    line->turns.push_back(&turn);
  else
    lines_.push_back({turn.owner, {&turn}});
}

void FairTurns::leave() {
  const auto served = lines_.begin();
  served->turns.pop_front();
  if (served->turns.empty())
    lines_.erase(served);
  else
    lines_.splice(lines_.end(), lines_, served);
}

std::size_t FairTurns::waiting() const {
  std::size_t count = 0;
  for (const Line& line : lines_) count += line.turns.size();
  return count;
}

}  // namespace h5mount::dataset

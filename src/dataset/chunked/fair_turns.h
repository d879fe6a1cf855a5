// FairTurns: the order in which those that wait for a place get one. Each owner (a dataset) has a line of its
// own, first come first served; the lines take turns. So whoever is first in its line is served after at most
// one of each other owner, however many of another owner wait before it. Threads: the mutex of the places
// must be held.
#pragma once

#include <chrono>
#include <deque>
#include <list>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::dataset {

class FairTurns {
 public:
  using Clock = std::chrono::steady_clock;
  // Stands in a line from `join` to `leave`, and must live until then.
  struct Turn {
    const void* owner;
    Condition next = {};  // notified if this may be the next turn, or if there is a place
    Clock::time_point since = Clock::now();
  };

  // The time that the next turn has waited; 0 if nobody waits.
  Clock::duration longest_wait() const {
    return lines_.empty() ? Clock::duration(0) : Clock::now() - lines_.front().turns.front()->since;
  }
  bool is_next(const Turn& turn) const { return lines_.front().turns.front() == &turn; }
  std::size_t waiting() const;
  void wake_next() {
    if (!lines_.empty()) lines_.front().turns.front()->next.notify_one();
  }

  void join(Turn& turn);
  // Puts the turn before all others: for one that had a place and gave it away.
  void join_first(Turn& turn) { lines_.push_front({turn.owner, {&turn}}); }
  // Removes the next turn, which has got its place; its line goes to the end.
  void leave();

 private:
  struct Line {
    const void* owner;
    std::deque<Turn*> turns;
  };
  std::list<Line> lines_;  // no line is empty
};

}  // namespace h5mount::dataset

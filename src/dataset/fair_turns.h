// FairTurns: the order in which those that wait for a place get one. Each owner (a dataset) has a line of its
// own, first come first served; the lines take turns. So one who waits is served after at most one of each
// other owner, however many of another's wait before it. Threads: with the mutex of what is waited for held.
#pragma once

#include <chrono>
#include <deque>
#include <list>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::dataset {

class FairTurns {
 public:
  using Clock = std::chrono::steady_clock;
  // Stands in a line from `join` to `leave`; must outlive both.
  struct Turn {
    const void* owner;
    Condition next = {};  // this may be the next one now, or there is a place
    Clock::time_point since = Clock::now();
  };

  // Of the one that is next; 0 where nobody waits.
  Clock::duration longest_wait() const {
    return lines_.empty() ? Clock::duration(0) : Clock::now() - lines_.front().turns.front()->since;
  }
  bool is_next(const Turn& turn) const { return lines_.front().turns.front() == &turn; }
  std::size_t waiting() const;
  void wake_next() {
    if (!lines_.empty()) lines_.front().turns.front()->next.notify_one();
  }

  void join(Turn& turn);
  // Before all others: for one that had a place and gave it away.
  void join_first(Turn& turn) { lines_.push_front({turn.owner, {&turn}}); }
  // The one that is next has its place; its line goes to the end.
  void leave();

 private:
  struct Line {
    const void* owner;
    std::deque<Turn*> turns;
  };
  std::list<Line> lines_;  // none empty
};

}  // namespace h5mount::dataset

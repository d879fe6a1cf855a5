// States: a sequence of immutable states of something (`Of`), and a value that is made from each on demand,
// once, continuing the value that was made last. The newest state is kept, and with it that earlier value.
// Threads: any; no lock is held while a value is made.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "h5mount/base/once_value.h"
#include "h5mount/base/shared_slot.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::tree {

template <class Of, class Value>
class States {
 public:
  using ValuePtr = std::shared_ptr<const Value>;
  struct State {
    const Of of;
    const std::uint64_t number;  // from 1 on
    const ValuePtr before;       // made last of an earlier state; null: none was
    OnceValue<ValuePtr> value;
  };
  using StatePtr = std::shared_ptr<State>;

  // Returns null if there is no state yet.
  StatePtr newest() const { return newest_.load(); }
  // The value that was made last; null if there is none.
  ValuePtr newest_value() const {
    const StatePtr newest = newest_.load();
    return newest ? newest->value.peek().value_or(newest->before) : nullptr;
  }
  // The number of the newest state, which is set before the state's value begins to be made; 0: there is no
  // state.
  std::uint64_t newest_number() const { return number_.load(); }

  // The newest state: if `is_later(newest so far, of)` says that `of` is later, a new state of `of`, which
  // the function may change.
  template <class IsLater>
  StatePtr advance(Of of, IsLater&& is_later) {
    StatePtr newest = newest_.load();
    while (!newest || is_later(*newest, of)) {
      auto next = std::make_shared<State>(of, newest ? newest->number + 1 : 1,
                                          newest ? newest->value.peek().value_or(newest->before) : nullptr);
      if (!newest_.compare_exchange(newest, next)) continue;
      newest = std::move(next);
      break;
    }
    std::uint64_t known = number_.load();
    while (known < newest->number && !number_.compare_exchange_weak(known, newest->number)) {
    }
    return newest;
  }

 private:
  SharedSlot<State> newest_;
  std::atomic<std::uint64_t> number_ = 0;
};

// A value that is made once for each snapshot of a file, by its number; that of the newest is kept. Threads:
// any.
template <class Value>
class SnapshotValue {
 public:
  // As OnceValue::get_once.
  template <class Make>
  Result<Value> get_once(std::uint64_t snapshot, Make&& make, RequestBudget& budget) {
    std::shared_ptr<State> state;
    {
      const MutexLock lock(mutex_);
      if (!state_ || state_->snapshot != snapshot) state_ = std::make_shared<State>(snapshot);
      state = state_;
    }
    return state->value.get_once(std::forward<Make>(make), budget);
  }

 private:
  struct State {
    const std::uint64_t snapshot;
    OnceValue<Value> value;
  };
  Mutex mutex_;
  std::shared_ptr<State> state_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::tree

// An error of a moment (is_momentary) is kept by nobody. Much that is made of a file is made in spite of
// errors: a group without the links that cannot be read, a dataset without its size. So whoever keeps a value
// watches what its making met, wherever that was put up with: OnceValue and BlockCache do for all that is
// made through them.
//
//   MomentaryWatch watch;
//   return watch.unless_met(make());  // an error that was met, else what was made
//
// Functions that read the bytes, wait for others, or ask a budget note what they met. Threads: a watch sees
// its own thread, and the jobs that WorkerPool::for_each_index runs for it in others.
#pragma once

#include <optional>

#include "h5mount/base/error.h"

namespace h5mount {

class MomentaryWatch {
 public:
  MomentaryWatch() noexcept;
  ~MomentaryWatch();  // tells the watch around it
  MomentaryWatch(const MomentaryWatch&) = delete;
  MomentaryWatch& operator=(const MomentaryWatch&) = delete;

  const std::optional<Error>& met() const { return met_; }
  // The error that was met harms nothing: it was tried again, or read ahead for others.
  void forget() { met_.reset(); }

  template <class T>
  Result<T> unless_met(Result<T> made) const {
    if (met_ && (made || !is_momentary(made.error()))) return fail(*met_);
    return made;
  }

 private:
  friend void note_momentary(const Error& error) noexcept;
  friend void note_failed_read(const Error& error) noexcept;
  MomentaryWatch* const outer_;
  std::optional<Error> met_;
};

// Tells the calling thread's watch, if the error is momentary.
void note_momentary(const Error& error) noexcept;

// The same for the failure of a read, where a server's refusal is one more: it lasts as long as it lasts.
void note_failed_read(const Error& error) noexcept;

// The same for a failed result, which is passed on.
template <class T>
Result<T> noted(Result<T> result) {
  if (!result) note_momentary(result.error());
  return result;
}
template <class T>
Result<T> noted_read(Result<T> result) {
  if (!result) note_failed_read(result.error());
  return result;
}

}  // namespace h5mount

// The wait for an answer that another thread gives. Threads: any but those that give answers.
#pragma once

#include <optional>
#include <utility>

#include "h5mount/base/long_work.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::remote {

// Calls `start` with a function to be called once with the answer, from any thread, and returns that answer.
template <class Answer, class Start>
Answer wait_for(Start start) {
  Mutex mutex;
  Condition came;
  std::optional<Answer> out;
  note_long_work();
  start([&](Answer answer) {
    const MutexLock lock(mutex);
    out = std::move(answer);
    came.notify_all();
  });
  MutexLock lock(mutex);
  while (!out) came.wait(lock);
  return *std::move(out);
}

}  // namespace h5mount::remote

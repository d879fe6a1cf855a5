// Threads with names, which /proc/PID/task and debuggers show, and the guard that each has.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <utility>

#include "h5mount/base/log.h"

namespace h5mount {

// Runs `step`; an exception is logged under that name. Returns false if there was one. Threads that live as
// long as the program run each step of their work so, as an exception that leaves a thread ends the process,
// and so do callbacks of libraries in C, through which none may pass.
template <class Step>
bool run_guarded(const char* name, Step&& step) noexcept {
  try {
    std::forward<Step>(step)();
    return true;
  } catch (...) {
    log_exception(name);
    return false;
  }
}

// Runs `body` in a thread that blocks all signals meant for the process, which the main thread takes. All
// threads are started here: an exception ends the thread and not the process. `name`: at most 15 bytes, with
// static storage. Throws std::system_error if the system gives no thread, std::bad_alloc without memory.
std::thread start_thread(const char* name, std::function<void()> body);

// Runs `work` in `count` threads together, of which the caller's is one; in fewer if the system does not give
// so many. Returns when all have ended. Throws what one of them threw.
void run_together(const char* name, std::size_t count, const std::function<void()>& work);

}  // namespace h5mount

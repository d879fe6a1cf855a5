// Threads with names, which /proc/PID/task and debuggers show.
#pragma once

#include <functional>
#include <thread>

namespace h5mount {

// Runs `body` in a thread that blocks all signals meant for the process, which the main thread takes. `name`:
// at most 15 bytes, with static storage. Throws std::system_error if the system gives no thread.
std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace h5mount

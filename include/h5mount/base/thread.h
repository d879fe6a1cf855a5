// Threads with names, as /proc/PID/task shows them and debuggers do.
#pragma once

#include <functional>
#include <thread>

namespace h5mount {

// Runs `body` in a thread in which all signals are blocked that are for the process: the main thread has
// them. `name`: at most 15 bytes, with static storage. Throws std::system_error where the system gives no
// thread.
std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace h5mount

#include "h5mount/base/thread.h"

#include <pthread.h>
#include <signal.h>

#include <exception>
#include <vector>

#include "h5mount/base/thread_annotations.h"

namespace h5mount {
namespace {

// Blocks signals around the start of a thread, which inherits the blocked ones.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::sigdelset(&all, SIGXFSZ);  // it is for the thread whose write exceeds the limit of a file's size
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::thread start_thread(const char* name, std::function<void()> body) {
  const SignalsBlocked blocked;
  return std::thread([name, body = std::move(body)] {
    ::pthread_setname_np(::pthread_self(), name);
    run_guarded(name, body);
  });
}

void run_together(const char* name, std::size_t count, const std::function<void()>& work) {
  Mutex mutex;
  std::exception_ptr thrown;
  const std::function<void()> guarded = [&] {
    try {
      work();
    } catch (...) {
      const MutexLock lock(mutex);
      thrown = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  run_guarded(name, [&] {
    threads.reserve(count);
    while (threads.size() + 1 < count) threads.push_back(start_thread(name, guarded));
  });
  guarded();
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace h5mount

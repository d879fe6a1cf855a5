#include "h5mount/base/thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

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
    body();
  });
}

}  // namespace h5mount

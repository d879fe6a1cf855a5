// The credentials that requests are signed with: asked for when the first request needs them, renewed in a
// thread of the keeper before they expire, and asked for again if a server has refused them. Asking may take
// a program or a service, and callbacks of Transfers must not wait. Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "credential_chain.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::remote {

class CredentialKeeper {
 public:
  // Credentials, or nullopt if requests are not signed.
  using Given = Result<std::optional<sign::Credentials>>;
  using Ready = std::function<void(const Given&)>;

  CredentialKeeper(const Options& options, CredentialChain chain, Transfers& transfers);
  ~CredentialKeeper();  // `transfers` must have ended
  CredentialKeeper(const CredentialKeeper&) = delete;
  CredentialKeeper& operator=(const CredentialKeeper&) = delete;

  // As CredentialChain::prepare; to be called while this process may start programs.
  Status prepare();
  // Calls `ready` at once if it is known which credentials there are, else from the keeper's thread.
  void give(Ready ready);
  Given wait();  // not to be called by a callback of the transfers

  // To be called if a server has refused `used`. Returns whether there may be other credentials now; they are
  // asked for only once in a while.
  bool renew(const std::optional<sign::Credentials>& used);

 private:
  void run();
  void want() H5_REQUIRES(mutex_);
  bool usable(std::int64_t now) const H5_REQUIRES(mutex_);

  CredentialChain chain_;  // used by the thread
  Transfers& transfers_;
  Mutex mutex_;
  Condition changed_;
  bool known_ H5_GUARDED_BY(mutex_) = false, wanted_ H5_GUARDED_BY(mutex_) = false;
  bool fixed_ H5_GUARDED_BY(mutex_) = false;  // asking again would give the same
  bool stop_ H5_GUARDED_BY(mutex_) = false, prepared_ H5_GUARDED_BY(mutex_) = false;
  std::optional<Issued> issued_ H5_GUARDED_BY(mutex_);  // valid while `known_`
  std::vector<Ready> waiting_ H5_GUARDED_BY(mutex_);
  Clock::time_point ask_after_ H5_GUARDED_BY(mutex_), refused_after_ H5_GUARDED_BY(mutex_);
  std::thread thread_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::remote

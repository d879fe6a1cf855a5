#include "credential_keeper.h"

#include <ctime>

#include "../transport/wait_for.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"

namespace h5mount::remote {
namespace {

constexpr std::int64_t kRenewBefore = 300;  // in seconds
constexpr std::chrono::seconds kBetweenRenewals{10}, kBetweenRefusals{60};

bool equal_credentials(const sign::Credentials& a, const sign::Credentials& b) {
  return a.access_key == b.access_key && a.secret_key == b.secret_key && a.session_token == b.session_token;
}

}  // namespace

CredentialKeeper::CredentialKeeper(const Options& options, CredentialChain chain, Transfers& transfers)
    : chain_(std::move(chain)), transfers_(transfers) {
  const MutexLock lock(mutex_);
  if (!options.anonymous) issued_ = CredentialChain::of_environment(options);
  known_ = fixed_ = options.anonymous || issued_;
}

CredentialKeeper::~CredentialKeeper() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    thread = std::move(thread_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
}

Status CredentialKeeper::prepare() {
  const MutexLock lock(mutex_);
  if (fixed_ || thread_.joinable() || std::exchange(prepared_, true)) return {};
  return chain_.prepare();
}

bool CredentialKeeper::usable(std::int64_t now) const {
  return known_ && (!issued_ || issued_->expires == 0 || issued_->expires > now);
}

void CredentialKeeper::want() {
  wanted_ = true;
  if (!thread_.joinable() && !stop_) thread_ = start_thread("h5-keys", [this] { run(); });
  changed_.notify_all();
}

void CredentialKeeper::give(Ready ready) {
  std::optional<sign::Credentials> out;
  {
    const MutexLock lock(mutex_);
    const std::int64_t now = std::time(nullptr);
    if (!usable(now)) {
      want();  // first: what throws must not leave behind whom nobody will answer
      waiting_.push_back(std::move(ready));
      return;
    }
    const bool soon = issued_ && issued_->expires != 0 && issued_->expires - now < kRenewBefore;
    if (soon && Clock::now() >= ask_after_) want();
    if (issued_) out = issued_->credentials;
  }
  ready(out);
}

CredentialKeeper::Given CredentialKeeper::wait() {
  return wait_for<Given>([this](auto done) { give(done); });
}

bool CredentialKeeper::renew(const std::optional<sign::Credentials>& used) {
  const MutexLock lock(mutex_);
  if (fixed_ || !used) return false;
  if (!known_ || (issued_ && !equal_credentials(issued_->credentials, *used))) return true;
  if (Clock::now() < refused_after_) return false;
  refused_after_ = Clock::now() + kBetweenRefusals;
  known_ = false;
  return true;
}

// Asks for credentials when they are wanted. If no new ones can be had, the old ones are used until they
// expire.
void CredentialKeeper::run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!wanted_ && !stop_) changed_.wait(lock);
    std::vector<Ready> waiting;
    Given given = std::optional<sign::Credentials>();
    if (stop_) {
      given = fail(no_memory());
      run_guarded("h5-keys", [&] { given = fail(Error(ErrorCode::Io, "the program ends")); });
    } else {
      wanted_ = false;
      const bool had = issued_.has_value();
      ask_after_ = Clock::now() + kBetweenRenewals;
      lock.unlock();
      Result<std::optional<Issued>> issued = fail(no_memory());
      run_guarded("h5-keys", [&] {
        issued = chain_.get(transfers_);
        if (issued && !*issued && had) issued = fail(Error(ErrorCode::Io, "no S3 credentials any more"));
      });
      lock.lock();
      if (issued) {
        known_ = true;
        issued_ = *std::move(issued);
      } else if (usable(std::time(nullptr))) {
        run_guarded("h5-keys",
                    [&] { log(LogLevel::Warning, "{}; those before are used on", issued.error().text()); });
      } else {
        given = fail(std::move(issued).error());
      }
      const auto copy = [&]() H5_THREAD_ATTRIBUTE(no_thread_safety_analysis) {  // the lock is held
        if (given && issued_) given = std::optional(issued_->credentials);
      };
      if (!run_guarded("h5-keys", copy)) given = fail(no_memory());
    }
    waiting.swap(waiting_);
    const bool last = stop_;
    lock.unlock();
    for (const Ready& ready : waiting) run_guarded("h5-keys", [&] { ready(given); });
    if (last) return;
    lock.lock();
  }
}

}  // namespace h5mount::remote

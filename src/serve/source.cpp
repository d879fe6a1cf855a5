#include "source.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "h5mount/tree/names.h"

namespace h5mount::serve {
namespace {

using std::chrono::nanoseconds;

// Two writes within a tick of the kernel's clock leave the same times: the state of a file that was written
// in this time is given a tag that no other answer has.
constexpr std::int64_t kSettles = 50'000'000;

std::int64_t now() {
  return nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

ServedSource::ServedSource(Source source)
    : name_(std::move(source.name)),
      open_(std::move(source.open)),
      run_(static_cast<std::uint64_t>(now())),
      opened_(std::move(source.opened)) {}

Result<SourceState> ServedSource::current_state() {
  if (opened_) {
    SourceState state = opened_->state();
    if (state.current) return state;
    opened_.reset();
  }
  H5_ASSIGN(opened_, open_());
  return opened_->state();
}

Result<std::shared_ptr<const Snapshot>> ServedSource::current() {
  const MutexLock lock(mutex_);
  H5_ASSIGN(const SourceState state, current_state());
  auto out = std::make_shared<Snapshot>();
  out->tree = opened_->tree;
  out->pin = opened_->tree->pin();
  out->shown = opened_->shown;
  out->modified = state.modified / 1'000'000'000;
  static const std::uint64_t program = tree::fnv1a(H5MOUNT_VERSION);
  out->version = fmt::format("{:x}", state.version ^ program);
  if (std::llabs(now() - state.modified) < kSettles)
    out->version += fmt::format(".{:x}.{:x}", run_, ++unsettled_);
  return out;
}

}  // namespace h5mount::serve

#include "h5mount/base/momentary.h"

namespace h5mount {
namespace {

thread_local MomentaryWatch* t_watch = nullptr;

}  // namespace

MomentaryWatch::MomentaryWatch() noexcept : outer_(std::exchange(t_watch, this)) {}

MomentaryWatch::~MomentaryWatch() {
  t_watch = outer_;
  if (met_ && outer_ != nullptr && !outer_->met_) outer_->met_ = std::move(met_);
}

void note_momentary(const Error& error) noexcept {
  if (t_watch != nullptr && !t_watch->met_ && is_momentary(error)) t_watch->met_ = error;
}

void note_failed_read(const Error& error) noexcept {
  const bool passes = is_momentary(error) || error.code() == ErrorCode::AccessDenied;
  if (t_watch != nullptr && !t_watch->met_ && passes) t_watch->met_ = error;
}

}  // namespace h5mount

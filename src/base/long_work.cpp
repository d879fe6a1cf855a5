#include "h5mount/base/long_work.h"

namespace h5mount {
namespace {

thread_local LongWorkListener* t_listener = nullptr;

}  // namespace

void set_long_work_listener(LongWorkListener* listener) {
  t_listener = listener;
}

void note_long_work() {
  if (t_listener != nullptr) t_listener->long_work_ahead();
}

}  // namespace h5mount

// A thread that many wait for (the one that receives a mount's requests) wants to know before it begins work
// that takes long, so that another thread can take its place. Code that is about to wait, or to decode much,
// says so here; on threads without a listener that costs one load. Threads: each has its own listener.
#pragma once

#include <cstddef>

namespace h5mount {

// Decoding so few bytes takes less time than waking another thread, whose caches are cold.
inline constexpr std::size_t kQuickBytes = 64U << 10;

class LongWorkListener {
 public:
  virtual ~LongWorkListener() = default;
  // May be called several times in one piece of work; must not throw.
  virtual void long_work_ahead() noexcept = 0;
};

// Sets the calling thread's listener, which must outlive it or be replaced; null: none.
void set_long_work_listener(LongWorkListener* listener);

// Tells the calling thread's listener.
void note_long_work();

}  // namespace h5mount

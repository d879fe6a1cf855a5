// Mechanisms that gain time or memory and change no byte of what is shown. Each can be switched off, so that
// a benchmark tells what it gains (tests/bench, group `mechanisms`): the environment variable H5MOUNT_WITHOUT
// names those that are off, separated by commas. One that does not gain a tenth where it claims to, goes.
// Threads: any.
#pragma once

#include <cstdint>

namespace h5mount {

enum class Mechanism : std::uint8_t {
  ColumnAhead,    // column-ahead
  RandomAhead,    // random-ahead
  ListingAdvice,  // listing-advice
  WaitChoice,     // wait-choice
  FairTurns,      // fair-turns
  HeapTrim,       // heap-trim
  ShortestFloat,  // shortest-float
};

// The same for the life of the process.
bool is_on(Mechanism mechanism);

}  // namespace h5mount

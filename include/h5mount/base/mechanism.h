// Mechanisms that gain time or memory and change no byte of what is shown. Each can be switched off, so that
// a benchmark tells what it gains (tests/bench, group `mechanisms`): the environment variable H5MOUNT_WITHOUT
// names those that are off, separated by commas. A mechanism that does not gain a tenth where it claims to is
// removed, unless it keeps a promise of docs/promise.md. Beside each one: the time without it divided by the
// time with it (short form of the benchmark, two processors of a virtual machine, medians of seven). Threads:
// any.
#pragma once

#include <cstdint>

namespace h5mount {

enum class Mechanism : std::uint8_t {
  ColumnAhead,    // column-ahead: a column of tiles 2.4 to 3.3
  ListingAdvice,  // listing-advice: find 3.4 to 4.7, find -size 1.0
  WaitChoice,     // wait-choice: 4 KiB at random of contiguous data 1.3 to 1.4, find -size 1.0
  FairTurns,      // fair-turns: a chunk of 32 MiB, asked for behind forty of another dataset 1.3 to 15
  HeapTrim,       // heap-trim: memory after sixteen readers of chunks of seven sizes 1.0 to 1.2
  ShortestFloat,  // shortest-float: floats as CSV 1.1 to 1.2, in processor time 1.3
  NoOpendir,      // no-opendir: find over 12,000 directories 2.0, of five
};

// Whether the mechanism is on; this does not change during the life of the process.
bool is_on(Mechanism mechanism);

}  // namespace h5mount

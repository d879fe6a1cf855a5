// Counts the allocations of 64 KiB and more that a test program makes with `new`, as most of the library's
// are: malloc takes such memory from the kernel and gives it back each time. A program that includes
// large_allocations.cpp among its sources replaces operator new.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h5mount::test {

inline constexpr std::size_t kLargeAllocation = 64U << 10;

// Of all threads, since the program began.
std::uint64_t large_allocations();

}  // namespace h5mount::test

// Small files that claim much, made of choices: wide compounds, columns, names and enumerations that arrays
// repeat, nested groups, groups of many links that lead round, attributes whose strings share their bytes.
// Each structure is sound and each file has at most some hundred KiB; what is made of it is what is looked
// at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::test {

// The same choices give the same file.
std::vector<std::byte> make_claiming_file(ByteSpan choices);

// Choices from a number.
std::vector<std::byte> random_choices(std::uint64_t seed);

}  // namespace h5mount::test

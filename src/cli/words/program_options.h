// The options of h5mount, and which of its commands have them.
#pragma once

#include <span>

#include "options.h"

namespace h5mount::cli {

// The commands, as bits of ProgramOption::commands: those without a mount in the order of FrontCommand::Kind.
inline constexpr unsigned kMount = 1U << 0, kServe = 1U << 1, kAnyCommand = ~0U;
constexpr unsigned bit_of(FrontCommand::Kind kind) {
  return 1U << (2U + static_cast<unsigned>(kind));
}

// First those with a letter, then the commands and what belongs to them.
std::span<const ProgramOption> program_options();

}  // namespace h5mount::cli

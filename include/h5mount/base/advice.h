// The things that a user can do about an error, if there is something that the error itself does not say.
//
// An error that stands for itself (user.hdf5.error, a line of the log, an answer over HTTP) is told with its
// advice by `text_with_advice`. Commands, which tell many errors one below the other, tell each piece of it
// once. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount {

// The option salvage: files are opened as they are, as salvage shows them, or with the fill value for bytes
// that are gone besides.
enum class SalvageMode : std::uint8_t { Off, Errors, Fill };

// The option as this process has it: what it does already is not advised. Off before the first call.
void set_salvage_mode(SalvageMode mode);
SalvageMode salvage_mode();

// A clause to append to the error's text; empty if nothing helps.
std::string_view advice_on(const Error& error);
// That of them which names the option salvage; empty if it could not help.
std::string_view salvage_advice_on(const Error& error);

// `TEXT; CURE`, or the text alone.
std::string text_with_advice(const Error& error);

}  // namespace h5mount

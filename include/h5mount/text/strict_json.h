// Values as strict JSON, which has no word for NaN and the infinities. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace h5mount::text {

// The forms of numbers that are not finite as doubles. `Strings`: strings of the same letters. `NanIsNull`:
// the same, but NaN is null. `Overflowing`: an infinity is 1e999, and a number that no double holds stays,
// which readers of doubles take for infinity; for lists of numbers, which would be lists of strings to NumPy
// otherwise.
enum class NotFinite : std::uint8_t { Strings, NanIsNull, Overflowing };

// A text of value_text.h (not a bare string) as strict JSON.
std::string strict_json(std::string_view json, NotFinite form = NotFinite::Strings);

}  // namespace h5mount::text

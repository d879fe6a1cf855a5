// Which other format bytes are, as programs that look for it would say: for files that are two things at
// once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace h5mount::check {

// `bytes`: the beginning of a file, or what lies behind its end or between its structures, where readers that
// are lenient find it. Returns a short name ("ELF", "ZIP"), or what base/foreign_format.h says of it.
std::optional<std::string> format_in_front(std::string_view bytes);
// Of an archive, a program or a document that begins where nothing else is.
std::optional<std::string> format_at(std::string_view bytes);
// The same for one of many places, so that what other bytes have by chance does not count.
std::optional<std::string> format_anywhere(std::string_view bytes);

// The offset in `tail`, which ends with the file, of a ZIP archive's last record, if one is there: readers of
// archives look for it from the end. `tail_offset`: where the tail begins in the file.
std::optional<std::size_t> zip_end_in(std::string_view tail, std::uint64_t tail_offset);
inline constexpr std::size_t kZipTail = 22 + 65'535;  // the record, and the longest comment

}  // namespace h5mount::check

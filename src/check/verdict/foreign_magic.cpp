#include "foreign_magic.h"

#include <algorithm>

#include "h5mount/base/bytes.h"
#include "h5mount/base/foreign_format.h"
#include "h5mount/base/text.h"

namespace h5mount::check {

namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes, name;
};

// Long enough that other bytes do not have them by chance.
constexpr Magic kAnywhere[] = {
    {"\x89HDF\r\n\x1A\n"sv, "HDF5"},
    {"\x7F"
     "ELF"sv,
     "ELF"},
    {"PK\x03\x04"sv, "ZIP"},
    {"%PDF-"sv, "PDF"},
    {"\xFD"
     "7zXZ\0"sv,
     "xz"},
    {"7z\xBC\xAF\x27\x1C"sv, "7-Zip"},
    {"Rar!\x1A\x07"sv, "RAR"},
    {"\0asm\x01\0\0\0"sv, "WebAssembly"},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "OLE document"},
    {"MSCF\0\0\0\0"sv, "cabinet"},
    {"!<arch>\n"sv, "ar archive"},
};
// Those that count where something begins.
constexpr Magic kAtBeginning[] = {
    {"\x1F\x8B\x08"sv, "gzip"},
    {"\xCF\xFA\xED\xFE"sv, "Mach-O"},
    {"\xCE\xFA\xED\xFE"sv, "Mach-O"},
    {"\xCA\xFE\xBA\xBE"sv, "Mach-O or Java class"},
};
// And those that count at a file's beginning alone.
constexpr Magic kInFront[] = {
    {"MZ"sv, "PE"},           {"#!"sv, "script"},       {"\x80\x02"sv, "pickle"},
    {"\x80\x03"sv, "pickle"}, {"\x80\x04"sv, "pickle"}, {"\x80\x05"sv, "pickle"},
};
constexpr std::string_view kMarkup[] = {"<!doctype html", "<html", "<script", "<body", "<iframe"};

template <std::size_t N>
std::optional<std::string> named(const Magic (&table)[N], std::string_view bytes) {
  const auto* const found =
      std::ranges::find_if(table, [&](const Magic& magic) { return bytes.starts_with(magic.bytes); });
  return found == std::end(table) ? std::nullopt : std::optional<std::string>(found->name);
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  return load_le_width(reinterpret_cast<const std::byte*>(bytes.data()) + at, width);
}

constexpr std::size_t kFields = 10;  // of ELF and ZIP, that are looked at

// Whether the header of DOS leads to one of Windows.
bool is_program_of_windows(std::string_view bytes) {
  constexpr std::size_t kPlace = 0x3C;
  if (!bytes.starts_with("MZ") || bytes.size() < kPlace + 4) return false;
  const std::uint64_t header = number_at(bytes, kPlace, 4);
  return header < bytes.size() && bytes.substr(static_cast<std::size_t>(header)).starts_with("PE\0\0"sv);
}

}  // namespace

std::optional<std::string> format_anywhere(std::string_view bytes) {
  if (is_program_of_windows(bytes)) return "PE";
  auto found = named(kAnywhere, bytes);
  const bool more = bytes.size() > kFields;
  if (found == "ELF" && (!more || bytes[4] < 1 || bytes[4] > 2 || bytes[5] < 1 || bytes[5] > 2)) return {};
  if (found == "ZIP" && (!more || bytes[5] != 0 || bytes[9] != 0)) return {};  // version, method
  return found;
}

std::optional<std::string> format_at(std::string_view bytes) {
  if (auto found = named(kAtBeginning, bytes)) return found;
  if (auto found = named(kAnywhere, bytes)) return found;
  return format_anywhere(bytes);
}

// Readers of PDF look for its beginning in the first KiB, browsers for markup.
std::optional<std::string> format_in_front(std::string_view bytes) {
  constexpr std::size_t kLookedFor = 1024;
  if (auto found = format_at(bytes)) return found;
  if (auto found = named(kInFront, bytes)) return found;
  const std::string_view first = bytes.substr(0, kLookedFor);
  if (first.contains("%PDF-")) return "PDF";
  const std::string lower = to_lower(first);
  if (std::ranges::any_of(kMarkup, [&](std::string_view tag) { return lower.contains(tag); })) return "HTML";
  // JSON is a text as people put into user blocks.
  if (first.starts_with('{') || first.starts_with('[')) return std::nullopt;
  return foreign_format(bytes);
}

std::optional<std::size_t> zip_end_in(std::string_view tail, std::uint64_t tail_offset) {
  constexpr std::string_view kRecord = "PK\x05\x06"sv, kEntry = "PK\x01\x02"sv, kLocator64 = "PK\x06\x07"sv;
  constexpr std::size_t kRecordBytes = 22, kLocatorBytes = 20;
  for (std::size_t at = tail.rfind(kRecord); at != std::string_view::npos && at + kRecordBytes <= tail.size();
       at = at == 0 ? std::string_view::npos : tail.rfind(kRecord, at - 1)) {
    const std::uint64_t disks = number_at(tail, at + 4, 4), here = number_at(tail, at + 8, 2),
                        all = number_at(tail, at + 10, 2), bytes = number_at(tail, at + 12, 4);
    if (here != all || (disks != 0 && disks != 0xFFFF'FFFF) || bytes > tail_offset + at) continue;
    if (at >= kLocatorBytes && tail.substr(at - kLocatorBytes).starts_with(kLocator64)) return at;
    if (all == 0 ? bytes == 0 : bytes > at || tail.substr(at - bytes).starts_with(kEntry)) return at;
  }
  return std::nullopt;
}

}  // namespace h5mount::check

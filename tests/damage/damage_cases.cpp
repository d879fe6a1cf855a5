#include "damage/damage_cases.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "fuzz/mutator.h"
#include "h5mount/base/bytes.h"
#include "h5mount/base/checksum.h"

namespace h5mount::test {
namespace {

constexpr std::string_view kHeader1 = "ObjectHeader v1";
constexpr std::string_view kSegment = "LocalHeap segment";

// Where most fields of a structure lie; what is changed by chance lies within it.
constexpr std::size_t kSpan = 256;
constexpr std::size_t kMaxChecked = 2'048;

bool has_checksum(std::string_view signature) {
  constexpr std::array<std::string_view, 5> kNone = {"TREE", "SNOD", "HEAP", "GCOL", "\x89HDF"};
  return std::ranges::find(kNone, signature) == kNone.end();
}

// The bytes at the fixed places of a structure's first fields, behind its signature.
constexpr std::array<std::size_t, 8> kFirstFields = {4, 5, 6, 8, 12, 16, 24, 32};

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  value = (value ^ (value >> 27)) * 0x94D0'49BB'1331'11EBU;
  return value ^ (value >> 31);
}

// Where a structure's checksum stands depends on its fields; it is found where the bytes are those of
// lookup3. 0 where there is none within `most` bytes.
std::size_t checksummed_bytes(const std::vector<std::byte>& file, std::size_t at, std::size_t most) {
  for (std::size_t length = 8; length + 4 <= std::min(most, file.size() - at); ++length)
    if (load_le<std::uint32_t>(file.data() + at + length) ==
        lookup3_checksum(ByteSpan(file).subspan(at, length)))
      return length + 4;
  return 0;
}

struct Span {
  std::size_t at, length;
};
using Structures = std::map<std::string, std::vector<Span>>;

// The names of an old group, where offsets and lengths are of 8 bytes.
void add_segment(const std::vector<std::byte>& file, std::size_t heap, Structures& out) {
  if (heap + 32 > file.size()) return;
  const auto size = load_le<std::uint64_t>(file.data() + heap + 8);
  const auto address = load_le<std::uint64_t>(file.data() + heap + 24);
  if (address >= file.size() || size > file.size() - address) return;
  out[std::string(kSegment)].push_back({static_cast<std::size_t>(address), static_cast<std::size_t>(size)});
}

// A structure ends where the next one begins, as far as it is known.
Structures structures_of(const std::vector<std::byte>& file, const std::set<std::uint64_t>& headers) {
  Structures out;
  const std::vector<std::size_t> marks = find_signatures(file);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const std::size_t next = i + 1 < marks.size() ? marks[i + 1] : file.size();
    const std::string signature(as_text(ByteSpan(file).subspan(marks[i], 4)));
    std::size_t length = std::min(next - marks[i], kSpan);
    // Direct blocks of a heap have theirs in the middle, and are longer than what is looked at.
    if (has_checksum(signature) && signature != "FHDB")
      length = checksummed_bytes(file, marks[i], kMaxChecked);
    if (length > 4) out[signature].push_back({marks[i], length});
    if (signature == "HEAP") add_segment(file, marks[i], out);
  }
  for (const std::uint64_t at : headers)
    if (at + 16 < file.size() && file[at] == std::byte{1}) {
      const auto bytes = load_le<std::uint32_t>(file.data() + at + 8);
      out[std::string(kHeader1)].push_back(
          {static_cast<std::size_t>(at),
           std::min<std::size_t>({std::size_t{16} + bytes, file.size() - at, kSpan})});
    }
  return out;
}

void add_flips(const std::string& structure, const Span& span, std::size_t flips,
               std::vector<DamageCase>& out) {
  std::set<std::size_t> places;
  const bool text = structure == kSegment, header1 = structure == kHeader1;
  for (const std::size_t field : kFirstFields)
    if (!text && places.size() < flips / 2 && field < span.length) places.insert(header1 ? field - 4 : field);
  std::uint64_t seed = span.at * 0x9E37'79B9'7F4A'7C15U + flips;
  const std::size_t lowest = text || header1 ? 0 : 4;
  for (std::size_t tries = 0; places.size() < flips && tries < 4 * flips && span.length > lowest; ++tries)
    places.insert(lowest + static_cast<std::size_t>(mixed(++seed) % (span.length - lowest)));
  for (const std::size_t within : places)
    out.push_back({structure, span.at + within, within, static_cast<std::uint8_t>(1U << (mixed(++seed) % 8)),
                   !text && !header1 && has_checksum(structure)});
}

}  // namespace

std::vector<std::byte> DamageCase::apply(const std::vector<std::byte>& sound) const {
  std::vector<std::byte> bytes = sound;
  if (flip == 0)
    bytes.resize(at);
  else
    bytes[at] ^= static_cast<std::byte>(flip);
  return bytes;
}

std::string DamageCase::text() const {
  if (flip == 0) return "cut at " + std::to_string(at);
  return structure + "+" + std::to_string(within) + " (byte " + std::to_string(at) + ", bits " +
         std::to_string(flip) + ")";
}

std::vector<DamageCase> cuts_of(const std::vector<std::byte>& file) {
  std::vector<DamageCase> out;
  for (const std::size_t percent : {1, 5, 10, 25, 50, 75, 90, 99})
    out.push_back({.structure = "cut", .at = file.size() * percent / 100});
  return out;
}

std::vector<DamageCase> flips_of(const std::vector<std::byte>& file, const std::set<std::uint64_t>& headers,
                                 std::size_t instances, std::size_t flips) {
  std::vector<DamageCase> out;
  for (const auto& [structure, spans] : structures_of(file, headers)) {
    std::set<std::size_t> chosen;
    for (std::size_t i = 0; i < instances; ++i)
      chosen.insert(instances < 2 ? 0 : i * (spans.size() - 1) / (instances - 1));
    for (const std::size_t i : chosen) add_flips(structure, spans[i], flips, out);
  }
  return out;
}

}  // namespace h5mount::test

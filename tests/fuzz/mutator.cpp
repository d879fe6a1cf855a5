#include "mutator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "h5mount/base/bytes.h"
#include "h5mount/base/checksum.h"

namespace h5mount::test {
namespace {

constexpr std::array<std::string_view, 23> kSignatures = {
    "\x89HDF", "OHDR", "OCHK", "TREE", "SNOD", "HEAP", "GCOL", "BTHD", "BTIN", "BTLF", "FRHP", "FHDB",
    "FHIB",    "FSHD", "FSSE", "SMTB", "SMLI", "FAHD", "FADB", "EAHD", "EAIB", "EASB", "EADB"};
constexpr std::size_t kMaxMarks = 4'096;
constexpr std::size_t kNear = 160;       // bytes after a signature in which its fields are
constexpr std::size_t kMaxSpan = 2'048;  // maximum bytes of a structure whose checksum is searched

// Few bytes can begin a signature; the comparisons are slow in a fuzzer's build.
constexpr std::array<bool, 256> kFirstBytes = [] {
  std::array<bool, 256> out{};
  for (const std::string_view four : kSignatures) out[static_cast<unsigned char>(four[0])] = true;
  return out;
}();

bool is_signature(const std::byte* at) {
  if (!kFirstBytes[std::to_integer<std::size_t>(*at)]) return false;
  return std::ranges::any_of(kSignatures,
                             [&](std::string_view four) { return std::memcmp(at, four.data(), 4) == 0; });
}

std::uint64_t load(const std::vector<std::byte>& file, std::size_t at, unsigned width) {
  return load_le_width(file.data() + at, width);
}

void store(std::vector<std::byte>& file, std::size_t at, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace

std::vector<std::size_t> find_signatures(const std::vector<std::byte>& file) {
  std::vector<std::size_t> marks;
  for (std::size_t at = 0; at + 4 <= file.size() && marks.size() < kMaxMarks; ++at)
    if (is_signature(file.data() + at)) marks.push_back(at);
  return marks;
}

// xorshift64*: any seed but zero.
std::uint64_t Mutator::next() {
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return state_ * 0x2545f4914f6cdd1dULL >> 8;
}

void Mutator::mutate(std::vector<std::byte>& file) {
  if (file.size() < 16) return;
  std::vector<std::size_t> marks = find_signatures(file);
  for (std::uint64_t changes = 1 + below(4); changes > 0; --changes) {
    switch (below(16)) {
      case 0:
        file[place(file, marks)] ^= static_cast<std::byte>(1U << below(8));
        break;
      case 1:
      case 2:
        change_bytes(file, marks);
        break;
      case 3:
        copy_structure(file, marks);
        break;
      case 4:
        if (below(8) == 0) file.resize(std::max<std::size_t>(16, place(file, marks)));
        std::erase_if(marks, [&](std::size_t mark) { return mark >= file.size(); });
        break;
      default:
        change_field(file, marks);
    }
  }
}

// Usually near a signature, otherwise anywhere: version 1 headers and heaps have no signature near their
// data.
std::size_t Mutator::place(const std::vector<std::byte>& file, const std::vector<std::size_t>& marks) {
  if (marks.empty() || below(3) == 0) return below(file.size());
  return std::min(file.size() - 1, marks[below(marks.size())] + 4 + below(below(4) == 0 ? 8 * kNear : kNear));
}

std::uint64_t Mutator::interesting(const std::vector<std::byte>& file, const std::vector<std::size_t>& marks,
                                   std::uint64_t old, unsigned width) {
  const std::uint64_t all = width == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * width)) - 1;
  switch (below(14)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return all;
    case 3:
      return all - 1;
    case 4:
      return all / 2 + 1;
    case 5:
      return old + 1;
    case 6:
      return old - 1;
    case 7:
      return old * 2;
    case 8:
      return file.size();
    case 9:
      return file.size() - below(16);
    case 10:
      return marks.empty() ? 0 : marks[below(marks.size())];
    case 11:
      return std::uint64_t{1} << below(8 * width);
    case 12:
      return below(256);
    default:
      return below(file.size());
  }
}

void Mutator::change_field(std::vector<std::byte>& file, const std::vector<std::size_t>& marks) {
  constexpr std::array<unsigned, 5> kWidths = {1, 2, 4, 8, 8};
  const unsigned width = kWidths[below(kWidths.size())];
  std::size_t at = std::min(place(file, marks), file.size() - width);
  if (below(2) == 0) at -= at % width;
  store(file, at, interesting(file, marks, load(file, at, width), width), width);
}

void Mutator::change_bytes(std::vector<std::byte>& file, const std::vector<std::size_t>& marks) {
  const std::size_t at = place(file, marks);
  const std::size_t end = std::min<std::size_t>(file.size(), at + 1 + below(16));
  const std::uint64_t kind = below(3);
  for (std::size_t i = at; i < end; ++i)
    file[i] = static_cast<std::byte>(kind == 0 ? 0 : kind == 1 ? 0xff : next());
}

// Copies the beginning of one structure over another: a structure of the wrong kind, or a duplicate, at an
// address in use.
void Mutator::copy_structure(std::vector<std::byte>& file, const std::vector<std::size_t>& marks) {
  if (marks.size() < 2) return;
  const std::size_t from = marks[below(marks.size())];
  const std::size_t to = marks[below(marks.size())];
  const std::size_t count = std::min({file.size() - from, file.size() - to, std::size_t{16} << below(6)});
  std::memmove(file.data() + to, file.data() + from, count);
}

// The position of a structure's checksum depends on its fields; it is found by comparing bytes with lookup3.
void fix_checksums(const std::vector<std::byte>& before, std::vector<std::byte>& after) {
  if (before.size() != after.size()) return;
  for (const std::size_t start : find_signatures(before)) {
    const std::size_t most = std::min(before.size() - start, kMaxSpan);
    if (std::memcmp(before.data() + start, after.data() + start, most) == 0) continue;
    for (std::size_t length = 8; length + 4 <= most; ++length) {
      const ByteSpan covered = ByteSpan(before).subspan(start, length);
      if (load(before, start + length, 4) != lookup3_checksum(covered)) continue;
      store(after, start + length, lookup3_checksum(ByteSpan(after).subspan(start, length)), 4);
      break;
    }
  }
}

}  // namespace h5mount::test

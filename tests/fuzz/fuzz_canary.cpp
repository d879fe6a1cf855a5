// The canary: a fuzz target with a deliberate bug, which `scripts/fuzz.sh canary` must find. It proves that
// the compiler, the sanitizers, the structured mutations and the script work together: a fuzzer that finds
// nothing elsewhere has looked.
//
// The bug lies behind a version 2 B-tree header with a right checksum, as the product decodes it: a mutation
// must change one field to one value and correct the checksum. Where no input is given, the mutator provides
// a sound header, so no seeds are needed.
#include <memory>

#include "h5mount/base/checksum.h"
#include "h5mount/format/btree2_node.h"
#include "structured_mutation.h"

namespace {

using namespace h5mount;

constexpr std::uint16_t kPlaces = 40;  // fewer than the 45 records that a node of 512 bytes holds
constexpr std::uint8_t kLinkNames = 5;
constexpr std::uint16_t kLinkNameBytes = 11;

// The comparison should be `>=`: with as many records as places, one byte behind the places is written.
[[gnu::noinline]] void overflow_by_one(std::uint16_t records) {
  if (records > kPlaces) return;
  const auto places = std::make_unique<volatile unsigned char[]>(kPlaces);
  places[records] = 1;
}

void append(std::vector<std::byte>& out, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

std::vector<std::byte> sound_header() {
  std::vector<std::byte> out;
  for (const char c : {'B', 'T', 'H', 'D'}) out.push_back(static_cast<std::byte>(c));
  append(out, 0, 1);               // version
  append(out, kLinkNames, 1);      // type
  append(out, 512, 4);             // node size
  append(out, kLinkNameBytes, 2);  // record size
  append(out, 0, 2);               // depth
  append(out, 100, 1);             // split percent
  append(out, 40, 1);              // merge percent
  append(out, 4096, 8);            // root address
  append(out, 7, 2);               // records in root
  append(out, 7, 8);               // records in tree
  append(out, lookup3_checksum(out), 4);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + length);
  format::Cursor cursor(bytes, 0, format::kBTree2Header, {});
  if (const auto header = format::decode_btree2_header(cursor, {.type = kLinkNames}))
    overflow_by_one(header->root_record_count);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  const std::vector<std::byte> sound = sound_header();
  if (size >= sound.size() || most < sound.size()) return test::mutate_structures(data, size, most, seed);
  std::memcpy(data, sound.data(), sound.size());
  return sound.size();
}

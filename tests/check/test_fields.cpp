// Each field of each structure that the project's files and the corpora hold is damaged, its checksum is made
// right again, and a finding must name the field, or fields.txt say why none can.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "checked.h"
#include "h5mount/base/thread_annotations.h"
#include "support/corpus.h"
#include "support/every_index.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

struct Place {
  std::uint64_t offset = 0, bytes = 0;
};
struct Seal {
  std::uint64_t begin, end, at;
};

class FieldMap final : public check::FieldReport {
 public:
  void field(std::string_view structure, std::string_view field, std::uint64_t offset,
             std::uint64_t bytes) override {
    const MutexLock lock(mutex_);
    fields_[std::string(structure) + "." + std::string(field)].push_back({offset, bytes});
  }
  void sealed(std::uint64_t begin, std::uint64_t end, std::uint64_t at) override {
    const MutexLock lock(mutex_);
    seals_.push_back({begin, end, at});
  }
  // The places of each in the file's order, whichever thread met them first.
  std::map<std::string, std::vector<Place>> fields() {
    const MutexLock lock(mutex_);
    for (auto& [name, places] : fields_) std::ranges::sort(places, {}, &Place::offset);
    return fields_;
  }
  std::vector<Seal> seals() const {
    const MutexLock lock(mutex_);
    return seals_;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::vector<Place>> fields_ H5_GUARDED_BY(mutex_);
  std::vector<Seal> seals_ H5_GUARDED_BY(mutex_);
};

// Makes the checksums right that cover the byte.
void seal_again(std::vector<std::byte>& bytes, const std::vector<Seal>& seals, std::uint64_t offset) {
  for (const Seal& seal : seals) {
    if (offset < seal.begin || offset >= std::max(seal.end, seal.at + 4) || seal.at + 4 > bytes.size())
      continue;
    if (offset >= seal.at && offset < seal.at + 4) continue;  // the checksum itself is damaged
    if (seal.at < seal.end) std::memset(bytes.data() + seal.at, 0, 4);
    const auto length = static_cast<std::size_t>(seal.end - seal.begin);
    const std::uint32_t sum =
        lookup3_checksum(ByteSpan(bytes).subspan(static_cast<std::size_t>(seal.begin), length));
    std::memcpy(bytes.data() + seal.at, &sum, sizeof sum);
  }
}

enum class Told : std::uint8_t { Nothing, Elsewhere, Here };

struct Outcome {
  Told told = Told::Nothing;
  bool by_check = false;  // readers do not mind
  std::string where;      // what else was told
};

Outcome outcome_of(const Collected& report, const std::string& name, const Place& place) {
  Outcome out;
  for (const check::Finding& finding : report.findings) {
    if (finding.severity == check::Severity::Note) continue;
    const std::string found =
        std::string(finding.error.structure()) + "." + std::string(finding.error.field());
    const std::uint64_t at = finding.error.offset();
    const bool inside = at >= place.offset && at < place.offset + std::max<std::uint64_t>(place.bytes, 1);
    const bool same_field = found.substr(found.find('.')) == name.substr(name.find('.'));
    if (found == name || (same_field && inside)) return {Told::Here, finding.read_all_the_same, found};
    out = {Told::Elsewhere, finding.read_all_the_same, found};
  }
  return out;
}

// The values that a field is damaged to: other bits, zeros, ones, one more, half.
std::vector<std::vector<std::byte>> damages(ByteSpan value) {
  std::vector<std::vector<std::byte>> out;
  const std::vector<std::byte> is(value.begin(), value.end());
  const auto add = [&](std::vector<std::byte> other) {
    if (other != is && std::ranges::find(out, other) == out.end()) out.push_back(std::move(other));
  };
  std::vector<std::byte> low = is, high = is, more = is, middle = is;
  low[0] ^= std::byte{1};
  high[is.size() - 1] ^= std::byte{0x80};
  more[0] = static_cast<std::byte>(std::to_integer<unsigned>(more[0]) + 8);
  middle[is.size() / 2] ^= std::byte{0x24};
  add(low), add(high), add(more), add(middle);
  add(std::vector<std::byte>(is.size(), std::byte{0}));
  add(std::vector<std::byte>(is.size(), std::byte{0xFF}));
  return out;
}

class Damager {
 public:
  void take(const std::vector<std::byte>& valid) {
    FieldMap map;
    Collected sound;
    check_bytes(valid, sound, true, &map);
    if (!sound.of(check::Severity::Damage).empty()) return;
    const std::vector<Seal> seals = map.seals();
    for (const auto& [name, places] : map.fields()) {
      Outcome& best = outcomes[name];
      unsigned& tried = tried_[name];
      // Places apart from one another, as a structure's fields of one name may be alike.
      for (std::size_t i = 0; i < places.size() && tried < kTried && best.told != Told::Here;
           i += std::max<std::size_t>(1, places.size() / 3), ++tried)
        damage(valid, seals, name, places[i], best);
    }
  }

  std::map<std::string, Outcome> outcomes;

 private:
  static constexpr unsigned kTried = 8;

  static void damage(const std::vector<std::byte>& valid, const std::vector<Seal>& seals,
                     const std::string& name, const Place& place, Outcome& best) {
    constexpr std::uint64_t kMost = 64;  // of a long field
    if (place.bytes == 0 || place.offset + place.bytes > valid.size()) return;
    const auto length = static_cast<std::size_t>(std::min(place.bytes, kMost));
    const ByteSpan value = ByteSpan(valid).subspan(static_cast<std::size_t>(place.offset), length);
    for (const auto& other : damages(value)) {
      std::vector<std::byte> bytes = valid;
      std::ranges::copy(other, bytes.begin() + static_cast<std::ptrdiff_t>(place.offset));
      seal_again(bytes, seals, place.offset);
      Collected report;
      check_bytes(bytes, report, true);
      const Outcome outcome = outcome_of(report, name, place);
      if (outcome.told > best.told) best = outcome;
      if (best.told == Told::Here) return;
    }
  }

  std::map<std::string, unsigned> tried_;
};

// "Structure.field  reader|check|elsewhere|none  reason"
struct Expected {
  std::string by, reason;
};
std::map<std::string, Expected> table() {
  std::map<std::string, Expected> out;
  std::ifstream in(H5MOUNT_SOURCE_ROOT "/tests/check/fields.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, by, reason;
    words >> name >> by;
    std::getline(words >> std::ws, reason);
    out[name] = {by, reason};
  }
  return out;
}

std::string by_of(const Outcome& outcome) {
  if (outcome.told == Told::Here) return outcome.by_check ? "check" : "reader";
  return outcome.told == Told::Elsewhere ? "elsewhere" : "none";
}

// For whoever adds a field: H5MOUNT_FIELDS_SEEN names a file that what was seen is written to.
void write_seen(const Damager& damager) {
  const char* const path = std::getenv("H5MOUNT_FIELDS_SEEN");
  if (path == nullptr) return;
  std::ofstream out(path);
  for (const auto& [name, outcome] : damager.outcomes)
    out << name << " " << by_of(outcome) << " " << outcome.where << "\n";
}

void expect_as_in_table(const Damager& damager) {
  const auto expected = table();
  for (const auto& [name, outcome] : damager.outcomes) {
    const auto known = expected.find(name);
    if (known == expected.end()) {
      ADD_FAILURE() << name << " is not in fields.txt; seen: " << by_of(outcome) << " " << outcome.where;
      continue;
    }
    const std::string& by = known->second.by;
    if (by == "none" || by == "elsewhere") {
      EXPECT_FALSE(known->second.reason.empty()) << name << " has no reason";
      if (by == "elsewhere") {
        EXPECT_NE(outcome.told, Told::Nothing) << name;
      } else {
        EXPECT_NE(outcome.told, Told::Here) << name << " has a finding";
      }
      continue;
    }
    EXPECT_TRUE(by == "reader" || by == "check") << name << ": " << by;
    EXPECT_EQ(outcome.told, Told::Here) << name << ": " << outcome.where;
  }
}

constexpr const char* kOwnFiles[] = {
    R"(
f.create_group('g/h'); f['soft'] = h5py.SoftLink('/g'); f['far'] = h5py.ExternalLink('x.h5', '/y')
for i in range(40): f.create_group('many/%02d' % i)
for i in range(3): del f['many/%02d' % (7 * i)]
f['g'].attrs['a'] = np.arange(3); f['g'].attrs['s'] = 'text'; f['v'] = ['one', 'two']; f['again'] = f['v']
f['t'] = np.dtype([('a', 'i4'), ('b', 'f8'), ('c', 'S3'), ('d', 'u2', (2, 3))])
f['b'] = np.array([True, False]); f['r'] = np.array([f['g'].ref], h5py.ref_dtype); f['o'] = np.void(b'1234')
f.create_dataset('z', data=np.arange(100), chunks=(10,), compression='gzip', shuffle=True, fletcher32=True)
f.create_dataset('one', data=np.arange(100), chunks=(100,), compression='gzip')
f.create_dataset('x', shape=(4,), dtype='i4', external=[('raw.bin', 0, 16)], fillvalue=7)
f.create_dataset('c', shape=(4,), dtype=f['t'])
)",
    R"(
g = f.create_group('ordered', track_order=True)
for i in range(30): g.create_dataset('d%02d' % i, data=np.arange(i), track_order=True, track_times=True)
d = g['d03']
for i in range(20): d.attrs['a%02d' % i] = np.arange(i)
if f.libver[0] != 'earliest': d.attrs.create('large', np.arange(9000), dtype='i8')
)",
    kEveryIndex,
};

// A file whose managers of free space, and those of whose heaps, are stored.
std::string with_free_space(const std::string& strategy) {
  return R"(
f.close()
f = h5py.File(sys.argv[1], 'w', libver='latest', fs_persist=True, fs_threshold=1, fs_strategy=')" +
         strategy + R"(')
for i in range(40): f.create_dataset('d%d' % i, data=np.arange(300 + i))
for i in range(60): f['d1'].attrs['attribute %d' % i] = np.arange(i)
for i in range(0, 40, 3): del f['d%d' % i]
for i in range(0, 60, 7): del f['d1'].attrs['attribute %d' % i]
)";
}

// Of the structures that name one another.
TEST(Fields, WhatReadersDoNotMindIsFound) {
  constexpr std::size_t kOldBase = 24, kOldEnd = 40, kExtension = 20, kRoot = 36, kSum = 44;
  const std::vector<std::byte> old = written_with_h5py("f['d'] = np.arange(100)", "earliest");
  const std::vector<std::byte> latest = written_with_h5py("f['abc'] = np.arange(100)", "latest");
  const auto told = [](std::vector<std::byte> bytes, std::size_t at, std::uint64_t value, std::size_t sum) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    if (sum > 0) seal_again(bytes, {{0, sum, sum}}, at);
    Collected report;
    check_bytes(bytes, report);
    std::string out;
    for (const std::string& finding : report.of(check::Severity::Damage)) out += finding + "\n";
    return out;
  };
  const auto address_at = [](const std::vector<std::byte>& bytes, std::size_t at) {
    return load_le<std::uint64_t>(bytes.data() + at);
  };
  EXPECT_NE(told(old, kOldBase, 8, 0).find("Superblock.base_address at 0x18"), std::string::npos);
  EXPECT_NE(told(old, kOldEnd, 500, 0).find("Superblock.end_of_file_address"), std::string::npos);
  const std::uint64_t root = address_at(latest, kRoot);
  EXPECT_NE(told(latest, kExtension, root, kSum).find("superblock_extension_address"), std::string::npos);
  const std::uint64_t dataset = places_of(latest, "OHDR").back();
  EXPECT_NE(told(latest, kRoot, dataset, kSum).find("root_group_object_header_address"), std::string::npos);

  std::vector<std::byte> named = latest;
  const std::size_t name = places_of(named, "abc").at(0), header = places_of(named, "OHDR").at(0);
  for (const char other : {'\0', '\xff'}) {
    named[name + 1] = static_cast<std::byte>(other);
    const std::size_t end = end_of_structure(latest, header) - 4;
    seal_again(named, {{header, end, end}}, name);
    Collected report;
    check_bytes(named, report);
    ASSERT_EQ(report.of(check::Severity::Damage).size(), 1U) << int{other};
    EXPECT_NE(report.of(check::Severity::Damage)[0].find("LinkMessage.name at"), std::string::npos);
    EXPECT_TRUE(report.findings[0].read_all_the_same);
  }
}

TEST(Fields, EachIsCheckedByWhomTheTableSays) {
  Damager damager;
  for (const char* script : kOwnFiles)
    for (const char* libver : {"earliest", "latest"}) damager.take(written_with_h5py(script, libver));
  for (const char* strategy : {"page", "fsm"}) damager.take(written_with_h5py(with_free_space(strategy)));
  constexpr std::uintmax_t kMaxBytes = 64'000;
  for (const std::filesystem::path& corpus : corpora())
    for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus))
      if (entry.is_regular_file() && entry.path().extension() == ".h5" && entry.file_size() <= kMaxBytes &&
          entry.path().string().find("hostile") == std::string::npos)
        damager.take(read_whole_file(entry.path()));
  write_seen(damager);
  expect_as_in_table(damager);
  EXPECT_GT(damager.outcomes.size(), 100U);
}

}  // namespace
}  // namespace h5mount::test

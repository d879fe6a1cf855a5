// The program fsck.h5: what it prints, its options and exit codes, and that it ends.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "checked.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

struct Ended {
  int code = -1;
  std::string out;
};

std::string program() {
  return (std::filesystem::path(H5MOUNT_PROGRAM).parent_path() / "fsck.h5").string();
}

Ended shell(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  Ended ended;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) ended.out.append(buffer, got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

Ended fsck(const std::string& words) {
  return shell(program() + " " + words + " 2>&1");
}

std::string written(const char* name, const std::vector<std::byte>& bytes) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

// `statements` have the path as sys.argv[1].
std::string written_by_python(const char* name, const std::string& statements) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / name;
  const Ended made = shell("/usr/bin/python3 - " + path +
                           " 2>&1 <<'END'\nimport h5py, numpy as np, sys, zlib\n" + statements + "\nEND\n");
  EXPECT_EQ(made.code, 0) << made.out;
  return path;
}

TEST(Fsck, ExitCodesAreThoseOfFsckAndAddUp) {
  std::vector<std::byte> bytes = written_with_h5py(kSmall);
  const std::filesystem::path place = ::testing::TempDir();
  const auto write = [&](const char* name) {
    std::ofstream(place / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return (place / name).string();
  };
  const std::string sound = write("fsck_sound.h5");
  flip(bytes, places_of(bytes, "OHDR").back());
  const std::string damaged = write("fsck_damaged.h5");

  const Ended clean = fsck(sound);
  EXPECT_EQ(clean.code, 0) << clean.out;
  EXPECT_NE(clean.out.find("5 objects, 1 attributes, 10 chunks"), std::string::npos) << clean.out;
  EXPECT_EQ(fsck("-q " + sound).out, "");
  EXPECT_EQ(fsck("-a -n -C0 " + sound).code, 0);  // as fsck(8) calls it
  for (const char* options : {"-n ", "-f ", "-v ", "-f -v -n ", "-fn ", "-p ", "-y ", "-t -r "})
    EXPECT_EQ(fsck(options + sound).code, 0) << options;
  const Ended found = fsck("-q " + damaged);
  EXPECT_EQ(found.code, 4) << found.out;
  EXPECT_EQ(found.out.find(damaged + ":/"), 0U) << found.out;
  EXPECT_EQ(fsck((place / "fsck_none.h5").string()).code, 8);
  EXPECT_EQ(fsck("-q " + damaged + " " + (place / "fsck_none.h5").string()).code, 12);
  EXPECT_EQ(fsck("").code, 16);
  EXPECT_EQ(fsck("--no-such-option " + sound).code, 16);
  EXPECT_EQ(fsck("--help").code, 0);
}

// All data are read, and the file is damaged all the same: another reader may refuse it.
TEST(Fsck, AFieldThatReadersDoNotMindIsDamage) {
  std::vector<std::byte> bytes = written_with_h5py("f['d'] = np.arange(10)", "earliest");
  const std::size_t node = places_of(bytes, "SNOD").at(0);
  constexpr std::size_t kCacheType = 8 + 16;
  bytes[node + kCacheType] = std::byte{7};
  const std::string path = written("fsck_field.h5", bytes);
  const Ended found = fsck("-q " + path);
  EXPECT_EQ(found.code, 4) << found.out;
  EXPECT_NE(found.out.find("SymbolTableNode.cache_type at 0x"), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("0x7, is not 0, 1 or 2"), std::string::npos) << found.out;
  EXPECT_EQ(shell(std::string(H5MOUNT_PROGRAM) + " --cat " + path + " /d | wc -c").out, "80\n");
}

TEST(Fsck, JsonIsAnObjectALine) {
  std::vector<std::byte> bytes = written_with_h5py(kSmall);
  flip(bytes, places_of(bytes, "OHDR").back());
  const auto file = std::filesystem::path(::testing::TempDir()) / "fsck \"json\".h5";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Ended seen = fsck("--json '" + file.string() + "' | python3 -c '" + R"(
import json, sys
lines = [json.loads(line) for line in sys.stdin]
print(lines[0]["severity"], lines[-1]["damage"], lines[-1]["source"].endswith("fsck \"json\".h5"))')");
  EXPECT_EQ(seen.out, "damage 1 True\n");
}

TEST(Fsck, UnaccountedSpaceIsToldInTheSummary) {
  const std::vector<std::byte> bytes = written_with_h5py(kDeleted);
  const std::string file = std::filesystem::path(::testing::TempDir()) / "fsck_deleted.h5";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Ended seen = fsck(file);
  EXPECT_EQ(seen.code, 0) << seen.out;
  EXPECT_NE(seen.out.find("nothing accounts for "), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("the largest: "), std::string::npos) << seen.out;
  EXPECT_EQ(fsck("-q " + file).out, "");
  const Ended object = fsck("--json " + file + " | python3 -c '" + R"(
import json, sys
seen = json.loads(sys.stdin.readlines()[-1])
offset, length = seen["largest_unaccounted"][0]
print(seen["unaccounted_bytes"] >= length >= 100000, seen["unaccounted_ranges"] > 0, seen["damage"])')");
  EXPECT_EQ(object.out, "True True 0\n");
}

// The lines are those of sha256sum over the files of a copy, and findings are kept apart from them.
TEST(Fsck, ChecksumsAreThoseOfSha256sum) {
  std::vector<std::byte> bytes = written_with_h5py(std::string(kSmall) + R"(
f['odd\\name\nof two lines'] = np.arange(3)
f['a 100%25 name'] = np.arange(100000)
f['type'] = np.dtype('i4')
)");
  const auto place = std::filesystem::path(::testing::TempDir()) / "fsck_checksums";
  std::filesystem::remove_all(place);
  std::filesystem::create_directory(place);
  const std::string file = place / "f.h5";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const std::string redirected = " 2>/dev/null >" + (place / "sums").string() + "; exit $?";
  const Ended made = fsck("--checksum=sha256 " + file + redirected);
  if (made.code == 16) GTEST_SKIP() << "built without libcrypto";
  EXPECT_EQ(made.code, 0);
  const auto shell = [&](const std::string& command) {
    return std::system(("cd " + place.string() + " && " + command).c_str());
  };
  ASSERT_EQ(shell(std::string(H5MOUNT_PROGRAM) + " --copy f.h5 / copy >/dev/null"), 0);
  EXPECT_EQ(shell("cd copy && sha256sum --check --strict --quiet ../sums"), 0);
  EXPECT_EQ(shell("test $(wc -l < sums) = 6"), 0);  // `again` is g/plain, and the committed type has no line

  // A dataset that cannot be read has no line; the others have theirs.
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bytes[all.find("\x78\x5e") + 20] ^= std::byte{1};
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  for (const char* quick : {"", "--quick "}) {
    const Ended damaged = fsck(quick + ("--checksum=sha256 -q " + file) + redirected);
    EXPECT_EQ(damaged.code, 4) << quick;
    EXPECT_EQ(shell("test $(wc -l < sums) = 5 && ! grep checked sums"), 0) << quick;
  }
}

TEST(Fsck, WhatCannotBePrintedIsSaid) {
  const std::vector<std::byte> bytes = written_with_h5py(kSmall);
  const Ended full = shell(program() + " " + written("fsck_full.h5", bytes) + " 2>&1 >/dev/full");
  EXPECT_EQ(full.code, 8);
  EXPECT_NE(full.out.find("could not be written to standard output: No space left"), std::string::npos)
      << full.out;
}

// A hundred strings in each of many attributes, all of which share a heap object of 1 MiB.
TEST(Fsck, ValuesThatShareHeapObjectsAreFollowedToABound) {
  std::vector<std::byte> bytes = written_with_h5py(R"(
t = h5py.string_dtype()
d = f.create_dataset('d', data=1)
a = np.empty(100, dtype=object); a[:] = ['s%d' % i for i in range(100)]
for i in range(120): d.attrs.create('a%03d' % i, a, dtype=t)
d.attrs.create('one', 'Q' * (1 << 20), dtype=t)
f['sound'] = ['alpha', 'beta']
)",
                                                   "earliest");
  constexpr std::size_t kDescriptor = 16;
  const auto length_at = [&](std::size_t at) { return load_le<std::uint32_t>(bytes.data() + at); };
  const auto is_descriptor = [&](std::size_t at) {
    const auto heap = load_le<std::uint64_t>(bytes.data() + at + 4);
    return heap < bytes.size() - 4 && std::memcmp(bytes.data() + heap, "GCOL", 4) == 0;
  };
  std::vector<std::byte> large;
  unsigned patched = 0;
  for (std::size_t at = 0; large.empty() && at + kDescriptor <= bytes.size(); ++at)
    if (length_at(at) == 1U << 20 && is_descriptor(at)) large = {&bytes[at], &bytes[at] + kDescriptor};
  ASSERT_FALSE(large.empty());
  for (std::size_t at = 0; at + kDescriptor <= bytes.size(); ++at)
    if ((length_at(at) == 2 || length_at(at) == 3) && is_descriptor(at)) {
      std::ranges::copy(large, bytes.begin() + static_cast<std::ptrdiff_t>(at));
      ++patched;
    }
  ASSERT_EQ(patched, 12'000U);
  const auto began = std::chrono::steady_clock::now();
  const Ended ended = fsck(written("fsck_shared.h5", bytes));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));  // without a bound: minutes
  EXPECT_EQ(ended.code, 8) << ended.out;
  EXPECT_NE(ended.out.find(":/d: unchecked: not checked"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("in attribute a"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(" 0 damaged"), std::string::npos) << ended.out;
}

// 2^36 chunks of one byte that nothing but arithmetic finds, in a file that is nearly all hole.
TEST(Fsck, ChunksWithoutAnIndexAreNotCountedOneByOne) {
  constexpr std::uint64_t kFew = 12345, kMany = std::uint64_t{1} << 36;
  std::vector<std::byte> bytes = written_with_h5py(R"(
from h5py import h5d, h5p, h5s, h5t
p = h5p.create(h5p.DATASET_CREATE)
p.set_chunk((1,)); p.set_alloc_time(h5d.ALLOC_TIME_EARLY); p.set_fill_time(h5d.FILL_TIME_NEVER)
h5d.create(f.id, b'd', h5t.STD_U8LE, h5s.create_simple((12345,)), dcpl=p)
)");
  for (const std::size_t header : places_of(bytes, "OHDR")) {
    const std::size_t end = end_of_structure(bytes, header);
    for (std::size_t at = header; at + 12 <= end; ++at)
      if (load_le<std::uint64_t>(bytes.data() + at) == kFew) std::memcpy(bytes.data() + at, &kMany, 8);
    const std::uint32_t sum = lookup3_checksum(ByteSpan(bytes).subspan(header, end - 4 - header));
    std::memcpy(bytes.data() + end - 4, &sum, sizeof sum);
  }
  constexpr std::size_t kEnd = 28, kSum = 44;  // of the superblock
  const std::uint64_t whole = kMany + (1U << 20);
  std::memcpy(&bytes[kEnd], &whole, sizeof whole);
  const std::uint32_t sum_of_superblock = lookup3_checksum(ByteSpan(bytes).first(kSum));
  std::memcpy(&bytes[kSum], &sum_of_superblock, sizeof sum_of_superblock);
  const std::string path = written("fsck_implicit.h5", bytes);
  std::filesystem::resize_file(path, whole);
  const auto began = std::chrono::steady_clock::now();
  const Ended ended = fsck(path);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));  // one by one: an hour
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find("68719476736 chunks, 64.0 GiB of data"), std::string::npos) << ended.out;
  std::filesystem::remove(path);
}

TEST(Fsck, ASignalEndsItInTheMidstOfDecoding) {
  const std::string path = written_by_python("fsck_long.h5", R"(
f = h5py.File(sys.argv[1], 'w')
n = 1 << 28
d = f.create_dataset('d', (400 * n,), 'u1', chunks=(n,), compression='gzip')
stored = zlib.compress(bytes(n), 1)
for i in range(400): d.id.write_direct_chunk((i * n,), stored)
f.close()
)");
  const auto began = std::chrono::steady_clock::now();
  const Ended ended = shell("timeout --preserve-status -s TERM 1 " + program() + " " + path + " 2>&1");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));  // all of it takes a minute
  EXPECT_EQ(ended.code & 32, 32) << ended.out;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace h5mount::test

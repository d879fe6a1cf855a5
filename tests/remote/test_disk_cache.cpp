// What is kept on disk of far objects: by several programs at once, that are killed, on disks that are full,
// and files that are damaged.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "cache/disk_object.h"
#include "far_server.h"
#include "h5mount/remote/remote.h"
#include "h5mount/sign/sha256.h"
#include "object_identity.h"

namespace h5mount::remote {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;

class DiskCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!sign::has_sha256()) GTEST_SKIP() << "built without libcrypto";
    if (!test::disk_has_room()) GTEST_SKIP() << "the disk is nearly full";
    place_ = test::scratch() / "cache";
    std::filesystem::remove_all(place_);
  }
  std::unique_ptr<DiskCache> open(std::uint64_t most = kLarge) const {
    auto out = DiskCache::open(place_, most);
    return out ? *std::move(out) : nullptr;
  }
  // The byte at each place of an object, so that one that is out of its place is seen.
  static std::string content(const std::string& object, std::uint64_t begin, std::size_t length) {
    std::string out(length, '\0');
    for (std::size_t i = 0; i < length; ++i)
      out[i] = static_cast<char>((begin + i) * 2'654'435'761U >> 13 ^ std::hash<std::string>()(object));
    return out;
  }
  static std::shared_ptr<DiskObject> object(DiskCache& cache, const std::string& name) {
    return std::make_shared<DiskObject>(cache, name, kLarge);
  }
  static void put(DiskCache& cache, const std::string& name, std::uint64_t begin, std::size_t length) {
    object(cache, name)->put(begin, std::make_shared<const std::string>(content(name, begin, length)));
  }
  // How many bytes of the range are there; nothing where one is wrong.
  static std::optional<std::uint64_t> right_bytes(DiskCache& cache, const std::string& name,
                                                  ByteRange range) {
    std::uint64_t out = 0;
    bool right = true;
    object(cache, name)->read(range, [&](std::uint64_t begin, const std::string& bytes) {
      right = right && bytes == content(name, begin, bytes.size());
      out += bytes.size();
    });
    return right ? std::optional(out) : std::nullopt;
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(place_))
      if (entry.path().filename().string().size() > 30) out.push_back(entry.path());
    return out;
  }
  std::uint64_t used() const {
    std::uint64_t out = 0;
    for (const auto& file : files()) out += std::filesystem::file_size(file);
    return out;
  }

  std::filesystem::path place_;
};

TEST_F(DiskCacheTest, WhatOneProgramKeptAnotherFindsAtOnce) {
  const auto one = open(), other = open();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(right_bytes(*other, "a", {0, 100}), 0U);
  put(*one, "a", 1000, 700'000);
  put(*one, "a", 500'000, 700'000);  // what is there already is not kept twice
  one->finish();
  EXPECT_EQ(right_bytes(*other, "a", {1000, 1'200'000}), 1'199'000U);
  const ByteRange asked[] = {{0, 2000}, {1'100'000, 1'300'000}};
  const auto found = object(*other, "a")->found(asked);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().begin, 1000U);
  EXPECT_EQ(found.back().end, 1'200'000U);
  EXPECT_EQ(right_bytes(*other, "b", {0, kLarge}), 0U) << "another object";
  EXPECT_GT(other->hits(), 0U);
  EXPECT_LT(used(), 1'210'000U);
}

TEST_F(DiskCacheTest, AnObjectLiesInSeveralFiles) {
  const auto cache = open(16U << 20);
  ASSERT_TRUE(cache);
  put(*cache, "a", (1U << 20) - 1000, 3U << 20);
  cache->finish();
  EXPECT_EQ(files().size(), 4U);
  EXPECT_EQ(right_bytes(*cache, "a", {0, 8U << 20}), std::uint64_t{3} << 20);
}

// Each time another byte of the file is another one, or the file ends there.
TEST_F(DiskCacheTest, DamagedFilesGiveNoWrongByteAndAreFetchedAnew) {
  put(*open(), "a", 0, 1);  // makes the directory
  {
    const auto cache = open();
    put(*cache, "a", 0, 600'000);
    put(*cache, "a", 700'000, 900);
    cache->finish();
  }
  ASSERT_EQ(files().size(), 1U);
  const std::filesystem::path file = files().front();
  std::string sound(std::filesystem::file_size(file), '\0');
  std::ifstream(file, std::ios::binary).read(sound.data(), static_cast<std::streamsize>(sound.size()));
  std::mt19937_64 random{3};
  for (std::size_t round = 0; round < 120; ++round) {
    std::string damaged = sound;
    const std::size_t at = round < 64 ? round : random() % sound.size();
    if (round % 4 == 3)
      damaged.resize(at);
    else
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << random() % 8);
    std::ofstream(file, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
    const auto cache = open();
    ASSERT_TRUE(right_bytes(*cache, "a", {0, 800'000})) << round;
    put(*cache, "a", 0, 600'000);
    put(*cache, "a", 700'000, 900);
    cache->finish();
    ASSERT_EQ(right_bytes(*cache, "a", {0, 800'000}), 600'900U) << round;
  }
  // Another object's file under its name.
  {
    const auto cache = open();
    put(*cache, "b", 0, 5000);
    cache->finish();
    for (const auto& one : files())
      if (one != file) std::filesystem::rename(one, file);
    EXPECT_EQ(right_bytes(*cache, "a", {0, 800'000}), 0U);
  }
}

TEST_F(DiskCacheTest, StaysWithinItsSizeAndDropsTheOldest) {
  const auto cache = open(2U << 20);
  ASSERT_TRUE(cache);
  for (int i = 0; i < 40; ++i) put(*cache, "object " + std::to_string(i), 0, 100'000);
  put(*cache, "large", 0, 6U << 20);
  put(*cache, "last", 0, 100'000);
  cache->finish();
  EXPECT_LE(used(), 2U << 20);
  EXPECT_GT(used(), 1U << 20);
  EXPECT_EQ(right_bytes(*cache, "last", {0, 100'000}), 100'000U);
  EXPECT_EQ(right_bytes(*cache, "object 0", {0, 100'000}), 0U);
  EXPECT_GT(right_bytes(*cache, "large", {0, 6U << 20}).value_or(0), 0U) << "its last parts are there";
}

// A file system is full at some byte of some record, and then not any more.
TEST_F(DiskCacheTest, AFullDiskKeepsLessAndNothingWrong) {
  ASSERT_TRUE(open());
  for (const rlim_t limit : {0U, 16U, 100U, 4000U, 262'144U, 300'000U}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const struct rlimit most = {limit, RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &most);
      const auto cache = open();
      put(*cache, "a", 0, 500'000);
      cache->finish();
      ::_exit(right_bytes(*cache, "a", {0, 500'000}) ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << limit;
  }
  const auto cache = open();
  put(*cache, "a", 0, 500'000);
  cache->finish();
  EXPECT_EQ(right_bytes(*cache, "a", {0, 500'000}), 500'000U);
}

// Some read, some write and drop what the others write, and some are killed while they do.
TEST_F(DiskCacheTest, ProgramsThatAreKilledHarmNoOther) {
  ASSERT_TRUE(open());
  constexpr std::uint64_t kMost = 4U << 20;
  const auto work = [&](unsigned seed, int rounds) {
    std::mt19937_64 random{seed};
    for (int round = 0; round < rounds; ++round) {
      const auto cache = open(kMost);
      for (int i = 0; i < 20; ++i) {
        const std::string name = "object " + std::to_string(random() % 5);
        put(*cache, name, random() % (3U << 20), 1 + random() % 400'000);
        const std::uint64_t begin = random() % (3U << 20);
        if (!right_bytes(*cache, name, {begin, begin + 300'000})) ::_exit(1);
      }
      cache->finish();
    }
    ::_exit(0);
  };
  std::vector<pid_t> workers;
  for (unsigned i = 0; i < 3; ++i) {
    workers.push_back(::fork());
    if (workers.back() == 0) work(i, 4);
  }
  std::mt19937_64 random{9};
  for (unsigned i = 0; i < 15; ++i) {
    const pid_t victim = ::fork();
    if (victim == 0) work(100 + i, 1000);
    ::usleep(static_cast<useconds_t>(random() % 30'000));
    ::kill(victim, SIGKILL);
    ::waitpid(victim, nullptr, 0);
  }
  for (const pid_t worker : workers) {
    int status = 1;
    ::waitpid(worker, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_LE(used(), kMost);
  const auto cache = open(kMost);
  put(*cache, "last", 0, 100'000);
  cache->finish();
  EXPECT_EQ(right_bytes(*cache, "last", {0, 100'000}), 100'000U);
}

// A server says how long an object is, and a file how much of it is wanted: no walk goes by that.
TEST_F(DiskCacheTest, OfAnEndlessRangeOnlyWhatMayBeAskedForIsLookedUp) {
  const auto cache = open();
  ASSERT_NE(cache, nullptr);
  constexpr std::uint64_t kEndless = 1ULL << 62;
  const auto endless = std::make_shared<DiskObject>(*cache, "endless", kEndless);
  endless->put(0, std::make_shared<const std::string>(content("endless", 0, 5000)));
  cache->finish();
  const std::vector<ByteRange> wanted{{0, kEndless}, {kEndless - 1, ~0ULL}};
  const auto found = endless->found(wanted);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().end, 5000U);
}

TEST_F(DiskCacheTest, IsForItsUserAlone) {
  ::umask(0);
  const auto made = open();
  ::umask(022);
  ASSERT_TRUE(made);
  put(*made, "a", 0, 10);
  made->finish();
  struct stat st = {};
  ASSERT_EQ(::stat(place_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0700U);
  for (const auto& entry : std::filesystem::directory_iterator(place_)) {
    ASSERT_EQ(::stat(entry.path().c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777U, 0600U) << entry.path();
  }
  ::chmod(place_.c_str(), 0720);
  EXPECT_FALSE(open());
  ::chmod(place_.c_str(), 0700);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(place_.c_str(), 12'345, 12'345), 0);
    EXPECT_FALSE(open());
  }
}

TEST(ObjectIdentity, IsTheUrlWithoutWhatSignsIt) {
  const auto of = [](const char* text) { return unsigned_url(parse_url(text).value_or(Url{})); };
  const std::string plain = of("https://host/a%20b.h5?id=7&v=2");
  for (const char* other : {
           "https://me:pass@host/a%20b.h5?id=7&v=2",
           "https://host/a%20b.h5?id=7&X-Amz-Signature=00ff&X-Amz-Expires=60&v=2",
           "https://host/a%20b.h5?x-goog-signature=1&X-Goog-Date=x&id=7&v=2",
           "https://host/a%20b.h5?id=7&v=2&Signature=abc&Expires=12&Key-Pair-Id=K",
           "https://host/a%20b.h5?se=2026&sp=r&sv=2020&sr=b&sig=abc&id=7&v=2",
       })
    EXPECT_EQ(of(other), plain) << other;
  for (const char* other :
       {"https://host/a%20b.h5?id=8&v=2", "https://host/a%20b.h5", "http://host/a%20b.h5?id=7&v=2",
        "https://host/a%20b.h5?id=7&v=2&se=2026", "https://host:8443/a%20b.h5?id=7&v=2"})
    EXPECT_NE(of(other), plain) << other;
}

}  // namespace
}  // namespace h5mount::remote

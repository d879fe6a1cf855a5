// Sources of a client, against a server that counts, breaks and lies.
#include "far_server.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <thread>

#include "h5mount/remote/remote.h"

namespace h5mount::test {
namespace {

constexpr std::size_t kSize = 24U << 20;

class RemoteSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    place_ = scratch() / "remote";
    std::filesystem::create_directories(place_);
    bytes_.resize(kSize);
    std::mt19937_64 random{1};
    for (std::size_t i = 0; i + 8 <= kSize; i += 8) {
      const std::uint64_t word = random();
      std::memcpy(bytes_.data() + i, &word, 8);
    }
    write(bytes_);
    server_ = std::make_unique<FarServer>(place_);
    ASSERT_NE(server_->port(), 0);
  }
  void write(const std::string& bytes) const {
    std::ofstream(place_ / "object", std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  Result<std::shared_ptr<io::ByteSource>> open(const std::string& path = "object", int timeout = 30,
                                               bool by_size = false) {
    remote::Options options;
    options.timeout = std::chrono::seconds(timeout);
    options.validate_size = by_size;
    H5_ASSIGN(client_, remote::Client::make(options));
    H5_ASSIGN(const auto url, remote::parse_url(server_->url(path)));
    return client_->open(url);
  }

  // "right", "wrong", or the error's name. The memory is poisoned before, so that what was not read is wrong.
  std::string read(const io::ByteSource& source, std::uint64_t offset, std::size_t length) const {
    std::string got(length, '\xA5');
    const Status done = source.read_at(offset, {reinterpret_cast<std::byte*>(got.data()), length});
    if (!done) return std::string(error_code_name(done.error().code()));
    return got == bytes_.substr(offset, length) ? "right" : "wrong";
  }

  std::filesystem::path place_;
  std::string bytes_;
  std::unique_ptr<FarServer> server_;
  std::shared_ptr<remote::Client> client_;
};

TEST_F(RemoteSourceTest, TheFirstRequestBringsLengthAndTheFirstMebibyte) {
  const auto source = open();
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_EQ((*source)->size(), kSize);
  EXPECT_TRUE((*source)->far());
  EXPECT_EQ(read(**source, 0, 1U << 20), "right");
  EXPECT_EQ(server_->count(), 1);
  EXPECT_EQ(read(**source, kSize - 10, 10), "right");
  std::byte some[20];
  EXPECT_FALSE((*source)->read_at(kSize - 10, some));
  EXPECT_EQ(server_->count(), 2);
}

// Near the largest length that is believed: every read asks the server, and gets what it says (zeros here).
TEST_F(RemoteSourceTest, AnObjectThatClaimsMuchIsReadToItsEndOrRefused) {
  constexpr std::uint64_t kMost = INT64_MAX;
  const std::string most = std::to_string(kMost);
  const auto source = open("!length=" + most + "/object");
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_EQ((*source)->size(), kMost);
  for (const std::uint64_t length : {1, 8, 504, 4095, 65535, 65536, 70'000, 200'000}) {
    for (const std::uint64_t before : {0, 1, 65535, 65536}) {
      std::string got(static_cast<std::size_t>(length), '\xA5');
      const Status done = (*source)->read_at(kMost - before - length, std::as_writable_bytes(std::span(got)));
      ASSERT_TRUE(done) << done.error().text();
      ASSERT_EQ(got.find_first_not_of('\0'), std::string::npos)
          << length << " bytes, " << before << " before";
    }
  }
  EXPECT_NE(server_->requests().find(std::to_string(kMost - 1)), std::string::npos) << "the last byte";
  std::byte some[8];
  for (const std::uint64_t offset : {kMost - 7, kMost, kMost + 1, ~std::uint64_t{0} - 7, ~std::uint64_t{0}})
    EXPECT_FALSE((*source)->read_at(offset, some)) << offset;
  for (const char* length : {"9223372036854775808", "18446744073709551551", "18446744073709551615"}) {
    const auto liar = open("!length=" + std::string(length) + "/object", 3);
    ASSERT_FALSE(liar) << length;
    EXPECT_NE(liar.error().text().find("more than a file can have"), std::string::npos);
  }
}

// Reads of any length at any place, most of them across the borders of blocks and requests.
TEST_F(RemoteSourceTest, AReadFillsAllOfItsMemory) {
  const auto source = open();
  ASSERT_TRUE(source);
  std::mt19937_64 random{3};
  for (int i = 0; i < 300; ++i) {
    const std::size_t length = random() % (i % 20 == 0 ? 9U << 20 : 140'000) + 1;
    const std::uint64_t border = random() % (kSize >> 16) << 16;
    const std::uint64_t at = std::min(border - std::min<std::uint64_t>(border, random() % 3), kSize - length);
    ASSERT_EQ(read(**source, at, length), "right") << at << ", " << length;
  }
  for (const std::size_t length : {1U, 100U, 65535U, 65536U, 100'000U})
    EXPECT_EQ(read(**source, kSize - length, length), "right") << "the last " << length;
}

TEST_F(RemoteSourceTest, RangesThatAreWantedTogetherAreFetchedTogether) {
  const auto source = open();
  ASSERT_TRUE(source);
  server_->reset();
  server_->set("delay=0.2");
  std::vector<ByteRange> ranges;  // 16 that lie apart, each of four that are neighbours
  for (std::uint64_t i = 0; i < 16; ++i)
    for (std::uint64_t j = 0; j < 4; ++j)
      ranges.push_back({(i + 2) << 20 | j << 16, ((i + 2) << 20 | j << 16) + 1000});
  const auto begin = std::chrono::steady_clock::now();
  (*source)->will_read(ranges);
  for (const ByteRange& range : ranges)
    EXPECT_EQ(read(**source, range.begin, static_cast<std::size_t>(range.end - range.begin)), "right");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(server_->count(), 16);
  EXPECT_GT(server_->most_at_once(), 8);
  EXPECT_LE(server_->most_at_once(), 16);
  EXPECT_EQ(client_->counters().requests, 17U);
}

TEST_F(RemoteSourceTest, AForwardReaderIsReadAheadOf) {
  const auto source = open();
  ASSERT_TRUE(source);
  server_->reset();
  constexpr std::size_t kPiece = 128U << 10;
  for (std::uint64_t at = 1U << 20; at + kPiece <= kSize; at += kPiece)
    ASSERT_EQ(read(**source, at, kPiece), "right") << at;
  EXPECT_LT(server_->count(), 50) << "184 reads";
  EXPECT_LT(client_->counters().bytes, kSize + (1U << 20));
}

// Structures are little: what lies behind one comes in blocks that double.
TEST_F(RemoteSourceTest, StructuresThatAreReadForwardComeInFewRequests) {
  const auto source = open();
  ASSERT_TRUE(source);
  server_->reset();
  constexpr std::size_t kPiece = 16U << 10;
  for (std::uint64_t at = 4U << 20; at < 12U << 20; at += kPiece)
    ASSERT_EQ(read(**source, at, kPiece), "right") << at;
  EXPECT_LT(server_->count(), 20) << "512 reads";
}

// Readers side by side do not make each other fetch anything twice.
TEST_F(RemoteSourceTest, ForwardReadersSideBySideFetchEverythingOnce) {
  const auto source = open();
  ASSERT_TRUE(source);
  constexpr std::size_t kPiece = 512U << 10;
  std::vector<std::jthread> readers;
  for (std::uint64_t r = 0; r < 3; ++r)
    readers.emplace_back([&, r] {
      for (std::uint64_t at = r << 23; at < (r + 1) << 23; at += kPiece)
        EXPECT_EQ(read(**source, at, kPiece), "right");
    });
  readers.clear();
  EXPECT_LE(client_->counters().bytes, kSize + (1U << 20));
}

TEST_F(RemoteSourceTest, RandomReadersFetchWhatTheyReadAndNoMore) {
  const auto source = open();
  ASSERT_TRUE(source);
  std::mt19937_64 random{2};
  std::uint64_t asked = 0;
  for (int i = 0; i < 40; ++i) {
    const std::size_t length = 1 + random() % 5000;
    ASSERT_EQ(read(**source, random() % (kSize - length), length), "right");
    asked += length;
  }
  EXPECT_LE(client_->counters().bytes, asked + (1U << 20) + 40 * (128U << 10));
}

TEST_F(RemoteSourceTest, FaultsThatPassCostATry) {
  for (const char* fault :
       {"fail=2:503", "fail=1:429,retry=1", "fail=1:408", "reset=1:1000", "reset=3:100000", "silent=1"}) {
    const auto source = open("object", 6);
    ASSERT_TRUE(source) << source.error().text();
    server_->set(fault);
    EXPECT_EQ(read(**source, 5U << 20, 300'000), "right") << fault;
    EXPECT_GE(client_->counters().retries, 1U) << fault;
    server_->set();
  }
}

TEST_F(RemoteSourceTest, AnswersThatLieAreErrorsAndNeverBytes) {
  for (const char* fault : {"whole", "shifted", "gzip", "fail=9:500", "fail=9:206", "tag=-", "time=-"}) {
    const auto source = open("object", 3);
    ASSERT_TRUE(source);
    server_->set(fault);
    EXPECT_EQ(read(**source, 5U << 20, 1000), error_code_name(ErrorCode::Io)) << fault;
    server_->set();
    EXPECT_EQ(read(**source, 5U << 20, 1000), "right") << "after " << fault;
  }
}

TEST_F(RemoteSourceTest, ASilentServerIsAnErrorWithinTheTimeAndTheNextRequestASecondLater) {
  const auto source = open("object", 3);
  ASSERT_TRUE(source);
  server_->pause(true);
  const auto seconds = [&](std::uint64_t at) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(read(**source, at, 1000), error_code_name(ErrorCode::Io));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_LT(seconds(5U << 20), 6);
  EXPECT_LT(seconds(3U << 20), 3);  // before what a forward reader is read ahead of
  server_->pause(false);
  EXPECT_EQ(read(**source, 5U << 20, 1000), "right");
}

TEST_F(RemoteSourceTest, ASlowAnswerThatGoesOnIsNoFault) {
  const auto source = open("object", 2);
  ASSERT_TRUE(source);
  server_->set("trickle=20000");
  EXPECT_EQ(read(**source, 5U << 20, 100'000), "right");
  server_->set("trickle=100");
  EXPECT_EQ(read(**source, 7U << 20, 100'000), error_code_name(ErrorCode::Io));
}

// Each try gets something, and then nothing: silence is counted over all of them.
TEST_F(RemoteSourceTest, ABodyThatStopsAgainAndAgainIsAnErrorWithinTwiceTheTime) {
  constexpr int kTimeout = 3;
  const auto source = open("object", kTimeout);
  ASSERT_TRUE(source);
  std::uint64_t place = 3U << 20;  // each time bytes that have not come yet
  for (const char* fault : {"stall=0", "stall=1", "stall=60000"}) {
    server_->set(fault);
    place += 4U << 20;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(read(**source, place, 300'000), error_code_name(ErrorCode::Io)) << fault;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 2.0 * kTimeout) << fault;
    server_->set();
    EXPECT_EQ(read(**source, place, 300'000), "right") << "after " << fault;
  }
}

// More is wanted at once than is kept: what came is not dropped before who waits for it has copied it.
TEST_F(RemoteSourceTest, WhatManyReadersWaitForIsFetchedOnce) {
  constexpr std::uint64_t kPiece = 8U << 20, kReaders = 16;
  std::filesystem::resize_file(place_ / "object", kPiece * kReaders);
  const auto source = open();
  ASSERT_TRUE(source);
  std::atomic<int> right = 0;
  std::vector<std::jthread> readers;
  for (std::uint64_t r = 0; r < kReaders; ++r)
    readers.emplace_back([&, r] {
      std::string got(kPiece, '\xA5');
      const bool read = (*source)->read_at(r * kPiece, std::as_writable_bytes(std::span(got))).has_value();
      const std::string there = bytes_.substr(std::min<std::size_t>(r * kPiece, kSize), kPiece);
      right += read && got.starts_with(there) && got.find_first_not_of('\0', there.size()) == got.npos;
    });
  readers.clear();
  EXPECT_EQ(right, static_cast<int>(kReaders));
  // A reader that is late may find that what it guesses to be read next was read, and dropped, before.
  EXPECT_LE(client_->counters().bytes, (kPiece + (1U << 20)) * kReaders);
}

TEST_F(RemoteSourceTest, AnotherObjectIsStaleForGood) {
  const auto source = open();
  ASSERT_TRUE(source);
  EXPECT_EQ(read(**source, 3U << 20, 1000), "right");
  const io::SourceStamp before = (*source)->state().stamp().value();
  server_->set("tag=\"other\"");
  EXPECT_EQ(read(**source, 5U << 20, 1000), error_code_name(ErrorCode::Stale));
  server_->set();
  EXPECT_EQ(read(**source, 6U << 20, 1000), error_code_name(ErrorCode::Stale));
  EXPECT_EQ(read(**source, 3U << 20, 1000), error_code_name(ErrorCode::Stale)) << "what had come";
  EXPECT_NE(before, (*source)->state().stamp().value());
}

TEST_F(RemoteSourceTest, MirrorsWithOtherValidatorsAreReadBySize) {
  const auto source = open("object", 30, true);
  ASSERT_TRUE(source);
  server_->set("tag=\"mirror\"");
  EXPECT_EQ(read(**source, 5U << 20, 1000), "right");
  server_->set("length=12345678");
  EXPECT_EQ(read(**source, 7U << 20, 1000), error_code_name(ErrorCode::Stale));
}

TEST_F(RemoteSourceTest, WhatIsGoneIsReadOnWhenItIsThereAgain) {
  const auto source = open();
  ASSERT_TRUE(source);
  server_->set("gone");
  EXPECT_EQ(read(**source, 5U << 20, 1000), error_code_name(ErrorCode::Stale));
  server_->set("fail=5:403");
  EXPECT_EQ(read(**source, 5U << 20, 1000), error_code_name(ErrorCode::AccessDenied));
  server_->set();
  EXPECT_EQ(read(**source, 5U << 20, 1000), "right");
}

// A redirect is followed, remembered, and resolved anew when where it led refuses.
TEST_F(RemoteSourceTest, RedirectsAreRememberedAndResolvedAnew) {
  const auto source = open("!to=|!delay=0|object/x");
  ASSERT_TRUE(source) << source.error().text();
  server_->reset();
  EXPECT_EQ(read(**source, 5U << 20, 1000), "right");
  EXPECT_EQ(server_->count(), 1);
  server_->set("fail=1:403");
  EXPECT_EQ(read(**source, 7U << 20, 1000), "right");
  EXPECT_EQ(server_->count(), 4);
  const auto circle = open("!to=|!to=|x|y/x");
  EXPECT_FALSE(circle);
}

TEST_F(RemoteSourceTest, ObjectsThatCannotBeOpenedSayWhy) {
  const std::pair<const char*, const char*> cases[] = {{"!gone/object", "404"},
                                                       {"!login=a:b/object", "401"},
                                                       {"!whole/object", "no ranges"},
                                                       {"!whole,unsaid/object", "no ranges"},
                                                       {"!star/object", "206 without the range"},
                                                       {"!fail=1:400/object", "400"},
                                                       {"!gzip/object?secret", "encoded"}};
  for (const auto& [path, words] : cases) {
    const auto source = open(path, 2);
    ASSERT_FALSE(source) << path;
    EXPECT_NE(source.error().text().find(words), std::string::npos) << source.error().text();
    EXPECT_EQ(source.error().text().find("secret"), std::string::npos);
    const ErrorCode code = source.error().code();
    EXPECT_TRUE(code == ErrorCode::Io || code == ErrorCode::NotFound || code == ErrorCode::AccessDenied);
  }
}

// Readers side by side while the object changes back and forth: bytes of the version that was opened, or
// none.
TEST_F(RemoteSourceTest, BytesAreNeverMixed) {
  std::string other = bytes_;
  for (char& c : other) c = static_cast<char>(c ^ 0x55);
  for (int round = 0; round < 20; ++round) {
    write(bytes_);
    const auto source = open();
    ASSERT_TRUE(source);
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> readers;
    for (unsigned r = 0; r < 4; ++r)
      readers.emplace_back([&, r] {
        std::mt19937_64 random{r};
        for (int i = 0; i < 30; ++i)
          if (read(**source, random() % (kSize - 70'000), 70'000) == "wrong") ++wrong;
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * (round % 6)));
    std::ofstream(place_ / "new", std::ios::binary).write(other.data(), static_cast<std::streamsize>(kSize));
    std::filesystem::rename(place_ / "new", place_ / "object");
    readers.clear();
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace h5mount::test

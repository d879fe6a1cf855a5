// Filter plugins in helper processes: a correct one decodes; a faulty one fails its own chunk only.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>

#include "h5mount/filter/filter.h"
#include "h5mount/filter/plugins.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

using namespace std::chrono_literals;

class PluginTest : public testing::Test {
 protected:
  void SetUp() override {
    filter::use_filter_plugins(
        {.directories = {"/nonexistent", H5MOUNT_TEST_PLUGINS}, .helper = H5MOUNT_PROGRAM, .timeout = 2s});
  }
  void TearDown() override { filter::use_filter_plugins({}); }

  static std::vector<std::byte> plain(std::size_t count) {
    std::vector<std::byte> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
    return out;
  }
  static std::vector<std::byte> stored(std::vector<std::byte> bytes) {
    for (std::byte& b : bytes) b ^= std::byte{0x5A};
    return bytes;
  }
  static std::shared_ptr<const filter::FilterPipeline> pipeline(std::uint16_t id, std::size_t chunk,
                                                                std::vector<std::uint32_t> values = {}) {
    const filter::FilterSpec spec{id, "of the test", std::move(values)};
    const auto made = filter::FilterPipeline::make(std::span(&spec, 1), chunk);
    EXPECT_TRUE(made);
    return *made;
  }
  static Status decode(const filter::FilterPipeline& through, std::size_t count) {
    filter::FilterScratch scratch;
    std::vector<std::byte> out(count);
    H5_TRY(through.decode(stored(plain(count)), 0, out, scratch));
    EXPECT_EQ(out, plain(count));
    return {};
  }
  // The error of a chunk decoded by plugin `id`. Verifies that a correct plugin still decodes afterwards.
  static std::string trouble_of(std::uint16_t id) {
    const auto through = pipeline(id, 4096);
    EXPECT_FALSE(through->missing());
    const Status first = decode(*through, 4096);
    if (first) return "";
    EXPECT_EQ(first.error().code(), ErrorCode::FilterFailed) << first.error().text();
    EXPECT_EQ(first.error().errno_value(), EIO);
    const Status again = decode(*through, 4096);
    EXPECT_FALSE(again) << "a helper that failed was replaced, not trusted";
    EXPECT_TRUE(decode(*pipeline(64001, 4096), 4096));
    return first.error().text();
  }
};

TEST_F(PluginTest, DecodesChunksOfAllSizes) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{4096}, std::size_t{5} << 20}) {
    const Status decoded = decode(*pipeline(64001, count), count);
    EXPECT_TRUE(decoded) << decoded.error().text();
  }
}

TEST_F(PluginTest, ClientValuesReachIt) {
  const auto through = pipeline(64001, 300, {3});
  filter::FilterScratch scratch;
  std::vector<std::byte> out(300);
  ASSERT_TRUE(through->decode(stored(plain(100)), 0, out, scratch));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(std::ranges::equal(std::span(out).subspan(100 * i, 100), plain(100)));
}

TEST_F(PluginTest, AMaskedPluginIsNotCalled) {
  filter::FilterScratch scratch;
  std::vector<std::byte> out(100);
  ASSERT_TRUE(pipeline(64002, 100)->decode(plain(100), 1, out, scratch));
  EXPECT_EQ(out, plain(100));
}

TEST_F(PluginTest, ManyThreadsAtOnce) {
  const auto through = pipeline(64001, 65'536);
  std::vector<std::jthread> threads;
  std::atomic<int> decoded = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) decoded += decode(*through, 65'536).has_value();
    });
  threads.clear();
  EXPECT_EQ(decoded, 300);
}

TEST_F(PluginTest, NothingCanBeOpened) {
  const Status decoded = decode(*pipeline(64005, 4096), 4096);
  EXPECT_TRUE(decoded) << decoded.error().text();
}

TEST_F(PluginTest, NothingCanBeDoneWhileItIsLoaded) {
  const Status decoded = decode(*pipeline(64009, 4096), 4096);
  EXPECT_TRUE(decoded) << decoded.error().text();
}

// Under the address sanitizer the helper ends with an exit code instead of a signal.
#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kCrash = "ended itself (exit code 1)";
#else
constexpr const char* kCrash = "crashed (signal 11)";
#endif

TEST_F(PluginTest, ACrashFailsOnlyItsChunk) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, kCrash, trouble_of(64002));
}

TEST_F(PluginTest, AHangEndsAtTheTimeout) {
  const auto begin = std::chrono::steady_clock::now();
  const Status hung = decode(*pipeline(64003, 4096), 4096);
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(hung);
  EXPECT_NE(hung.error().text().find("hangs"), std::string::npos) << hung.error().text();
  EXPECT_GE(took, 1900ms);
  EXPECT_LE(took, 6s);
}

// Whoever needs another filter does not wait for one that hangs while it is loaded.
TEST_F(PluginTest, AHangWhileItIsLoadedHoldsUpNoOther) {
  filter::use_filter_plugins({.directories = {H5MOUNT_TEST_PLUGINS, H5MOUNT_TEST_PLUGINS "/hanging"},
                              .helper = H5MOUNT_PROGRAM,
                              .timeout = 8s});
  std::atomic<bool> ended = false;
  std::jthread hangs([&] {
    EXPECT_TRUE(pipeline(64010, 4096)->missing());
    ended = true;
  });
  std::this_thread::sleep_for(300ms);
  for (std::size_t chunk = 1024; chunk <= 65'536; chunk *= 8) {  // a helper each
    const Status decoded = decode(*pipeline(64001, chunk), chunk);
    EXPECT_TRUE(decoded) << decoded.error().text();
  }
  EXPECT_FALSE(ended) << "the others waited for the one that hangs";
}

TEST_F(PluginTest, WritesOutOfBoundsStayInTheHelper) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, kCrash, trouble_of(64004));
}

TEST_F(PluginTest, MemoryIsBounded) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer's own memory is larger than any bound";
#endif
  EXPECT_NE(trouble_of(64006).find("cannot decode"), std::string::npos);
}

TEST_F(PluginTest, TooManyBytesAreAnError) {
  EXPECT_NE(trouble_of(64007).find("more bytes"), std::string::npos);
}

TEST_F(PluginTest, AnEndedHelperIsAnError) {
  EXPECT_NE(trouble_of(64008).find("exit code 7"), std::string::npos);
}

TEST_F(PluginTest, AFilterThatNoPluginHasIsMissing) {
  const auto missing = pipeline(64099, 100)->missing();
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->code(), ErrorCode::UnsupportedFeature);
  EXPECT_NE(missing->text().find("64099"), std::string::npos);
}

TEST_F(PluginTest, WithoutDirectoriesThereAreNone) {
  filter::use_filter_plugins({});
  EXPECT_TRUE(pipeline(64001, 100)->missing());
}

}  // namespace
}  // namespace h5mount::test

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "h5mount/io/read_target.h"
#include "support/corpus.h"
#include "support/far_source.h"
#include "support/half_source.h"

namespace h5mount::io {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(std::string_view text) {
  const ByteSpan span = as_bytes(text);
  return {span.begin(), span.end()};
}

std::string read_text(const ByteSource& source, std::uint64_t offset, std::size_t length) {
  std::string out(length, '?');
  const auto read = source.read_at(offset, std::as_writable_bytes(std::span(out)));
  return read ? out : std::string(error_code_name(read.error().code()));
}

class FileSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("h5mount-io-" + std::to_string(::getpid()));
    fs::create_directories(directory_);
    path_ = directory_ / "file";
    write("0123456789");
  }
  void TearDown() override { fs::remove_all(directory_); }
  void write(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }

  fs::path directory_, path_;
};

TEST_F(FileSourceTest, ReadsWholeOrNotAtAll) {
  const auto source = open_file_source(path_);
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->size(), 10U);
  EXPECT_EQ(read_text(**source, 2, 3), "234");
  EXPECT_EQ(read_text(**source, 8, 3), "truncated");
  EXPECT_EQ(read_text(**source, 100, 1), "truncated");
  EXPECT_EQ(read_text(**source, ~std::uint64_t{0}, 1), "truncated");
  EXPECT_EQ(read_text(**source, 100, 0), "");
}

// How much is in memory is the kernel's affair: nothing else may come.
TEST_F(FileSourceTest, WhatIsInMemoryIsReadWithoutWaiting) {
  const std::shared_ptr<ByteSource> source = *open_file_source(path_);
  const auto cached = [](const ByteSource& of, std::uint64_t offset, std::size_t length) {
    std::string out(length, '?');
    const auto count = of.read_cached(offset, std::as_writable_bytes(std::span(out)));
    return count ? out.substr(0, *count) : std::string(error_code_name(count.error().code()));
  };
  EXPECT_EQ(read_text(*source, 0, 10), "0123456789");
  const std::string first = cached(*source, 2, 3);
  EXPECT_TRUE(first == "234" || first.empty()) << first;
  EXPECT_EQ(cached(*source, 8, 3), first.empty() ? "" : "89");
  EXPECT_EQ(cached(*source, 100, 1), "");
  EXPECT_EQ(cached(*source, ~std::uint64_t{0}, 1), "");
  const auto part = make_sub_range_source(source, 2, 5);
  EXPECT_EQ(cached(*part, 1, 4), first.empty() ? "" : "3456");
  EXPECT_EQ(cached(*part, 1, 5), "");
  EXPECT_EQ(cached(*make_memory_source(bytes_of("abc")), 0, 3), "");
}

TEST_F(FileSourceTest, SeesGrowthOnRefresh) {
  const auto source = open_file_source(path_);
  ASSERT_TRUE(source);
  const ByteSpan before = (*source)->mapped(0, 10);
  ASSERT_EQ(before.size(), 10U);
  std::ofstream(path_, std::ios::binary | std::ios::app) << std::string(3U << 20, 'x');
  EXPECT_TRUE((*source)->mapped(0, 11).empty());
  ASSERT_TRUE((*source)->state().refresh());
  EXPECT_EQ((*source)->size(), 10U + (3U << 20));
  const ByteSpan after = (*source)->mapped(1, (3U << 20) + 9);
  ASSERT_EQ(after.size(), (3U << 20) + 9);
  EXPECT_EQ(as_text(after.first(9)), "123456789");
  EXPECT_EQ(as_text(before), "0123456789");  // the old mapping remains valid
}

TEST_F(FileSourceTest, OnlyRegularFiles) {
  const fs::path fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(open_file_source(fifo).error().code(), ErrorCode::AccessDenied);  // and open did not block
  EXPECT_EQ(open_file_source(directory_).error().code(), ErrorCode::AccessDenied);
  EXPECT_EQ(open_file_source("/dev/null").error().code(), ErrorCode::AccessDenied);
  EXPECT_EQ(open_file_source(directory_ / "none").error().code(), ErrorCode::NotFound);
}

TEST(MemorySource, Bounds) {
  const auto source = make_memory_source(bytes_of("abcdef"));
  EXPECT_EQ(read_text(*source, 3, 3), "def");
  EXPECT_EQ(read_text(*source, 3, 4), "truncated");
  EXPECT_EQ(read_text(*source, ~std::uint64_t{0}, 2), "truncated");
}

TEST(SubRangeSource, StaysInside) {
  const auto whole = make_memory_source(bytes_of("abcdef"));
  const auto part = make_sub_range_source(whole, 2, 3);
  EXPECT_EQ(part->size(), 3U);
  EXPECT_EQ(read_text(*part, 0, 3), "cde");
  EXPECT_EQ(read_text(*part, 1, 3), "truncated");
  EXPECT_EQ(as_text(part->mapped(1, 2)), "de");
  const auto rest = make_sub_range_source(whole, 2);
  EXPECT_EQ(rest->size(), 4U);
  EXPECT_EQ(read_text(*rest, 3, 1), "f");
  EXPECT_EQ(read_text(*rest, ~std::uint64_t{0}, 1), "truncated");
  EXPECT_EQ(make_sub_range_source(whole, 99)->size(), 0U);
}

TEST(ExtentSource, JoinsAndHasHoles) {
  const auto set = make_extent_source({{100, 4, make_memory_source(bytes_of("efgh"))},
                                       {0, 4, make_memory_source(bytes_of("abcd"))},
                                       {4, 4, make_memory_source(bytes_of("ABC"))}},
                                      "set");
  EXPECT_EQ(set->size(), 104U);
  EXPECT_EQ(read_text(*set, 2, 5), "cdABC");
  EXPECT_EQ(read_text(*set, 2, 6), "truncated");  // a member is shorter than its extent
  EXPECT_EQ(read_text(*set, 8, 1), "truncated");
  EXPECT_EQ(read_text(*set, 102, 2), "gh");
  EXPECT_EQ(as_text(set->mapped(101, 2)), "fg");
  EXPECT_TRUE(set->mapped(2, 4).empty());
}

// What a poisoned buffer holds after a read of `length` bytes that is to fail.
std::string left_by_failed_read(const ByteSource& source, std::uint64_t offset, std::size_t length,
                                ErrorCode code) {
  std::string out(length, '?');
  const auto read = source.read_at(offset, std::as_writable_bytes(std::span(out)));
  EXPECT_FALSE(read) << source.name();
  if (!read) EXPECT_EQ(read.error().code(), code) << source.name() << ": " << read.error().text();
  return out;
}

// Each source that has another one, and each that fails on its own: a read that ends too early is an error
// whatever the cause, and nobody sees what was in the memory before.
TEST_F(FileSourceTest, AReadThatEndsEarlyIsAnErrorAndLeavesNothingOfTheMemory) {
  using std::string_literals::operator""s;
  const auto half = std::make_shared<test::HalfSource>();
  const auto part = make_sub_range_source(half, 10, 100);
  const auto set = make_extent_source({{0, 4, make_memory_source(bytes_of("abcd"))}, {4, 96, half}}, "set");
  EXPECT_EQ(left_by_failed_read(*half, 7, 8, ErrorCode::Internal), "xxxx\0\0\0\0"s);
  EXPECT_EQ(left_by_failed_read(*half, 7, 1, ErrorCode::Internal), "\0"s);
  EXPECT_EQ(left_by_failed_read(*part, 0, 4, ErrorCode::Internal), "\0\0\0\0"s);
  EXPECT_EQ(left_by_failed_read(*set, 2, 6, ErrorCode::Internal), "cd\0\0\0\0"s);
  EXPECT_EQ(left_by_failed_read(*set, 3, 2, ErrorCode::Internal), "d\0"s);
  const auto file = *open_file_source(path_);
  EXPECT_EQ(left_by_failed_read(*file, 8, 4, ErrorCode::Truncated), "89\0\0"s);
  // Where no file has bytes, which is no failure of the disk.
  EXPECT_EQ(left_by_failed_read(*file, INT64_MAX - 1, 4, ErrorCode::Truncated), "\0\0\0\0"s);
  EXPECT_EQ(left_by_failed_read(*file, UINT64_MAX - 1, 4, ErrorCode::Truncated), "\0\0\0\0"s);
  const auto memory = make_memory_source(bytes_of("abc"));
  EXPECT_EQ(left_by_failed_read(*memory, 1, 3, ErrorCode::Truncated), "\0\0\0"s);
  const auto refused = make_refused_source(Error(ErrorCode::AccessDenied, "no"), 10, "refused");
  EXPECT_EQ(left_by_failed_read(*refused, 1, 3, ErrorCode::AccessDenied), "\0\0\0"s);
  EXPECT_TRUE(half->read_at(0, {})) << "nothing is all of nothing";
}

TEST(ReadTarget, TakesNoMoreThanItHasRoomFor) {
  std::string out(4, '?');
  ReadTarget to(std::as_writable_bytes(std::span(out)));
  to.copy(bytes_of("ab"));
  EXPECT_EQ(to.left(), 2U);
  to.copy(bytes_of("cdefgh"));
  EXPECT_EQ(to.left(), 0U);
  EXPECT_EQ(out, "abcd");
  to.filled(100);
  EXPECT_TRUE(to.read(*make_memory_source(bytes_of("x")), 0, 100));
  EXPECT_EQ(out, "abcd");
}

using Ranges = std::vector<ByteRange>;

TEST(FarSource, IsToldWhatWillBeReadOfPartsAndSets) {
  const auto first = std::make_shared<test::FarSource>(make_memory_source(bytes_of("abcdefgh")));
  const auto second = std::make_shared<test::FarSource>(make_memory_source(bytes_of("ABCDEFGH")), 4096);
  const auto set = make_extent_source({{0, 8, first}, {100, 8, second}}, "set");
  const auto part = make_sub_range_source(set, 2);
  EXPECT_TRUE(part->far());
  EXPECT_EQ(part->block_bytes(), 64U << 10) << "the larger of the members'";
  part->will_read(Ranges{{0, 3}, {4, 100}, {200, 300}});
  EXPECT_EQ(first->told(), (Ranges{{2, 5}, {6, 8}}));
  EXPECT_EQ(second->told(), (Ranges{{0, 2}}));
  EXPECT_EQ(first->reads() + second->reads(), 0U);
  EXPECT_EQ(read_text(*part, 98, 2), "AB");
  EXPECT_TRUE(second->untold().empty());
  EXPECT_EQ(read_text(*part, 98, 3), "ABC");
  EXPECT_EQ(second->untold(), (Ranges{{0, 3}}));
}

TEST(FarSource, LocalOnesAreNot) {
  const auto memory = make_memory_source(bytes_of("abc"));
  EXPECT_FALSE(memory->far());
  EXPECT_FALSE(make_extent_source({{0, 3, memory}}, "set")->far());
  EXPECT_EQ(memory->block_bytes(), 16U << 10);
  memory->will_read(Ranges{{0, 3}});  // does nothing
}

TEST_F(FileSourceTest, AStateTellsWhetherReadsAreChecked) {
  const auto file = open_file_source(path_);
  ASSERT_TRUE(file);
  EXPECT_FALSE((*file)->state().checks_reads()) << "only a stamp tells that a local file changed";
  const auto memory = make_memory_source(bytes_of("abc"));
  EXPECT_TRUE(memory->state().checks_reads());
  const auto set = make_extent_source({{0, 3, memory}, {3, 10, *file}}, "set");
  EXPECT_FALSE(set->state().checks_reads());
  EXPECT_EQ(set->state().watchable(), (*file)->state().watchable());
  EXPECT_EQ(make_sub_range_source(set, 1)->state().stamp()->modified, (*file)->state().stamp()->modified);
}

}  // namespace
}  // namespace h5mount::io

// A file as a sequence of snapshots: what is read through one is not older than it, whatever other threads
// have read.
#include "h5mount/metadata/followed_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "small_file.h"
#include "support/far_source.h"
#include "support/written_source.h"

namespace h5mount::metadata {
namespace {

using namespace test;

constexpr std::uint8_t kSwmrWriter = 5;  // status flags
constexpr std::uint64_t kPlace = 1000;   // of the byte that a test writes

struct Opened {
  explicit Opened(std::uint8_t flags)
      : source(std::make_shared<WrittenSource>(written_file(flags))),
        file(*FollowedFile::open(
            source, {.follow = Follow::Auto, .revalidate_interval = std::chrono::milliseconds(0)})) {
    (void)file->revalidate_now();  // bytes read while it was opened count as changed once
  }
  std::shared_ptr<WrittenSource> source;
  std::shared_ptr<FollowedFile> file;
};

int value_in(const FileMetadataPtr& snapshot) {
  const auto block = snapshot->read(kPlace, 1, "Structure");
  return block ? std::to_integer<int>(block->bytes()[0]) : -1;
}

TEST(FollowedFile, ASnapshotStaysAsItWasRead) {
  const Opened opened(kSwmrWriter);
  const FileMetadataPtr before = opened.file->snapshot();
  EXPECT_EQ(value_in(before), 0);
  opened.source->write_byte(kPlace, 1);
  EXPECT_EQ(opened.file->snapshot(), before) << "nothing was checked yet";
  const auto now = opened.file->current();
  ASSERT_TRUE(now);
  EXPECT_GT((*now)->number(), before->number());
  EXPECT_EQ(value_in(*now), 1);
  EXPECT_EQ(value_in(before), 0) << "who pinned it reads on in it";
}

TEST(FollowedFile, AFileThatIsNotWrittenHasOneSnapshot) {
  const Opened opened(0);
  const FileMetadataPtr only = opened.file->snapshot();
  EXPECT_FALSE(only->following());
  EXPECT_EQ(*opened.file->current(), only);
  EXPECT_EQ(only->reread(), nullptr);
  opened.source->write_byte(kPlace, 1);
  const auto stale = opened.file->current();
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code(), ErrorCode::Stale);
}

// The chunk index is flushed before the header that refers to it; both may be in one window.
TEST(FollowedFile, WhatIsReadAgainIsNotOlderThanTheCall) {
  const Opened opened(kSwmrWriter);
  const FileMetadataPtr first = opened.file->snapshot();
  EXPECT_EQ(value_in(first), 0);
  opened.source->write_byte_silently(kPlace, 1);
  EXPECT_EQ(value_in(first), 0);
  EXPECT_EQ(value_in(first->reread()), 1);
  EXPECT_EQ(opened.file->snapshot(), first) << "no new state of the file";
}

TEST(FollowedFile, AfterATornStructureThereIsOneNextSnapshot) {
  const Opened opened(kSwmrWriter);
  const FileMetadataPtr torn = opened.file->snapshot();
  opened.source->write_byte_silently(kPlace, 1);
  const FileMetadataPtr next = opened.file->snapshot_after(torn);
  EXPECT_NE(next, torn);
  EXPECT_EQ(opened.file->snapshot(), next);
  EXPECT_EQ(opened.file->snapshot_after(torn), next) << "another reader of the torn one gets the same";
  EXPECT_NE(opened.file->snapshot_after(next), next);
}

TEST(FollowedFile, ManyThreadsSeeSnapshotsInOrder) {
  const Opened opened(kSwmrWriter);
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      std::uint64_t last = 0;
      int value = 0;
      while (!done) {
        const auto now = opened.file->current();
        ASSERT_TRUE(now);
        ASSERT_GE((*now)->number(), last);
        last = (*now)->number();
        const int read = value_in(*now);
        ASSERT_GE(read, value);
        value = read;
      }
    });
  for (int i = 1; i <= 100; ++i) {
    opened.source->write_byte(kPlace, static_cast<std::uint8_t>(i));
    (void)opened.file->snapshot_after(opened.file->snapshot());
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(value_in(*opened.file->current()), 100);
}

// A source that says in each read whether its version is still there costs no question after a read.
TEST(FollowedFile, SourceThatChecksItsReadsIsNotAskedAgain) {
  const auto source = std::make_shared<FarSource>(io::make_memory_source(superblock({}).at(4096).bytes()));
  const auto file = *FollowedFile::open(source, {.revalidate_interval = std::chrono::milliseconds(0)});
  source->stamps = 0;
  source->forget();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(file->confirm_unchanged());
  EXPECT_EQ(source->stamps, 0U);
  EXPECT_EQ(source->reads(), 0U);
  source->gone = true;
  const auto read = file->snapshot()->read(2000, 10, "bytes");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::Stale);
  EXPECT_EQ(file->revalidate().error().code(), ErrorCode::Stale);
  source->gone = false;
  EXPECT_EQ(file->revalidate().error().code(), ErrorCode::Stale) << "for good";
  EXPECT_EQ(file->confirm_unchanged().error().code(), ErrorCode::Stale);
}

}  // namespace
}  // namespace h5mount::metadata

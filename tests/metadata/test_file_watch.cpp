// A file that changes while it is open: which changes are detected, when it is followed and when it is stale.
#include "file_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "small_file.h"
#include "support/written_source.h"

namespace h5mount::metadata {
namespace {

using namespace test;
using std::chrono::milliseconds;

constexpr std::uint8_t kWriting = 1, kSwmr = 4;  // status flags

struct Watched {
  explicit Watched(std::uint8_t flags, Follow follow, milliseconds interval = milliseconds(0),
                   bool keep_replaced = false)
      : source(std::make_shared<WrittenSource>(written_file(flags))),
        options{.follow = follow, .keep_replaced = keep_replaced, .revalidate_interval = interval},
        watch(source, 0, options, FileWatch::follows(options, (flags & kSwmr) != 0), *source->stamp()) {
    source->checks = 0;
  }

  // Checks; true where a change was detected.
  bool changed(bool at_once = true) {
    int changes = 0;
    watch.check(at_once, [&](bool following) {
      ++changes;
      EXPECT_EQ(following, watch.following());
    });
    EXPECT_LE(changes, 1);
    return changes > 0;
  }
  bool stale() const { return !watch.status() && watch.status().error().code() == ErrorCode::Stale; }

  std::shared_ptr<WrittenSource> source;
  MetadataOptions options;
  FileWatch watch;
};

TEST(FileWatch, WhatIsNotWrittenDoesNotChange) {
  Watched file(kWriting | kSwmr, Follow::Auto);
  (void)file.changed();  // bytes read while it was opened may have been older
  EXPECT_FALSE(file.changed());
  EXPECT_FALSE(file.changed());
  EXPECT_TRUE(file.watch.following());
  EXPECT_FALSE(file.stale());
}

TEST(FileWatch, EveryWriteOfAFollowedFileIsSeen) {
  Watched file(kWriting | kSwmr, Follow::Auto);
  for (int i = 0; i < 3; ++i) {
    file.source->touch();
    EXPECT_TRUE(file.changed());
  }
  (void)file.changed();
  EXPECT_FALSE(file.changed());
}

// The kernel's clock does not advance within a tick: a second write within it leaves the same time.
TEST(FileWatch, WritesOfOneTickAreAllSeen) {
  Watched file(kWriting | kSwmr, Follow::Auto);
  file.source->touch_now();
  EXPECT_TRUE(file.changed());
  EXPECT_TRUE(file.changed()) << "a write may have followed in the same tick";
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_TRUE(file.changed()) << "what was read within the tick is read again after it";
  EXPECT_FALSE(file.changed());
}

TEST(FileWatch, NoMoreChecksThanTheIntervalAllows) {
  Watched file(kWriting | kSwmr, Follow::Auto, std::chrono::hours(1));
  const int before = file.source->checks;
  for (int i = 0; i < 100; ++i) (void)file.changed(false);
  EXPECT_EQ(file.source->checks, before + 1);
  (void)file.changed(true);
  EXPECT_EQ(file.source->checks, before + 2);
}

TEST(FileWatch, AnOrdinaryFileThatChangesIsStaleForGood) {
  for (const Follow follow : {Follow::Never, Follow::Auto}) {
    Watched file(0, follow);
    EXPECT_FALSE(file.changed());
    file.source->touch();
    EXPECT_TRUE(file.changed());
    EXPECT_TRUE(file.stale());
    file.source->touch();
    (void)file.changed();
    EXPECT_TRUE(file.stale());
  }
}

TEST(FileWatch, NeverFollowsNotEvenASwmrWriter) {
  Watched file(kWriting | kSwmr, Follow::Never);
  EXPECT_FALSE(file.watch.following());
  file.source->touch();
  (void)file.changed();
  EXPECT_TRUE(file.stale());
}

TEST(FileWatch, AlwaysFollowsWhateverTheFlagsSay) {
  Watched file(0, Follow::Always);
  EXPECT_TRUE(file.watch.following());
  file.source->write(written_file(kWriting));
  EXPECT_TRUE(file.changed());
  EXPECT_TRUE(file.watch.following());
  EXPECT_FALSE(file.stale());
}

TEST(FileWatch, ASwmrWriterComesAndGoes) {
  Watched file(0, Follow::Auto);
  EXPECT_FALSE(file.watch.following());
  file.source->write(written_file(kWriting | kSwmr));
  EXPECT_TRUE(file.changed());
  EXPECT_TRUE(file.watch.following());
  file.source->write(written_file(0));  // the writer closed it
  EXPECT_TRUE(file.changed());
  EXPECT_FALSE(file.stale()) << "what a followed writer left is served as it is";
  file.source->write(written_file(kWriting | kSwmr));  // the next writer
  EXPECT_TRUE(file.changed());
  EXPECT_TRUE(file.watch.following());
}

TEST(FileWatch, AWriterWithoutSwmrMakesItStale) {
  Watched file(kWriting | kSwmr, Follow::Auto);
  file.source->write(written_file(kWriting));
  (void)file.changed();
  EXPECT_TRUE(file.stale());
}

TEST(FileWatch, ATornSuperblockDecidesNothingForGood) {
  Watched followed(kWriting | kSwmr, Follow::Auto);
  followed.source->write(written_file(kWriting, false));
  EXPECT_TRUE(followed.changed());
  EXPECT_TRUE(followed.watch.following());
  followed.source->write(written_file(kWriting | kSwmr));
  EXPECT_TRUE(followed.changed());
  EXPECT_TRUE(followed.watch.following());

  Watched quiet(0, Follow::Auto);
  quiet.source->write(written_file(kWriting | kSwmr, false));
  (void)quiet.changed();
  EXPECT_TRUE(quiet.stale()) << "nobody knows yet who writes it";
  quiet.source->write(written_file(kWriting | kSwmr));
  (void)quiet.changed();
  EXPECT_TRUE(quiet.watch.following());
  EXPECT_FALSE(quiet.stale());
}

TEST(FileWatch, AnInodeThatChangesForAKnownReasonIsTheSameFile) {
  for (const Follow follow : {Follow::Never, Follow::Auto}) {
    Watched file(0, follow);
    file.source->change_inode(true);
    EXPECT_FALSE(file.changed());
    EXPECT_FALSE(file.stale());
    file.source->change_inode(false);
    EXPECT_TRUE(file.changed()) << "written, and its time put back";
    EXPECT_TRUE(file.stale());
  }
  Watched rewritten(0, Follow::Auto);
  rewritten.source->write(written_file(kWriting | kSwmr));
  rewritten.source->touch_at(2'000'000'000);
  rewritten.source->change_inode(true);
  EXPECT_TRUE(rewritten.changed()) << "the superblock is another";
}

TEST(FileWatch, AReplacedFileMayBeKept) {
  Watched file(0, Follow::Auto, milliseconds(0), true);
  file.source->replace();
  file.source->touch_at(2'000'000'000);
  file.source->change_inode(true);
  EXPECT_FALSE(file.changed());
  EXPECT_FALSE(file.stale());
  file.source->touch();
  EXPECT_TRUE(file.changed());
  EXPECT_TRUE(file.stale()) << "its own bytes were written";
}

// Another thread gets its answer while the superblock is being read.
TEST(FileWatch, NoThreadWaitsForACheckThatReads) {
  Watched file(0, Follow::Auto);
  file.source->touch();
  std::atomic<bool> asked = false, done = false;
  std::atomic<int> changes = 0;
  std::thread other;
  file.source->on_read = [&] {
    if (asked.exchange(true)) return;
    other = std::thread([&] {
      file.watch.check(true, [&](bool) { ++changes; });
      done = true;
    });
    for (int i = 0; i < 5000 && !done; ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(done) << "a check waits for the one that reads";
  };
  file.watch.check(true, [&](bool) { ++changes; });
  other.join();
  EXPECT_TRUE(file.stale());
  EXPECT_EQ(changes, 1) << "one change is seen once";
}

TEST(FileWatch, ReplacedAndEmptiedFilesAreStaleForGood) {
  for (const Follow follow : {Follow::Never, Follow::Auto, Follow::Always}) {
    Watched file(kWriting | kSwmr, follow);
    file.source->replace();
    (void)file.changed();
    EXPECT_TRUE(file.stale());
    EXPECT_FALSE(file.watch.following());
    EXPECT_NE(file.watch.status().error().text().find("replaced"), std::string::npos);
  }
  Watched emptied(kWriting | kSwmr, Follow::Auto);
  emptied.source->write({});
  (void)emptied.changed();
  EXPECT_TRUE(emptied.stale());
  emptied.source->write(written_file(kWriting | kSwmr));  // another file, written into the same one
  (void)emptied.changed();
  EXPECT_TRUE(emptied.stale());
}

TEST(FileWatch, ChangedLatelyIsAboutWhenAChangeWasSeen) {
  Watched file(kWriting | kSwmr, Follow::Auto);
  (void)file.changed();
  EXPECT_FALSE(file.watch.changed_lately());
  file.source->touch_now();
  (void)file.changed();
  EXPECT_TRUE(file.watch.changed_lately());
}

// The clock of a server that is ahead, or one that was set back: the file must not count as recently written
// until that time has come.
TEST(FileWatch, ATimeInTheFutureSaysNothing) {
  constexpr std::int64_t kYear2037 = 2'114'380'800'000'000'000;
  auto source = std::make_shared<WrittenSource>(written_file(kWriting | kSwmr));
  source->touch_at(kYear2037);
  FileWatch watch(source, 0, MetadataOptions{.follow = Follow::Auto, .revalidate_interval = milliseconds(0)},
                  true, *source->stamp());
  EXPECT_FALSE(watch.changed_lately());
  int changes = 0;
  for (int i = 0; i < 3; ++i) watch.check(true, [&](bool) { ++changes; });
  EXPECT_EQ(changes, 1) << "what was read while it was opened, and no more";
  source->touch();
  watch.check(true, [](bool) {});
  EXPECT_TRUE(watch.changed_lately()) << "a change that was seen counts, whatever time it left";
}

}  // namespace
}  // namespace h5mount::metadata

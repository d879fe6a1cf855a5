// What grows, and how it is followed: kinds of datasets, kinds of tools, sources of virtual datasets, writers
// that come, go and die.
#include <fcntl.h>
#include <sys/xattr.h>

#include <array>

#include "live.h"

namespace h5mount::test {
namespace {

// A descriptor held while the file grows: no stat and no new open helps it to see what became of its pages.
class Held {
 public:
  explicit Held(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY)) { EXPECT_GE(fd_, 0); }
  ~Held() { ::close(fd_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  std::uint64_t size() const {
    struct stat st{};
    return ::fstat(fd_, &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
  }
  std::string read(std::uint64_t bytes) const {
    std::string out(bytes, '\0');
    const ssize_t got = ::pread(fd_, out.data(), bytes, 0);
    EXPECT_GE(got, 0) << std::strerror(errno);
    out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return out;
  }
  // Reads until it is what is wanted, or a second is over.
  bool becomes(const std::string& wanted) const {
    for (int i = 0; i < 50; ++i) {
      if (read(wanted.size()) == wanted) return true;
      pause_for(20);
    }
    return false;
  }

 private:
  int fd_;
};

template <class T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

// ---- tools

TEST(Tools, TailByName) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "by-name.h5";
  Writer writer(file, "frames=200 rate=150 chunk=8 filter=deflate");
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  Tail tail(mount.path("frames"), "-F");
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_TRUE(tail.collected(200 * kFrameBytes) == frames_image(200, kElements));
}

TEST(Tools, DdFromWhereItLeft) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "dd.h5", out = scratch() / "dd.out";
  Writer writer(file, "frames=200 rate=150 chunk=8");
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  std::ofstream(out).flush();
  const std::string bytes = std::to_string(200 * kFrameBytes), to = out.string();
  run("cd " + mount.path() + "; i=0; have=0; while [ $have -lt " + bytes +
      " ] && [ $i -lt 400 ]; do dd if=frames of=" + to +
      " bs=256 skip=$((have/256)) seek=$((have/256)) conv=notrunc 2>/dev/null; have=$(stat -c %s " + to +
      "); i=$((i+1)); sleep 0.03; done");
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_TRUE(slurp(out) == frames_image(200, kElements)) << slurp(out).size();
}

// ---- kinds of datasets

TEST(Kinds, SeveralTogetherAsBytesAsTextAndAsJson) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "together.h5";
  Writer writer(file, "frames=240 rate=120 flush=3 chunk=10 filter=deflate text=1 more=1");
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  const std::string lines = lines_text(240), events = events_text(240);
  Tail frames_tail(mount.path("frames")), counter_tail(mount.path("counter")),
      lines_tail(mount.path("lines")), events_tail(mount.path("events"));
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_TRUE(frames_tail.collected(240 * kFrameBytes) == frames_image(240, kElements));
  const auto counter = values_of<std::int64_t>(counter_tail.collected(240 * 8));
  ASSERT_EQ(counter.size(), 240U);
  for (std::size_t i = 0; i < counter.size(); ++i)
    EXPECT_EQ(counter[i], static_cast<std::int64_t>(i) * 3 + 1);
  EXPECT_EQ(lines_tail.collected(lines.size()), lines);
  EXPECT_EQ(events_tail.collected(events.size()), events);
  EXPECT_EQ(slurp(mount.path("lines")), lines);
  EXPECT_EQ(slurp(mount.path("events")), events);
}

// The image of a dataset that gets wider is another one at every step.
TEST(Kinds, BothDimensionsGrow) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "plane.h5";
  Writer writer(file, "frames=90 rate=40 more=1 filter=deflate");
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  const Held held(mount.path("plane"));
  std::uint64_t compared = 0, largest = 0;
  const auto shape = [&] {
    std::array<unsigned long, 2> dims{};
    std::array<char, 64> text{};  // no program is started: it would take as long as the dataset takes to grow
    EXPECT_GT(::getxattr(mount.path("plane").c_str(), "user.hdf5.shape", text.data(), text.size() - 1), 0);
    EXPECT_EQ(std::sscanf(text.data(), "[%lu,%lu]", &dims[0], &dims[1]), 2) << text.data();
    return dims;
  };
  const auto wrong = [&](const std::array<unsigned long, 2>& dims, bool finished) {
    const auto values = values_of<std::uint32_t>(held.read(dims[0] * dims[1] * 4));
    std::uint64_t count = values.size() == dims[0] * dims[1] ? 0 : 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool right = values[i] == i / dims[1] * 1000 + i % dims[1];
      count += !right && (finished || values[i] != 0);
    }
    return count;
  };
  for (int i = 0; i < 3000 && largest < 46; ++i) {
    const auto before = shape();
    const bool sized = held.size() == before[0] * before[1] * 4;
    const std::uint64_t errors = sized ? wrong(before, false) : 0;
    if (!sized || shape() != before) {
      if (largest == 45) break;
      pause_for(2);
      continue;  // it grew meanwhile
    }
    EXPECT_EQ(errors, 0U) << before[0] << " x " << before[1];
    ++compared;
    if (before[0] * before[1] == 45 * 46) break;
    largest = std::max<std::uint64_t>(largest, before[0]);
    pause_for(15);
  }
  EXPECT_EQ(writer.wait(), 0);
  pause_for(700);
  EXPECT_EQ(held.size(), 45U * 46 * 4);
  EXPECT_EQ(wrong({45, 46}, true), 0U);
  EXPECT_GE(compared, 5U);
}

class InPlace : public ::testing::TestWithParam<const char*> {};

// A chunk index of one chunk: nothing grows, all is rewritten.
TEST_P(InPlace, TheSingleChunkIsReadAgain) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / (std::string("ring-") + GetParam() + ".h5");
  Writer writer(file, std::string("frames=300 rate=150 more=1 filter=") + GetParam());
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  const Held held(mount.path("ring"));
  std::int64_t newest = 0, steps = 0;
  for (int i = 0; i < 200 && newest < 300; ++i) {
    const auto values = values_of<std::int64_t>(held.read(512));
    ASSERT_EQ(values.size(), 64U);
    for (std::size_t slot = 0; slot < values.size(); ++slot)
      EXPECT_TRUE(values[slot] == 0 || (values[slot] - 1) % 64 == static_cast<std::int64_t>(slot))
          << values[slot];
    const std::int64_t most = *std::ranges::max_element(values);
    EXPECT_GE(most, newest);
    steps += most > newest;
    newest = most;
    pause_for(20);
  }
  EXPECT_EQ(writer.wait(), 0);
  std::vector<std::int64_t> last(64);
  for (std::int64_t i = 237; i <= 300; ++i) last[static_cast<std::size_t>((i - 1) % 64)] = i;
  EXPECT_TRUE(held.becomes({reinterpret_cast<const char*>(last.data()), 512}));
  EXPECT_GE(steps, 2);
}

// The extent is there from the beginning; what fills it arrives in pages that the kernel has as zeros.
TEST_P(InPlace, AnExtentAheadOfItsDataIsFilled) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / (std::string("ahead-") + GetParam() + ".h5");
  Writer writer(file, std::string("frames=300 rate=150 ahead=1 chunk=20 filter=") + GetParam());
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  const Held held(mount.path("frames"));
  const std::string right = frames_image(300, kElements);
  ASSERT_EQ(held.size(), right.size());
  std::uint64_t whole = 0, steps = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string bytes = held.read(right.size());
    ASSERT_EQ(bytes.size(), right.size());
    std::uint64_t now = 0;
    while (now < 300 &&
           bytes.compare(now * kFrameBytes, kFrameBytes, right, now * kFrameBytes, kFrameBytes) == 0)
      ++now;
    for (std::size_t at = now * kFrameBytes; at < bytes.size(); ++at)
      ASSERT_TRUE(bytes[at] == 0 || bytes[at] == right[at]) << at;
    EXPECT_GE(now, whole) << "frames that were there and then not";
    steps += now > whole;
    whole = now;
    pause_for(30);
  }
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_TRUE(held.becomes(right));
  EXPECT_GE(steps, 2U);
}

// One chunk that is never full: each flush writes it again, and all of its pages are the kernel's already.
TEST_P(InPlace, APartlyFilledLastChunkIsReadAgain) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / (std::string("partial-") + GetParam() + ".h5");
  Writer writer(file, std::string("frames=150 rate=100 chunk=200 filter=") + GetParam());
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  const Held held(mount.path("frames"));
  const std::string right = frames_image(150, kElements);
  std::uint64_t last = 0, steps = 0;
  for (int i = 0; i < 200 && last < right.size(); ++i) {
    const std::uint64_t size = held.size();
    EXPECT_TRUE(right.starts_with(held.read(size))) << size;
    steps += size > last;
    last = size;
    pause_for(20);
  }
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_TRUE(held.becomes(right));
  EXPECT_GE(steps, 3U);
}

INSTANTIATE_TEST_SUITE_P(Filters, InPlace, ::testing::Values("none", "deflate"));

// ---- other files

void make_view(const std::filesystem::path& file, const std::string& words) {
  ASSERT_EQ(run(std::string(SWMR_WRITER) + " " + file.string() + " " + words).code, 0);
}

// The mounted file stays as it is; its sources grow, begin to grow, or come to be.
TEST(OtherFiles, AVirtualDatasetGrowsWithItsSource) {
  H5MOUNT_NEEDS_FUSE();
  for (const bool early : {true, false}) {
    SCOPED_TRACE(early ? "mounted before the writer came" : "mounted after the writer came");
    const auto source = scratch() / "source.h5", view = scratch() / "view.h5";
    Writer writer(source, "frames=200 rate=100 chunk=8 filter=deflate");
    make_view(view, "view=source.h5");
    if (!early) writer.start();
    const MountPoint mount;
    ASSERT_EQ(mount.mount(view).code, 0);
    if (early) {
      EXPECT_EQ(size_of(mount.path("view")), 0U);
      EXPECT_EQ(slurp(mount.path("view")), "");
      EXPECT_EQ(size_of(mount.path("linked")), 0U);
      writer.start();
    }
    Tail view_tail(mount.path("view")), linked_tail(mount.path("linked"));
    const Held held(mount.path("view"));
    EXPECT_EQ(writer.wait(), 0);
    const std::string right = frames_image(200, kElements);
    EXPECT_TRUE(view_tail.collected(right.size(), 5'000) == right);
    EXPECT_TRUE(linked_tail.collected(right.size(), 5'000) == right);
    EXPECT_EQ(held.size(), right.size());
    EXPECT_TRUE(held.becomes(right));
    EXPECT_EQ(mount.in("getfattr -n user.hdf5.shape --only-values view").out, "[200,8,16]");
  }
}

TEST(OtherFiles, NumberedSourcesComeToBe) {
  H5MOUNT_NEEDS_FUSE();
  const auto view = scratch() / "numbered.h5";
  make_view(view, "view=part-0.h5 part=part-%b.h5 block=10");
  const MountPoint mount;
  ASSERT_EQ(mount.mount(view).code, 0);
  const Held held(mount.path("parts"));
  EXPECT_EQ(held.size(), 0U);
  const std::string part = frames_image(10, kElements);
  std::string right;
  for (int i = 0; i < 3; ++i) {
    Writer writer(scratch() / ("part-" + std::to_string(i) + ".h5.new"), "frames=10 chunk=10");
    writer.start();
    ASSERT_EQ(writer.wait(), 0);
    const std::string name = (scratch() / ("part-" + std::to_string(i) + ".h5")).string();
    ASSERT_EQ(run("mv " + name + ".new " + name).code, 0);
    right += part;
    EXPECT_TRUE(wait_for_size(mount.path("parts"), right.size(), 3'000));
    EXPECT_TRUE(held.becomes(right)) << i;
  }
  EXPECT_EQ(slurp(mount.path("view")), part);
}

TEST(OtherFiles, ASourceThatIsReplacedIsStale) {
  H5MOUNT_NEEDS_FUSE();
  const auto source = scratch() / "plain-source.h5", view = scratch() / "plain-view.h5";
  Writer writer(source, "frames=20 chunk=4");
  writer.start();
  ASSERT_EQ(writer.wait(), 0);
  make_view(view, "view=plain-source.h5");
  const MountPoint mount;
  ASSERT_EQ(mount.mount(view).code, 0);
  EXPECT_TRUE(slurp(mount.path("view")) == frames_image(20, kElements));
  ASSERT_EQ(run("cp " + source.string() + " " + source.string() + ".new; sleep 0.1; cat " + source.string() +
                ".new >" + source.string())
                .code,
            0);
  pause_for(700);
  const Outcome read = mount.in("cat view");
  EXPECT_NE(read.code, 0);
  EXPECT_NE(read.err.find("Stale"), std::string::npos) << read.err;
  EXPECT_EQ(mount.in("ls").code, 0) << "the mounted file is as it was";
}

// ---- writers

TEST(Writers, EndAndComeAgain) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "again.h5";
  Writer writer(file, "chunk=8 filter=deflate");
  const MountPoint mount;
  ASSERT_EQ(mount.mount(file).code, 0);
  const Held held(mount.path("frames"));
  for (const int frames : {50, 130, 170}) {
    writer.start("rate=200 frames=" + std::to_string(frames));
    EXPECT_EQ(writer.wait(), 0);
    EXPECT_TRUE(wait_for_size(mount.path("frames"), static_cast<std::uint64_t>(frames) * kFrameBytes, 1'000));
    EXPECT_TRUE(held.becomes(frames_image(static_cast<std::uint64_t>(frames), kElements)));
    EXPECT_EQ(mount.in("getfattr -n user.state --only-values .").out, std::to_string(frames));
    pause_for(200);  // nobody writes: it is served as it is
    EXPECT_EQ(size_of(mount.path("frames")), static_cast<std::uint64_t>(frames) * kFrameBytes);
    EXPECT_TRUE(slurp(mount.path("frames")) == frames_image(static_cast<std::uint64_t>(frames), kElements));
  }
}

class Restarted : public ::testing::TestWithParam<Kind> {};

// Killed at any moment and started again, with h5clear between them or not, under one mount and one
// descriptor.
TEST_P(Restarted, GoOnWhereTheyDied) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "restarted.h5";
  Writer writer(file, words_of(GetParam()) + " frames=50000 rate=1500");
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  const std::string path = mount.path("frames");
  const Held held(path);
  const std::string most = frames_image(20'000, kElements);
  for (int round = 0; round < 4; ++round) {
    const std::uint64_t before = size_of(path);
    EXPECT_TRUE(wait_for_size(path, before + 30 * kFrameBytes));
    pause_for(20 + 37 * round);
    writer.end(SIGKILL);
    pause_for(100);
    const std::string bytes = held.read(size_of(path));
    EXPECT_GE(bytes.size(), before);
    for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_TRUE(bytes[i] == most[i] || bytes[i] == 0) << i;
    if (round % 2 == 0) EXPECT_EQ(run("h5clear -s --increment=0 " + file.string()).code, 0);
    writer.start(round % 2 == 0 ? "" : "clear=1");
  }
  writer.end(SIGKILL);
  pause_for(700);
  const auto frames = std::max<std::uint64_t>(size_of(path) / kFrameBytes, 200) + 100;
  ASSERT_LT(frames, 20'000U);
  writer.start("clear=1 rate=0 frames=" + std::to_string(frames));
  EXPECT_EQ(writer.wait(), 0);
  const std::string right = most.substr(0, frames * kFrameBytes);
  EXPECT_TRUE(wait_for_size(path, right.size(), 1'000)) << size_of(path) << " of " << right.size();
  EXPECT_TRUE(held.becomes(right));
  EXPECT_TRUE(slurp(path) == right);
}

INSTANTIATE_TEST_SUITE_P(Indexes, Restarted,
                         ::testing::Values(Kind{"ea", "none", 4}, Kind{"bt2", "deflate", 7},
                                           Kind{"fa", "deflate", 16}));

}  // namespace
}  // namespace h5mount::test

// Attributes of any size and name through the mount: as extended attributes where Linux can carry them, and
// as files under /.h5/attributes; and the sizes and blocks that copying tools go by.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <vector>

#include "command.h"

namespace h5mount::test {
namespace {

// A file that a program of fixtures/attributes writes, once for all tests that look at it, mounted.
class MadeFile : public ::testing::Test {
 protected:
  void make(const std::string& name, const std::string& options = {}) {
    H5MOUNT_NEEDS_FUSE();
    file_ = scratch() / (name + ".h5");
    if (!std::filesystem::exists(file_)) {
      const auto program = source_root() / "tests/mount/fixtures/attributes" / (name + ".py");
      const Outcome made = run(python() + program.string() + " " + file_.string());
      if (made.code != 0) std::filesystem::remove(file_);
      ASSERT_EQ(made.code, 0) << made.err;
    }
    const Outcome mounted = mount.mount(file_, options);
    ASSERT_EQ(mounted.code, 0) << mounted.err;
  }

  std::string xattr(const std::string& name, const std::string& of) const {
    std::string out(65'536, '\0');
    const ssize_t length = ::getxattr(mount.path(of).c_str(), name.c_str(), out.data(), out.size());
    out.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    return length < 0 ? std::strerror(errno) : out;
  }

  std::vector<std::string> xattrs(const std::string& of) const {
    std::string out(65'536, '\0');
    const ssize_t length = ::listxattr(mount.path(of).c_str(), out.data(), out.size());
    std::vector<std::string> names;
    for (ssize_t at = 0; at < length; at += static_cast<ssize_t>(names.back().size()) + 1)
      names.emplace_back(out.c_str() + at);
    return names;
  }
  bool has_xattr(const std::string& name, const std::string& of) const {
    const auto names = xattrs(of);
    return std::ranges::find(names, name) != names.end();
  }

  MountPoint mount;
  std::filesystem::path file_;
};

class NamedAttributes : public MadeFile {
 protected:
  void SetUp() override { make("named"); }
  std::string text(const std::string& name) const { return slurp(mount.path(".h5/attributes/" + name)); }
};

TEST_F(NamedAttributes, AnAttributeIsAFileBehindThePathOfItsObject) {
  EXPECT_EQ(text("@title"), "of the root");
  EXPECT_EQ(text("entry/d@units"), "mm");
  EXPECT_EQ(text("entry/d@list"), "[1.5,2.0]");
  EXPECT_EQ(text("entry/type@about"), "of a type");
  struct stat seen = {};
  ASSERT_EQ(::stat(mount.path(".h5/attributes/entry/d@list").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_size, 9);
  EXPECT_EQ(seen.st_blocks, 1);
}

TEST_F(NamedAttributes, AttributesAndChildrenOfOneNameDoNotMeet) {
  EXPECT_EQ(text("obs@_index"), "cell_id");
  EXPECT_EQ(text("entry@name"), "of the group");
  EXPECT_EQ(mount.in("ls .h5/attributes/obs").out, "");
  EXPECT_EQ(::access(mount.path(".h5/attributes/entry/name").c_str(), F_OK), -1);
}

TEST_F(NamedAttributes, ListedAreGroupsTheirLinksAndAttributes) {
  EXPECT_EQ(mount.in("ls .h5/attributes").out,
            "@title\nabsolute@list\nabsolute@units\nelsewhere\nentry\nentry@name\nobs\nobs@_index\n"
            "odd link@50%\nodd link@c%2Fd@e\nsecond\nsecond@_index\nsoft group\nsoft group@_index\n");
  EXPECT_EQ(mount.in("ls .h5/attributes/entry | grep -v xxx").out,
            "a%40b@50%\na%40b@c%2Fd@e\nd@list\nd@units\nsoft@list\nsoft@units\ntop\ntop@title\ntype@about\n");
}

TEST_F(NamedAttributes, NamesThatAFileCannotHaveAreEncoded) {
  EXPECT_EQ(text("entry/a%40b@c%2Fd@e"), "odd");
  EXPECT_EQ(text("entry/a%40b@50%"), "percent");
  EXPECT_EQ(::access(mount.path(".h5/attributes/entry/a@b@50%").c_str(), F_OK), -1);
  EXPECT_EQ(::access(mount.path(".h5/attributes/entry/a%40b@c%2fd@e").c_str(), F_OK), -1);
}

TEST_F(NamedAttributes, LongNamesAreCutAndStayApart) {
  EXPECT_EQ(mount.in("cd .h5/attributes/entry && ls | grep -c '^xxx.*~................$'").out, "2\n");
  EXPECT_EQ(
      mount
          .in("cd .h5/attributes/entry && cat $(ls | grep '^xxx') | sed 's/longer/L/;s/long/S/' | fold -w1 | "
              "sort | tr -d '\\n'")
          .out,
      "LS");
}

TEST_F(NamedAttributes, LinksLeadToTheAttributesOfWhatTheyLeadTo) {
  for (const char* name : {"absolute@units", "entry/soft@units", "entry/top/entry/d@units"})
    EXPECT_EQ(text(name), "mm");
  EXPECT_EQ(text("odd link@c%2Fd@e"), "odd");
  EXPECT_EQ(text("second@_index"), "cell_id");
  EXPECT_EQ(text("soft group@_index"), "cell_id");
  EXPECT_EQ(text("entry/top@title"), "of the root");
  EXPECT_EQ(text("elsewhere/h@deep"), "in another file");
  EXPECT_EQ(mount.in("readlink .h5/attributes/absolute@units .h5/attributes/entry/top@title").out,
            "entry/d@units\n../@title\n");
  EXPECT_EQ(mount.in("find .h5/attributes -name 'nowhere*'").out, "");
}

TEST_F(NamedAttributes, WhatIsListedCanBeReadAndNothingElse) {
  EXPECT_EQ(mount.in("find .h5/attributes -type f -exec cat {} + | wc -c").code, 0);
  const Outcome copied = mount.in("cp -a .h5/attributes " + (scratch() / "copy").string() +
                                  " && diff -r --no-dereference "
                                  ".h5/attributes " +
                                  (scratch() / "copy").string());
  EXPECT_EQ(copied.code, 0) << copied.out << copied.err;
  for (const char* none : {"@none", "entry/d@", "entry/plain@units", "entry/d@units@", "nowhere@units",
                           "entry/soft", "absolute", "@_index", "obs/@_index"})
    EXPECT_EQ(::access(mount.path(std::string(".h5/attributes/") + none).c_str(), F_OK), -1) << none;
}

class LargeAttributes : public MadeFile {
 protected:
  void SetUp() override { make("large"); }
};

TEST_F(LargeAttributes, AreNamedInsteadOfListed) {
  for (const char* name : {"text", "zeros", "one more", "numbers", "strings"}) {
    EXPECT_FALSE(has_xattr(std::string("user.") + name, "d")) << name;
    EXPECT_EQ(xattr(std::string("user.") + name, "d"), std::strerror(E2BIG)) << name;
  }
  EXPECT_EQ(xattr("user.hdf5.large_attributes", "d"), R"(["text","zeros","one more","numbers","strings"])");
  EXPECT_TRUE(has_xattr("user.hdf5.large_attributes", "d"));
  for (const char* name : {"small", "fits", "few numbers"})
    EXPECT_TRUE(has_xattr(std::string("user.") + name, "d"));
  EXPECT_EQ(xattr("user.fits", "d"), std::string(65'536, 'y'));
  EXPECT_FALSE(has_xattr("user.hdf5.large_attributes", "."));
  EXPECT_EQ(xattr("user.hdf5.large_attributes", "."), std::strerror(ENODATA));
}

TEST_F(LargeAttributes, EveryListedNameHasAValue) {
  for (const char* object : {"d", "wide", "many", "."})
    for (const std::string& name : xattrs(object))
      EXPECT_GE(::getxattr(mount.path(object).c_str(), name.c_str(), nullptr, 0), 0) << name;
}

TEST_F(LargeAttributes, AreFiles) {
  EXPECT_EQ(slurp(mount.path(".h5/attributes/d@text")), std::string(1'000'000, 'x'));
  EXPECT_EQ(slurp(mount.path(".h5/attributes/d@zeros")).size(), 200'000 * 4 + 1U);
  EXPECT_EQ(std::filesystem::file_size(mount.path(".h5/attributes/d@one more")), 65'537U);
}

TEST_F(LargeAttributes, AStructureThatIsTooLongIsNamedToo) {
  EXPECT_FALSE(has_xattr("user.hdf5.dtype", "wide"));
  EXPECT_EQ(xattr("user.hdf5.dtype", "wide"), std::strerror(E2BIG));
  EXPECT_EQ(xattr("user.hdf5.large_attributes", "wide"), R"(["hdf5.dtype","hdf5.fill_value"])");
  EXPECT_EQ(xattr("user.hdf5.shape", "wide"), "[1]");
}

TEST_F(LargeAttributes, ALongListOfThemSaysThatItIsCut) {
  const std::string list = xattr("user.hdf5.large_attributes", "many");
  EXPECT_LE(list.size(), 65'536U);
  EXPECT_GT(list.size(), 65'000U);
  EXPECT_TRUE(list.ends_with("\",null]")) << list.substr(list.size() - 20);
}

// Thirty strings of one mebibyte that lie in the heap once.
class SharedString : public MadeFile {
 protected:
  void SetUp() override { make("shared"); }

  // Peak memory of the process that serves this mount, in KiB.
  long peak() const {
    return std::atol(run("for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/cmdline 2>/dev/null | grep -qxF '" +
                         mount.path() +
                         "' && sed -n 's/VmHWM:[^0-9]*//p' $p/status; done | sort -n | tail -n 1")
                         .out.c_str());
  }
};

TEST_F(SharedString, ManyReadersShareOneText) {
  const std::string path = mount.path(".h5/attributes/d@big");
  struct stat seen = {};
  ASSERT_EQ(::stat(path.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_size, 30 * ((1 << 20) + 3) + 1);
  std::vector<int> opened;
  for (int i = 0; i < 12; ++i) opened.push_back(::open(path.c_str(), O_RDONLY));
  char first = 0;
  for (const int fd : opened) EXPECT_EQ(::pread(fd, &first, 1, 0), 1);
  for (const int fd : opened) ::close(fd);
  const long kib = peak();
  EXPECT_GT(kib, 0);
  EXPECT_LT(kib, 200 << 10);
}

TEST_F(SharedString, ATooLongValueIsNotWrittenToFindThatOut) {
  EXPECT_EQ(xattr("user.big", "d"), std::strerror(E2BIG));
  EXPECT_EQ(xattr("user.one", "d"), std::strerror(E2BIG));
  EXPECT_EQ(xattr("user.hdf5.large_attributes", "d").size(), std::strlen(R"(["big","one"])"));
  const long kib = peak();
  EXPECT_GT(kib, 0);
  EXPECT_LT(kib, 90 << 10);
}

class CopiedFiles : public MadeFile {
 protected:
  void SetUp() override { make("copied"); }
};

TEST_F(CopiedFiles, BlocksSayWhetherThereIsData) {
  for (const auto& file : std::filesystem::directory_iterator(mount.path())) {
    struct stat seen = {};
    ASSERT_EQ(::stat(file.path().c_str(), &seen), 0);
    const int fd = ::open(file.path().c_str(), O_RDONLY);
    ASSERT_GE(fd, 0) << file.path();
    const bool data = ::lseek(fd, 0, SEEK_DATA) >= 0;
    struct stat open = {};
    ASSERT_EQ(::fstat(fd, &open), 0);
    ::close(fd);
    EXPECT_EQ(seen.st_blocks > 0, data) << file.path();
    EXPECT_EQ(open.st_blocks > 0, data) << file.path();
  }
  struct stat zeros = {};
  ASSERT_EQ(::stat(mount.path("zeros").c_str(), &zeros), 0);
  EXPECT_EQ(zeros.st_blocks, 0);
}

TEST_F(CopiedFiles, SparseCopiesAreTrue) {
  const auto copy = [](const char* name) { return (scratch() / name).string(); };
  for (const auto& [name, command] :
       {std::pair{"tar", "mkdir COPY && tar --sparse -c . | tar -x -C COPY"},
        std::pair{"cp", "cp -r --sparse=auto . COPY"}, std::pair{"rsync", "rsync -rS ./ COPY/"}}) {
    if (run(std::string("command -v ") + name).code != 0) continue;
    const std::string place = copy(name);
    std::string filled = command;
    while (filled.find("COPY") != std::string::npos) filled.replace(filled.find("COPY"), 4, place);
    const Outcome copied = mount.in(filled + " && diff -r . " + place);
    EXPECT_EQ(copied.code, 0) << name << "\n" << copied.out << copied.err;
  }
}

TEST_F(CopiedFiles, AttributesAreCopiedTrue) {
  const std::string place = (scratch() / "tar of attributes").string();
  const Outcome copied =
      mount.in("mkdir '" + place + "' && tar --sparse -c -C .h5/attributes . | tar -x -C '" + place +
               "' && diff -r .h5/attributes '" + place + "'");
  EXPECT_EQ(copied.code, 0) << copied.out << copied.err;
  EXPECT_EQ(slurp(place + "/source@history"), std::string(5000, 'x'));
}

// Most file systems take far less than 64 KiB of attributes, so the others are small here.
TEST_F(MadeFile, RsyncTakesADatasetWithALargeAttribute) {
  const std::string copy = (scratch() / "rsynced").string();
  std::filesystem::create_directory(copy);
  if (::setxattr(copy.c_str(), "user.probe", "1", 1, 0) != 0)
    GTEST_SKIP() << "no user xattrs in the scratch directory";
  make("one_large");
  const Outcome outcome = mount.in("rsync -aX d " + copy + "/");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(slurp(copy + "/d"), slurp(mount.path("d")));
  for (const auto& [name, bytes] : {std::pair{"user.small", 4}, std::pair{"user.hdf5.large_attributes", 11}})
    EXPECT_EQ(::getxattr((copy + "/d").c_str(), name, nullptr, 0), bytes);
}

// A dataset that cannot be opened is described as far as it is known.
TEST_F(MadeFile, WhatCannotBeOpenedIsDescribed) {
  make("unopened");
  struct stat seen = {};
  ASSERT_EQ(::stat(mount.path("huge").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_size, 0);
  EXPECT_EQ(::open(mount.path("huge").c_str(), O_RDONLY), -1);
  EXPECT_EQ(errno, EFBIG);
  EXPECT_EQ(xattr("user.hdf5.dtype", "huge"), "<i4");
  EXPECT_EQ(xattr("user.hdf5.shape", "huge"), "[1099511627776,4194304]");
  EXPECT_EQ(xattr("user.hdf5.maxshape", "huge"), "[1099511627776,4194304]");
  EXPECT_EQ(xattr("user.hdf5.layout", "huge"), "chunked");
  EXPECT_EQ(xattr("user.hdf5.chunks", "huge"), "[1024,1024]");
  EXPECT_EQ(xattr("user.hdf5.fill_value", "huge"), "3");
  EXPECT_EQ(xattr("user.hdf5.filters", "huge"), R"([{"id":1,"name":"deflate","values":[1]}])");
  EXPECT_NE(xattr("user.hdf5.error", "huge").find("2^63"), std::string::npos);
  for (const char* name :
       {"dtype", "shape", "maxshape", "layout", "chunks", "fill_value", "filters", "error"})
    EXPECT_TRUE(has_xattr(std::string("user.hdf5.") + name, "huge")) << name;
  EXPECT_EQ(xattr("user.hdf5.dtype", "padded"), R"({"a":"<i4","b@8":"<f8","@size":24})");
  EXPECT_EQ(xattr("user.hdf5.dtype", "tail"), R"({"a":{"a":"<i4","b@8":"<f8","@size":24},"@size":32})");
  EXPECT_EQ(xattr("user.hdf5.dtype", "at"), R"({"a%404":"<i4","b":"<i2"})");
}

}  // namespace
}  // namespace h5mount::test

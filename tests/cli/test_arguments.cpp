// Arguments of command lines: sources, addresses, origins; progress.
#include <gtest/gtest.h>

#include <filesystem>

#include "copy_progress.h"
#include "words/serve_arguments.h"
#include "words/source_arguments.h"

namespace h5mount::cli {
namespace {

TEST(Arguments, SourcesAreOneFileOrManyNearOrFar) {
  struct Case {
    std::vector<std::string> words;
    const char* name;
    bool many, far;
  };
  const Case cases[] = {
      {{"/a.h5"}, "/a.h5", false, false},
      {{"/b/../a.h5"}, "/a.h5", false, false},
      {{"/usr/"}, "/usr", true, false},
      {{"/a.h5", "/b.h5", "/c.h5"}, "/a.h5 and 2 more", true, false},
      {{"https://h.example/a.h5"}, "https://h.example/a.h5", false, true},
      {{"https://h.example/a.h5?secret=1"}, "https://h.example/a.h5", false, true},
      {{"s3://bucket/a.h5"}, "s3://bucket/a.h5", false, true},
      {{"s3://bucket/run/"}, "s3://bucket/run/", true, true},
      {{"/a.h5", "s3://bucket/a.h5"}, "/a.h5 and 1 more", true, true},
  };
  for (const Case& one : cases) {
    const auto sources = read_source_arguments(one.words);
    ASSERT_TRUE(sources) << one.name << sources.error().text();
    EXPECT_TRUE(sources->name().starts_with(one.name)) << sources->name();
    EXPECT_EQ(sources->name().find("secret"), std::string::npos) << sources->name();
    EXPECT_EQ(sources->many(), one.many) << one.name;
    EXPECT_EQ(sources->far(), one.far) << one.name;
  }
  EXPECT_FALSE(read_source_arguments({}));
  EXPECT_FALSE(read_source_arguments({"https://"}));
}

TEST(Arguments, AMountPointThatIsMadeIsNamedAfterTheSource) {
  const std::pair<const char*, const char*> cases[] = {{"/x/run.h5", "run"},
                                                       {"/x/run", "run.mount"},
                                                       {"/x/run.tar.h5", "run.tar"},
                                                       {"@/x/list.txt", "list.txt"},
                                                       {"https://h.example/d/run.h5", "run"},
                                                       {"s3://bucket/d/run/", "run"}};
  const auto here = std::filesystem::current_path();
  for (const auto& [word, name] : cases) {
    const auto made = automatic_mountpoint({word});
    ASSERT_TRUE(made) << word;
    EXPECT_EQ(*made, here / name) << word;
  }
}

TEST(Arguments, PlacesAndOriginsOfAServer) {
  EXPECT_EQ(parse_listen_address("unix:/run/a.sock")->socket_path, "/run/a.sock");
  for (const char* text : {"unix:", "unix:/run/", "999999", "[127.0.0.1", "host:80", "1:2:80"})
    EXPECT_FALSE(parse_listen_address(text)) << text;
  for (const char* text : {"", "*", "https://a.example", "http://a.example:8080"})
    EXPECT_TRUE(check_origin(text)) << text;
  for (const char* text : {"a.example", "https://", "https://a/", "https://a?b", "https://a,b", "://a"})
    EXPECT_FALSE(check_origin(text)) << text;
}

TEST(Progress, AmountsAreAsPeopleReadThem) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(5e12), "4.5 TiB");
  EXPECT_EQ(bytes_text(5e16), "45474.7 TiB");
  front::CopyProgress progress;
  progress.bytes = 3U << 20;
  progress.files = 2;
  using std::chrono::seconds;
  EXPECT_EQ(progress_text(progress, seconds(2)), "3.0 MiB, 2 files, 1.5 MiB/s");
  progress.all_bytes = 15U << 20;
  progress.all_files = 9;
  progress.counted = true;
  EXPECT_EQ(progress_text(progress, seconds(2)), "3.0 MiB of 15.0 MiB, 2 of 9 files, 1.5 MiB/s, 0:08 left");
  progress.kept_bytes = 3U << 20;  // there was nothing to copy yet
  EXPECT_EQ(progress_text(progress, seconds(2)), "3.0 MiB of 15.0 MiB, 2 of 9 files, 0 B/s");
}

}  // namespace
}  // namespace h5mount::cli

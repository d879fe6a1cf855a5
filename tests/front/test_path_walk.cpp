// Paths to nodes, and what is written in order.
#include "h5mount/front/path_walk.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "h5mount/front/output.h"
#include "h5mount/object/file_set.h"
#include "mount/command.h"

namespace h5mount::front {
namespace {

std::shared_ptr<tree::Tree> example_tree() {
  auto files = object::FileSet::open(test::example(), object::ExternalAccess(object::ExternalPolicy::None),
                                     metadata::MetadataOptions{});
  EXPECT_TRUE(files);
  dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(8U << 20),
                                       std::make_shared<cache::WorkerPool>(1), *files};
  auto tree = tree::Tree::make(environment, {});
  EXPECT_TRUE(tree);
  return *tree;
}

TEST(PathWalk, GivesThePathWithoutLinksAndDots) {
  const auto tree = example_tree();
  const auto path = [&](std::string_view from, LastLink last = LastLink::Follow) {
    const auto found = find_path(tree, from, last);
    return found ? found->path : "error: " + found.error().text();
  };
  EXPECT_EQ(path(""), "");
  EXPECT_EQ(path("/"), "");
  EXPECT_EQ(path("/.."), "");
  EXPECT_EQ(path("station//log"), "station/log");
  EXPECT_EQ(path("station/observations/time"), "observations/time");
  EXPECT_EQ(path("station/observations/.."), "");
  EXPECT_EQ(path("latest"), "radar/reflectivity");
  EXPECT_EQ(path("latest", LastLink::Keep), "latest");
  EXPECT_EQ(path("root_again/", LastLink::Keep), "");
  EXPECT_EQ(path("root_again/root_again/latest"), "radar/reflectivity");
  EXPECT_EQ(path(".h5/npy/latest.npy"), ".h5/npy/radar/reflectivity.npy");
}

TEST(PathWalk, WhatIsNotThereIsNamed) {
  const auto tree = example_tree();
  const auto error = [&](std::string_view from) {
    const auto found = find_path(tree, from, LastLink::Keep);
    return found ? "found" : found.error().text();
  };
  EXPECT_EQ(error("station/none/x"), "no such file or directory: /station/none");
  EXPECT_EQ(error("station/log/"), "/station/log is not a directory");
  EXPECT_EQ(error("station/log/.."), "/station/log is not a directory");
  EXPECT_NE(error(std::string(1U << 20, '/') + "station"), "");
  std::string many;
  for (int i = 0; i < (1 << 17); ++i) many += "a/";
  EXPECT_EQ(error(many), "the path has too many names");
}

TEST(Output, TextAndPiecesInOrderThroughASlowPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  std::string got;
  std::thread reader([&] {
    std::array<char, 777> part{};
    for (ssize_t n = 0; (n = ::read(ends[0], part.data(), part.size())) > 0;)
      got.append(part.data(), static_cast<std::size_t>(n));
  });
  std::string expected;
  Output out(ends[1]);
  const auto block = std::make_shared<const std::string>(3000, 'b');
  for (int i = 0; i < 3000; ++i) {
    const std::string text = std::to_string(i) + "\n";
    expected += text + *block;
    ASSERT_TRUE(out.add(text));
    dataset::Pieces pieces;
    pieces.add(std::as_bytes(std::span(*block)), block);
    ASSERT_TRUE(out.add(pieces));
  }
  ASSERT_TRUE(out.flush());
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(out.added(), expected.size());
  EXPECT_TRUE(got == expected);
}

TEST(Output, ADescriptorThatTakesNoMoreIsBroken) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  Output out(full);
  EXPECT_TRUE(out.add("x"));
  EXPECT_FALSE(out.broken());
  EXPECT_EQ(out.flush().error().errno_value(), ENOSPC);
  EXPECT_TRUE(out.broken());
  ::close(full);
}

}  // namespace
}  // namespace h5mount::front

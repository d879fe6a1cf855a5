// A session on a real kernel mount over a small tree in memory.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fake_tree.h"
#include "mounted.h"

namespace h5mount::test {

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    tree = std::make_shared<FakeTree>();
    for (std::size_t i = 0; i < 3'000'000; ++i) big += static_cast<char>(i * 7919 >> 5);
    tree->add(tree::kRootNode, tree::NodeType::File, "small", "hello\n");
    big_id = tree->add(tree::kRootNode, tree::NodeType::File, "big", big);
    directory = tree->add(tree::kRootNode, tree::NodeType::Directory, "dir");
    tree->add(directory, tree::NodeType::File, "inner", "in");
    tree->add(directory, tree::NodeType::Symlink, "up", "../small");
  }
  // From now on reads last until `release`, and then give nothing.
  void hold_reads() {
    tree->on_read = [this](tree::NodeId, std::uint64_t, std::uint64_t, dataset::Pieces&) -> Status {
      ++waiting;
      while (!release) ::usleep(1000);
      return {};
    };
  }
  std::atomic<bool> release = false;
  std::atomic<int> waiting = 0;
  std::shared_ptr<FakeTree> tree;
  std::string big;
  tree::NodeId big_id = 0, directory = 0;
};

}  // namespace h5mount::test

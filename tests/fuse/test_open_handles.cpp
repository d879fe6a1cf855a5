#include "../../src/fuse/ops/open_handles.h"

#include <gtest/gtest.h>

namespace h5mount::fuse {
namespace {

struct Handle final : OpenHandle {
  explicit Handle(int& count) : OpenHandle(HandleKind::File, tree::kRootNode), open(count) { ++open; }
  ~Handle() override { --open; }
  int& open;
};

TEST(OpenHandles, AHandleIsReleasedWithItsNumberOrTheTable) {
  int open = 0;
  {
    OpenHandles handles;
    const std::uint64_t first = handles.add(std::make_shared<Handle>(open));
    const std::uint64_t second = handles.add(std::make_shared<Handle>(open));
    EXPECT_NE(first, second);
    EXPECT_EQ(&handles.find<Handle>(first)->open, &open);
    handles.remove(first);
    EXPECT_EQ(open, 1);
    handles.remove(first);  // is no number any more
    EXPECT_EQ(handles.find<Handle>(first), nullptr);
    EXPECT_EQ(open, 1);
  }
  EXPECT_EQ(open, 0);
}

TEST(OpenHandles, WhoUsesAHandleKeepsIt) {
  int open = 0;
  OpenHandles handles;
  const std::uint64_t number = handles.add(std::make_shared<Handle>(open));
  auto used = handles.find<Handle>(number);
  handles.remove(number);
  EXPECT_EQ(open, 1);
  used.reset();
  EXPECT_EQ(open, 0);
}

}  // namespace
}  // namespace h5mount::fuse

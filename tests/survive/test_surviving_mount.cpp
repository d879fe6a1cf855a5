// What one server leaves for the next: nodes, handles and requests, and memory in which a server wrote
// nonsense.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <random>

#include "fuse/fake_tree.h"
#include "h5mount/base/long_work.h"
#include "surviving_mount.h"
#include "surviving_tree.h"

namespace h5mount::survive {
namespace {

class SurvivingMountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = SurvivingMemory::make();
    ASSERT_TRUE(made);
    memory_ = *std::move(made);
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    kernel_ = UniqueFd(ends[0]);
    device_ = UniqueFd(ends[1]);
  }

  std::unique_ptr<SurvivingMount> server(EndCause cause = EndCause::None) const {
    auto mapped = SurvivingMemory::map(memory_.get());
    EXPECT_TRUE(mapped) << mapped.error().text();
    return std::make_unique<SurvivingMount>(*std::move(mapped), UniqueFd(), cause, [](int) { return true; });
  }
  static tree::Entry entry(tree::NodeId node) {
    tree::Entry out;
    out.node = node;
    out.stat.ino = node * 1000;
    out.stat.mtime = 7;
    return out;
  }

  // A request as the kernel gives it, and what a server reads.
  void ask(std::uint64_t unique, std::uint32_t opcode, std::uint64_t more = 0) const {
    struct {
      fuse_in_header header;
      std::uint64_t more;
    } request{};
    request.header.len = sizeof request;
    request.header.opcode = opcode;
    request.header.unique = unique;
    request.header.nodeid = 5;
    request.more = more;
    ASSERT_EQ(::send(kernel_.get(), &request, sizeof request, 0), static_cast<ssize_t>(sizeof request));
  }
  std::uint64_t read(SurvivingMount& server) const {
    std::array<std::byte, 1U << 16> buffer{};
    if (server.requests.read(device_.get(), buffer.data(), buffer.size()) < 0) return 0;
    fuse_in_header header;
    std::memcpy(&header, buffer.data(), sizeof header);
    return header.unique;
  }
  void answer(SurvivingMount& server, std::uint64_t unique) const {
    fuse_out_header header{.len = sizeof header, .error = 0, .unique = unique};
    const iovec part{&header, sizeof header};
    EXPECT_GT(server.requests.answer(device_.get(), &part, 1), 0);
  }
  // The next answer that the kernel gets: the request and its error.
  std::pair<std::uint64_t, int> answered() const {
    fuse_out_header header{};
    EXPECT_EQ(::recv(kernel_.get(), &header, sizeof header, MSG_DONTWAIT),
              static_cast<ssize_t>(sizeof header));
    return {header.unique, -header.error};
  }

  UniqueFd memory_, kernel_, device_;
};

TEST_F(SurvivingMountTest, NodesAndHandlesMeanTheSameToTheNextServer) {
  const std::string long_name(255, 'n');
  tree::NodeId group = 0, dataset = 0;
  std::uint64_t handle = 0;
  {
    const auto first = server();
    group = first->nodes.adopt(entry(11), tree::kRootNode, "group");
    dataset = first->nodes.adopt(entry(12), group, long_name);
    EXPECT_EQ(first->nodes.adopt(entry(12), group, long_name), dataset);
    handle = first->add_handle(HandleKind::File, dataset);
  }
  const auto second = server();
  const auto record = second->nodes.record(dataset);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->name, long_name);
  EXPECT_EQ(record->parent, group);
  EXPECT_EQ(record->ino, 12'000U);
  EXPECT_EQ(record->mtime, 7);
  EXPECT_FALSE(second->nodes.found(dataset));
  EXPECT_TRUE(second->nodes.resolve(dataset, 99));
  EXPECT_EQ(second->nodes.found(dataset), 99U);
  EXPECT_EQ(second->nodes.id_of(99), dataset);
  EXPECT_EQ(second->handle_node(handle, HandleKind::File).value(), dataset);
  EXPECT_FALSE(second->handle_node(handle + 1, HandleKind::File));

  // The group is kept as long as its dataset is, and ids are not given again.
  second->nodes.forget(group, 1);
  EXPECT_TRUE(second->nodes.record(group));
  EXPECT_EQ(second->nodes.forget(dataset, 2).node, 99U);
  EXPECT_FALSE(second->nodes.record(group));
  const tree::NodeId other = second->nodes.adopt(entry(13), tree::kRootNode, "other");
  EXPECT_NE(other, group);
  EXPECT_NE(other, dataset);
}

TEST_F(SurvivingMountTest, AServerThatWroteNonsenseDoesNotHarmTheNext) {
  std::vector<tree::NodeId> ids;
  {
    const auto first = server();
    tree::NodeId parent = tree::kRootNode;
    for (unsigned i = 0; i < 50; ++i) {
      parent = first->nodes.adopt(entry(20 + i), i % 5 == 0 ? tree::kRootNode : parent,
                                  std::string(1 + i * 5, static_cast<char>('a' + i % 26)));
      ids.push_back(parent);
      first->add_handle(HandleKind::Directory, parent);
    }
    ask(1, FUSE_GETATTR);
    EXPECT_EQ(read(*first), 1U);
  }
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    {
      auto mapped = SurvivingMemory::map(memory_.get());
      ASSERT_TRUE(mapped);
      const auto hit = [&](auto list, std::size_t used) {
        auto bytes = std::as_writable_bytes(list.first(used));
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      };
      for (int i = 0; i < 4; ++i) {
        hit(mapped->nodes(), 60);
        hit(mapped->tails(), 50);
        hit(mapped->handles(), 60);
        hit(mapped->requests(), 3);
      }
      mapped->nodes()[random() % 50].parent = ids[random() % ids.size()];
      mapped->header().nodes = round % 3 == 0 ? ~std::uint64_t{0} >> (round % 40) : mapped->header().nodes;
      mapped->header().tails = round % 5 == 0 ? random() : mapped->header().tails;
      std::memset(mapped->request_bytes(1).data(), static_cast<int>(random()), sizeof(fuse_in_header));
      if (round % 3 == 0) mapped->header().nodes = std::min<std::uint64_t>(mapped->header().nodes, 5000);
      mapped->header().tails = std::min<std::uint64_t>(mapped->header().tails, 5000);
    }
    const auto next = server(EndCause::Killed);
    for (const tree::NodeId id : next->nodes.ids()) {
      std::size_t depth = 0;
      for (tree::NodeId at = id; at != tree::kRootNode; ++depth) {
        const auto record = next->nodes.record(at);
        ASSERT_TRUE(record) << "round " << round;
        ASSERT_FALSE(record->name.empty());
        ASSERT_EQ(record->name.find('/'), std::string::npos);
        ASSERT_LT(depth, 5000U) << "a circle in round " << round;
        at = record->parent;
      }
    }
    const tree::NodeId made = next->nodes.adopt(entry(1000), tree::kRootNode, "made");
    EXPECT_EQ(next->nodes.record(made)->name, "made");
    next->nodes.forget(made, 1);
  }
}

TEST_F(SurvivingMountTest, WhatAServerHasReadTheNextAnswers) {
  {
    const auto first = server();
    ask(10, FUSE_GETATTR);
    ask(11, FUSE_READ);
    ask(12, FUSE_OPEN);
    for (int i = 0; i < 3; ++i) read(*first);
    answer(*first, 11);
    EXPECT_EQ(answered().first, 11U);
  }
  const auto second = server(EndCause::Killed);
  EXPECT_EQ(second->requests.inherited(), 2U);
  ask(13, FUSE_READ);
  std::vector<std::uint64_t> given{read(*second), read(*second), read(*second)};
  std::ranges::sort(given);
  EXPECT_EQ(given, (std::vector<std::uint64_t>{10, 12, 13}));
  for (const std::uint64_t unique : given) answer(*second, unique);
  EXPECT_EQ(server()->requests.inherited(), 0U);
}

TEST_F(SurvivingMountTest, ARequestThatHasEndedTwoServersIsAnsweredWithEio) {
  {
    const auto first = server();
    for (const std::uint64_t unique : {20, 21}) {
      ask(unique, FUSE_READ);
      read(*first);
    }
  }
  std::uint64_t worked_for = 0;
  {
    // After a crash both are suspect: one of them at a time.
    const auto second = server(EndCause::Crashed);
    worked_for = read(*second);
    ask(22, FUSE_GETATTR);
    EXPECT_EQ(read(*second), 22U);
    answer(*second, 22);
    EXPECT_EQ(answered().first, 22U);
  }
  const auto third = server(EndCause::Crashed);
  ASSERT_TRUE(third->requests.begin(device_.get(), [](std::span<std::byte>) { return false; }));
  EXPECT_EQ(answered(), std::make_pair(worked_for, EIO));
  EXPECT_EQ(read(*third), 20U + 21U - worked_for);
}

TEST_F(SurvivingMountTest, ManyKillsFromOutsideAreNoRequestsFault) {
  ask(30, FUSE_READ);
  {
    const auto first = server();
    read(*first);
  }
  for (int kills = 0; kills < 5; ++kills) {
    const auto next = server(EndCause::Killed);
    EXPECT_EQ(read(*next), 30U);
  }
  const auto last = server(EndCause::Killed);
  EXPECT_EQ(read(*last), 30U);
  answer(*last, 30);
  EXPECT_EQ(answered(), std::make_pair(std::uint64_t{30}, 0));
}

TEST_F(SurvivingMountTest, MemoryOfAnotherVersionIsNotTaken) {
  {
    auto mapped = SurvivingMemory::map(memory_.get());
    ASSERT_TRUE(mapped);
    mapped->header().layout += 1;
  }
  EXPECT_FALSE(SurvivingMemory::map(memory_.get()));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(SurvivingMemory::map(null.get()));
}

// The file system that a source lies on may hang, and others wait for the thread that receives requests.
TEST_F(SurvivingMountTest, ASourceIsLookedAtByWhoHasGivenTheLeadAway) {
  struct Lead final : LongWorkListener {
    void long_work_ahead() noexcept override { ++given; }
    int given = 0;
  } lead;
  const auto inner = std::make_shared<test::FakeTree>();
  const tree::NodeId file = inner->add(tree::kRootNode, tree::NodeType::File, "f", "bytes");
  inner->sources.push_back({.file = "/dev/null", .object = {}});
  const auto state = server();
  SurvivingTree survivor(inner, state->nodes, false);
  RequestBudget budget;
  const auto found = survivor.lookup(tree::kRootNode, "f", budget);
  ASSERT_TRUE(found);
  ASSERT_NE(file, 0U);
  set_long_work_listener(&lead);
  EXPECT_TRUE(survivor.open(found->node, budget));
  set_long_work_listener(nullptr);
  EXPECT_GT(lead.given, 0);
}

// Whether the file is that of the earlier servers is found out by the first request that can.
TEST_F(SurvivingMountTest, ARootThatCannotBeReadForAMomentIsNoOtherFile) {
  const auto inner = std::make_shared<test::FakeTree>();
  inner->add(tree::kRootNode, tree::NodeType::File, "f", "bytes");
  inner->stat_error = Error(ErrorCode::OutOfMemory, "no memory");
  const auto state = server();
  SurvivingTree survivor(inner, state->nodes, true);
  RequestBudget budget;
  const auto before = survivor.lookup(tree::kRootNode, "f", budget);
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().code(), ErrorCode::OutOfMemory);
  inner->stat_error.reset();
  EXPECT_TRUE(survivor.lookup(tree::kRootNode, "f", budget));
}

}  // namespace
}  // namespace h5mount::survive

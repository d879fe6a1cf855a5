// The table of nodes against a plain map.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "../../src/tree/core/node_table.h"

namespace h5mount::tree {
namespace {

class TestNode final : public Node {
 public:
  explicit TestNode(NodeKey key) : Node(std::move(key)) {}
  Result<NodeStat> stat(StatDepth, RequestBudget&) override { return NodeStat{}; }
};

NodePtr node_at(std::uint64_t address, std::string name = {}) {
  return std::make_shared<TestNode>(NodeKey{nullptr, NodeKey::Kind::Object, address, std::move(name)});
}

TEST(NodeTable, GivesOneNodeForAKeyAndNoIdTwice) {
  NodeTable table(node_at(0));
  const auto [id, node] = table.adopt(node_at(1));
  EXPECT_EQ(table.adopt(node_at(1)), std::pair(id, node));
  EXPECT_NE(table.adopt(node_at(1, "x")).first, id);
  EXPECT_EQ(table.adopt(node_at(0)).first, kRootNode);
  table.forget(id, 1);
  EXPECT_EQ(table.find(id), node) << "looked up twice";
  table.forget(id, 1);
  EXPECT_EQ(table.find(id), nullptr);
  table.forget(id, 1);
  EXPECT_NE(table.adopt(node_at(1)).first, id);
}

TEST(NodeTable, IdsAreAboveTheOnesGivenElsewhere) {
  NodeTable table(node_at(0), kRootNode, std::uint64_t{1} << 44);
  for (std::uint64_t i = 1; i < 100; ++i) EXPECT_GT(table.adopt(node_at(i)).first, std::uint64_t{1} << 44);
}

TEST(NodeTable, AgreesWithAMapWhateverIsAddedAndForgotten) {
  struct Known {
    NodeId id;
    std::uint64_t lookups;
  };
  std::mt19937_64 random(1);
  NodeTable table(node_at(0));
  std::map<std::uint64_t, Known> known;  // by address
  std::set<NodeId> ids;
  const auto look_up = [&](std::uint64_t address) {
    const auto [id, node] = table.adopt(node_at(address));
    ASSERT_EQ(node->key().address, address);
    const auto [entry, is_new] = known.try_emplace(address, Known{id, 0});
    if (is_new) ASSERT_TRUE(ids.insert(id).second) << "an id was used again";
    ASSERT_EQ(entry->second.id, id);
    ++entry->second.lookups;
  };
  const auto forget = [&](std::uint64_t address, std::uint64_t count) {
    const auto entry = known.find(address);
    if (entry == known.end()) return;
    table.forget(entry->second.id, count);
    entry->second.lookups -= std::min(entry->second.lookups, count);
    if (entry->second.lookups > 0) return;
    ASSERT_EQ(table.find(entry->second.id), nullptr);
    known.erase(entry);
  };
  // Addresses of three densities: the table grows, empties and fills again.
  for (const std::uint64_t range : {8, 500, 20'000})
    for (int step = 0; step < 60'000; ++step) {
      const std::uint64_t address = 1 + random() % range;
      if (random() % (step < 30'000 ? 4 : 2) != 0)
        look_up(address);
      else
        forget(address, 1 + random() % 3);
      if (HasFatalFailure()) return;
    }
  EXPECT_EQ(table.size(), known.size());
  EXPECT_EQ(table.ids().size(), known.size() + 1);
  for (const auto& [address, entry] : known) {
    const NodePtr found = table.find(entry.id);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->key().address, address);
  }
  while (!known.empty()) forget(known.begin()->first, ~std::uint64_t{0});
  EXPECT_EQ(table.size(), 0U);
  look_up(1);
}

}  // namespace
}  // namespace h5mount::tree

// The bytes of files over time: states of elements that several files show, what each finds stale since the
// state that it knows, and the order in which the kernel learns of it.
#include "../../src/tree/core/followed_bytes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "../../src/tree/core/external_files.h"
#include "../../src/tree/core/open_nodes.h"
#include "../../src/tree/objects/followed_dataset.h"
#include "followed.h"
#include "h5mount/dataset/dataset_part.h"
#include "h5mount/object/resolve_path.h"
#include "h5mount/view/zarr.h"

namespace h5mount::test {
namespace {

using Ranges = std::vector<dataset::ByteRange>;

// ---- deltas

TEST(StaleRanges, AreReadAnyNumberOfTimesSinceAnyState) {
  tree::StaleRanges stale;
  EXPECT_EQ(stale.since(0), Ranges{});
  stale.add(2, Ranges{{0, 10}, {30, 40}});
  const tree::StaleRanges second = stale;
  stale.add(3, Ranges{});
  stale.add(5, Ranges{{5, 7}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(stale.since(0), (Ranges{{0, 10}, {30, 40}, {5, 7}}));
    EXPECT_EQ(stale.since(1), stale.since(0));
    EXPECT_EQ(stale.since(2), (Ranges{{5, 7}}));
    EXPECT_EQ(stale.since(5), Ranges{});
    EXPECT_EQ(second.since(0), (Ranges{{0, 10}, {30, 40}})) << "a value";
  }
  stale.add(6, Ranges{dataset::kWholeImage});
  EXPECT_EQ(stale.since(2), Ranges{dataset::kWholeImage});
  EXPECT_EQ(stale.since(6), Ranges{});
}

TEST(StaleRanges, OfManyStatesAreBoundedAndCoverWhatTheyWere) {
  tree::StaleRanges stale;
  constexpr std::uint64_t kStates = 1000;
  for (std::uint64_t state = 1; state <= kStates; ++state) {
    stale.add(state, Ranges{{10 * state, 10 * state + 10}});
    EXPECT_EQ(stale.since(state - 1), (Ranges{{10 * state, 10 * state + 10}})) << "the last delta is exact";
  }
  EXPECT_LE(stale.since(0).size(), 64U);
  for (const std::uint64_t since : {0U, 1U, 500U, 990U})
    for (std::uint64_t state = since + 1; state <= kStates; ++state)
      EXPECT_TRUE(std::ranges::any_of(stale.since(since),
                                      [&](const dataset::ByteRange& range) {
                                        return range.begin <= 10 * state && range.end >= 10 * state + 10;
                                      }))
          << state << " since " << since;
}

// ---- states

TEST(States, ContinueTheValueThatWasMadeLast) {
  tree::States<int, std::string> states;
  const auto is_later = [](const auto& newest, int of) { return of > newest.of; };
  EXPECT_EQ(states.newest_number(), 0U);
  const auto first = states.advance(10, is_later);
  EXPECT_EQ(states.advance(10, is_later), first);
  EXPECT_EQ(states.advance(9, is_later), first) << "what is older begins no state";
  EXPECT_EQ(first->before, nullptr);
  EXPECT_EQ(states.newest_value(), nullptr);
  const auto make = [](const char* text) {
    return [=] { return Result<std::shared_ptr<const std::string>>(std::make_shared<std::string>(text)); };
  };
  EXPECT_TRUE(first->value.get(make("first"), Unbounded()));
  const auto skipped = states.advance(11, is_later);
  EXPECT_EQ(*states.newest_value(), "first") << "none was made of the newest";
  const auto third = states.advance(12, is_later);
  EXPECT_EQ(*third->before, "first");
  EXPECT_EQ(third->number, 3U);
  EXPECT_EQ(states.newest_number(), 3U);
}

// ---- the kernel

// Notes invalidations; they complete when the test says so.
class DelayedPages final : public tree::KernelPages {
 public:
  void invalidate(tree::NodeId, const Ranges& ranges, std::function<void()> done) override {
    asked.push_back(ranges);
    dones.push_back(std::move(done));
  }
  bool store(tree::NodeId, std::uint64_t, const dataset::Pieces&) override { return false; }
  void complete() {
    for (const auto& done : std::exchange(dones, {}))
      if (done) done();
  }
  std::vector<Ranges> asked;
  std::vector<std::function<void()>> dones;
};

TEST(SizePublisher, DropsWhatBecameStaleSinceTheStateThatWasPublishedLast) {
  const auto publisher = std::make_shared<tree::SizePublisher>();
  DelayedPages kernel;
  tree::StaleRanges stale;
  EXPECT_EQ(publisher->publish(&kernel, 7, 1, 8192, stale).bytes, 8192U) << "nothing to wait for";
  EXPECT_TRUE(kernel.asked.empty());
  stale.add(2, Ranges{{0, 5}});
  stale.add(3, Ranges{{9, 12}});  // the state before was not published
  for (int i = 0; i < 2; ++i) {
    const auto waiting = publisher->publish(&kernel, 7, 3, 12288, stale);
    EXPECT_EQ(waiting.bytes, 8192U) << "until the pages are gone";
    EXPECT_FALSE(waiting.newest);
  }
  EXPECT_EQ(kernel.asked, (std::vector<Ranges>{Ranges{{0, 5}, {9, 12}}})) << "asked once";
  kernel.complete();
  EXPECT_EQ(publisher->size(), std::optional<std::uint64_t>(12288));
  EXPECT_TRUE(publisher->publish(&kernel, 7, 3, 12288, stale).newest);
  EXPECT_EQ(publisher->publish(&kernel, 7, 2, 1, stale).bytes, 12288U) << "no earlier state comes later";
  stale.add(4, Ranges{});
  EXPECT_EQ(publisher->publish(&kernel, 7, 4, 12288, stale).bytes, 12288U);
  EXPECT_EQ(kernel.asked.size(), 1U);
}

// An answer with the size of before may be on its way to the kernel, which fills up with zeros what it then
// does not get.
TEST(SizePublisher, AfterAFileBecameShorterItsLargerSizeIsBelievedForAMoment) {
  const auto publisher = std::make_shared<tree::SizePublisher>();
  EXPECT_EQ(publisher->believed_size(), 0U);
  (void)publisher->publish(nullptr, 5, 1, 1000, {});
  const auto began = std::chrono::steady_clock::now();
  (void)publisher->publish(nullptr, 5, 2, 600, {});
  std::uint64_t believed = publisher->believed_size();
  if (std::chrono::steady_clock::now() - began < std::chrono::milliseconds(200)) EXPECT_EQ(believed, 1000U);
  EXPECT_EQ(publisher->size(), 600U);
  for (; believed == 1000; believed = publisher->believed_size())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(believed, 600U);
}

TEST(SizePublisher, DropsThePageOfTheOldEnd) {
  const auto publisher = std::make_shared<tree::SizePublisher>();
  DelayedPages kernel;
  (void)publisher->publish(&kernel, 7, 1, 5000, {});
  (void)publisher->publish(&kernel, 7, 2, 6000, {});
  EXPECT_EQ(kernel.asked, (std::vector<Ranges>{Ranges{{4096, 5000}}}));
}

// Pages of it were read while it was not followed. Nobody is told of a size that it never had.
TEST(SizePublisher, BeforeAnythingWasPublishedNoSizeIsToldThatTheFileNeverHad) {
  struct AsksMeanwhile final : tree::KernelPages {
    void invalidate(tree::NodeId, const Ranges&, std::function<void()> done) override {
      EXPECT_FALSE(publisher->size());
      others.push_back(std::async(std::launch::async, [this] { return publish(); }));
      dropped = std::move(done);
      if (!late) dropped();
    }
    bool store(tree::NodeId, std::uint64_t, const dataset::Pieces&) override { return false; }
    tree::SizePublisher::Size publish() {
      tree::StaleRanges stale;
      stale.add(2, Ranges{dataset::kWholeImage});
      return publisher->publish(this, 7, 2, 8192, stale);
    }
    const std::shared_ptr<tree::SizePublisher> publisher = std::make_shared<tree::SizePublisher>();
    bool late = false;  // dropping the pages takes longer than anybody waits
    std::function<void()> dropped;
    std::vector<std::future<tree::SizePublisher::Size>> others;
  };
  for (const bool late : {false, true}) {
    AsksMeanwhile kernel;
    kernel.late = late;
    const auto first = kernel.publish();
    const auto other = kernel.others.at(0).get();
    for (const auto& told : {first, other}) {
      EXPECT_EQ(told.bytes, 8192U);
      EXPECT_EQ(told.newest, !late);
    }
    kernel.dropped();
    EXPECT_TRUE(kernel.publish().newest);
  }
}

// ---- elements that several files show

// A file in one of the states of a writer, and datasets of it.
struct Written {
  explicit Written(const std::string& writer) : states(states_written_by(writer)) {
    if (states.empty()) return;
    source = std::make_shared<WrittenSource>(states[0]);
    const auto files = files_over(source);
    const dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(16U << 20),
                                               std::make_shared<cache::WorkerPool>(1), files};
    file = std::make_shared<tree::ServedFile>(
        std::make_shared<const tree::MountContext>(tree::MountContext{environment,
                                                                      {},
                                                                      0,
                                                                      std::make_shared<tree::ExternalFiles>(),
                                                                      std::make_shared<tree::OpenNodes>()}),
        files->main(), 0, 0);
  }

  std::shared_ptr<tree::FollowedDataset> dataset(const std::string& path) const {
    const auto snapshot = file->metadata();
    return std::make_shared<tree::FollowedDataset>(
        file, *object::resolve_path(snapshot, snapshot->root_address(), path), tree::LinkPlace{});
  }
  void become(std::size_t state) const {
    source->write(states.at(state));
    EXPECT_TRUE(file->followed().revalidate_now());  // as each request does
  }

  FileStates states;
  std::shared_ptr<WrittenSource> source;
  tree::ServedFilePtr file;
};

tree::FollowedBytes::StatePtr newest(tree::FollowedBytes& bytes) {
  RequestBudget budget;
  const auto state = bytes.newest(budget);
  EXPECT_TRUE(state) << state.error().text();
  return state ? *state : nullptr;
}

std::string text_of(const tree::FollowedBytes::State& state) {
  dataset::Pieces pieces;
  EXPECT_TRUE(state.read(0, state.file->size(), {nullptr, Unbounded()}, pieces));
  std::string out(static_cast<std::size_t>(pieces.total()), '\0');
  EXPECT_TRUE(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(out))));
  return out;
}

bool covers(const Ranges& stale, std::uint64_t begin, std::uint64_t end) {
  return std::ranges::any_of(
      stale, [&](const dataset::ByteRange& range) { return range.begin <= begin && range.end >= end; });
}

tree::ViewOf slice(const char* selection) {
  return {&view::view_by_suffix(""), view::derive_selection(selection)};
}

// One reads each state, one skips every second, one comes at the end; all find what is stale for them.
TEST(FollowedBytes, EveryFileFindsWhatIsStaleSinceTheStateThatItKnows) {
  Written file("rewrites_and_appends");
  ASSERT_EQ(file.states.size(), 7U);
  const auto data = file.dataset("d");
  tree::FollowedBytes each(*data, slice(":,0")), second(*data, slice(":,1")), last(*data, slice(":,0"));
  struct Reader {
    tree::FollowedBytes& bytes;
    std::size_t step;  // it comes to every so manieth state
    tree::FollowedBytes::StatePtr known = nullptr;
  };
  Reader readers[] = {{each, 1}, {second, 2}, {last, 6}};
  for (std::size_t state = 0; state < file.states.size(); ++state) {
    if (state > 0) file.become(state);
    for (Reader& reader : readers) {
      if (state % reader.step != 0) continue;
      const auto now = newest(reader.bytes);
      ASSERT_TRUE(now);
      EXPECT_EQ(text_of(*now).size(), 8 + state / 2) << "state " << state;
      if (reader.known) {
        const std::uint64_t rows = reader.known->file->size();
        const Ranges stale = now->stale.since(reader.known->data->number);
        EXPECT_TRUE(covers(stale, rows - 1, rows)) << "every " << reader.step << ", state " << state;
        EXPECT_EQ(stale, now->stale.since(reader.known->data->number)) << "read again";
      }
      reader.known = now;
    }
    EXPECT_EQ(newest(each)->data, newest(each)->data) << "one state while nothing is written";
  }
  EXPECT_EQ(newest(each)->data, newest(second)->data) << "one reader for all";
  EXPECT_EQ(text_of(*newest(last)), text_of(*newest(each)));
}

TEST(FollowedBytes, WhatIsStaleInAPartIsWhatIsStaleInItsDataset) {
  Written file("rewrites_and_appends");
  ASSERT_EQ(file.states.size(), 7U);
  file.become(2);  // 9 rows of 2 bytes
  const auto data = file.dataset("d");
  tree::FollowedBytes own(*data, {&view::view_by_suffix("")}), column(*data, slice(":,1"));
  EXPECT_EQ(newest(own)->image, newest(own)->shown.get()) << "read without the view";
  const auto before = newest(column);
  file.become(4);
  const auto now = newest(column);
  EXPECT_NE(now->data, before->data);
  const auto in_column = [&](const Ranges& stale) {
    return dataset::stale_in_part(*now->shown, *before->shown, stale);
  };
  EXPECT_EQ(in_column({}), Ranges{});
  EXPECT_EQ(in_column({{16, 18}}), (Ranges{{8, 9}}));
  EXPECT_EQ(in_column({{0, 1}, {5, 8}}), (Ranges{{0, 1}, {2, 4}}));
  EXPECT_EQ(in_column({dataset::kWholeImage}), (Ranges{{0, 9}}));
  EXPECT_EQ(in_column({{18, 20}}), Ranges{}) << "there was nothing";
}

// Two chunks of a row of chunks, opened while the file was quiet.
TEST(FollowedBytes, ChunkFilesThatShareADatasetSeeEveryState) {
  Written file("rewrites_and_appends");
  ASSERT_EQ(file.states.size(), 7U);
  const auto data = file.dataset("z");
  const auto chunk = [](std::uint64_t number) {
    return tree::ViewOf{&view::zarr_chunk_view(view::ZarrEncoding::Plain),
                        view::derive_zarr_chunk(number, view::ZarrEncoding::Plain)};
  };
  tree::FollowedBytes finished(*data, chunk(0)), left(*data, chunk(2)), right(*data, chunk(3));
  EXPECT_EQ(text_of(*newest(finished)), std::string(4, '\1'));
  EXPECT_EQ(text_of(*newest(left)), std::string(4, '\1'));
  EXPECT_EQ(text_of(*newest(right)), std::string(4, '\2'));
  file.become(1);  // everything is stale, as nothing is known of what was returned before
  for (tree::FollowedBytes* bytes : {&finished, &left, &right})
    EXPECT_TRUE(covers(newest(*bytes)->stale.since(1), 0, 4));
  EXPECT_EQ(text_of(*newest(left)), "\1\1\1\x0A");
  EXPECT_EQ(text_of(*newest(right)), "\2\2\2\x14");
  const std::uint64_t known = newest(left)->data->number;
  (void)text_of(*newest(finished));
  file.become(3);
  EXPECT_TRUE(covers(newest(left)->stale.since(known), 0, 4));
  EXPECT_TRUE(covers(newest(right)->stale.since(known), 0, 4)) << "whichever asked first";
  EXPECT_EQ(newest(finished)->stale.since(known), Ranges{}) << "no writer appends to it";
}

// ---- sizes while somebody measures

tree::NodeStat measured(tree::FollowedBytes& bytes, tree::StatDepth depth) {
  RequestBudget budget;
  tree::NodeStat stat;
  bytes.measure(depth, stat, 7, budget);
  return stat;
}

// The kernel lets nobody be killed who waits for the lookup that another began.
TEST(FollowedBytes, AListingWaitsForNobodyWhoMeasures) {
  Written file("rewrites_and_appends");
  ASSERT_EQ(file.states.size(), 7U);
  file.file->context().open_nodes->set_kernel(std::make_shared<DelayedPages>());
  const auto data = file.dataset("d");
  tree::FollowedBytes lines(*data, {&view::view_by_suffix(".csv")});
  EXPECT_EQ(measured(lines, tree::StatDepth::Listing).size, 0U);
  std::uint64_t before = 0;
  for (const std::size_t state : {0U, 2U}) {
    if (state > 0) file.become(state);
    (void)measured(lines, tree::StatDepth::Listing);  // what describes the dataset is read
    Gate gate;
    file.source->on_read = [&] { gate.pass(); };
    auto reader = std::async(std::launch::async, [&] {
      gate.arm({}, 1);
      return measured(lines, tree::StatDepth::Size);
    });
    EXPECT_TRUE(gate.wait_until_reached());
    auto listing = std::async(std::launch::async, [&] { return measured(lines, tree::StatDepth::Listing); });
    const bool waits = listing.wait_for(std::chrono::seconds(10)) == std::future_status::timeout;
    gate.open();
    EXPECT_FALSE(waits) << "state " << state;
    const tree::NodeStat listed = listing.get();
    EXPECT_EQ(listed.size, before) << "what was measured so far";
    EXPECT_FALSE(listed.complete);
    (void)reader.get();
    file.source->on_read = nullptr;
    before = text_of(*newest(lines)).size();
    EXPECT_GT(before, 0U);
  }
}

TEST(FollowedBytes, AllWhoAskAtOnceAreToldTheSize) {
  Written file("rewrites_and_appends");
  ASSERT_EQ(file.states.size(), 7U);
  const auto data = file.dataset("d");
  for (int round = 0; round < 50; ++round) {
    tree::FollowedBytes lines(*data, {&view::view_by_suffix(".csv")});
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i)
      clients.emplace_back([&] {
        const tree::NodeStat stat = measured(lines, tree::StatDepth::Size);
        EXPECT_EQ(stat.size, 36U);
        EXPECT_TRUE(stat.complete);
      });
    for (std::thread& client : clients) client.join();
  }
}

// ---- reads while the next state begins

class BytesNode final : public tree::Node {
 public:
  BytesNode() : Node(tree::NodeKey()) { set_id(7); }
  Result<tree::NodeStat> stat(tree::StatDepth, RequestBudget&) override { return tree::NodeStat(); }
};

// The page of a read that a later state overtook is in no delta that was published: it is dropped by itself.
TEST(OpenBytes, AReadThatALaterStateOvertookIsDropped) {
  Written file("rewrites_and_appends");
  ASSERT_EQ(file.states.size(), 7U);
  file.become(1);
  const auto kernel = std::make_shared<DelayedPages>();
  file.file->context().open_nodes->set_kernel(kernel);
  const auto data = file.dataset("d");
  tree::FollowedBytes bytes(*data, {&view::view_by_suffix("")});
  RequestBudget budget;
  const auto open = tree::open_bytes(std::make_shared<BytesNode>(), bytes, budget);
  ASSERT_TRUE(open) << open.error().text();
  bool overtaken = false;
  file.source->on_read = [&] {
    if (std::exchange(overtaken, true)) return;
    file.become(3);
    EXPECT_TRUE(newest(bytes));
    kernel->asked.clear();
  };
  dataset::Pieces pieces;
  EXPECT_TRUE((*open)->read(8, 8, pieces, budget));
  ASSERT_TRUE(overtaken);
  EXPECT_EQ(kernel->asked, (std::vector<Ranges>{Ranges{{8, 16}}}));
  dataset::Pieces again;
  EXPECT_TRUE((*open)->read(8, 8, again, budget));
  EXPECT_EQ(kernel->asked.size(), 1U) << "of the newest state";
}

}  // namespace
}  // namespace h5mount::test

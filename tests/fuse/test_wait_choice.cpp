#include "../../src/fuse/loop/wait_choice.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace h5mount::fuse {
namespace {

using std::chrono::microseconds;
constexpr std::uint32_t kWindow = WaitChoice::kWindow, kForget = WaitChoice::kForget;

// A client whose requests come at intervals that depend on how they are waited for.
struct Client {
  WaitChoice choice;
  std::array<microseconds, 3> interval;  // of Sleep, Follow and Poll
  WaitChoice::Time now{};
  std::map<Wait, std::uint32_t> used{};

  Wait request(pid_t client = 7) {
    ++used[choice.way()];
    now += interval[static_cast<std::size_t>(choice.way())];
    return choice.received(client, now);
  }
  void requests(std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) request();
  }
};

TEST(WaitChoice, EachWayIsTriedAndTheQuickestKept) {
  const std::array<std::array<int, 3>, 4> costs{{{60, 20, 40}, {20, 60, 40}, {60, 80, 30}, {60, 60, 60}}};
  const std::array<Wait, 4> quickest{Wait::Follow, Wait::Sleep, Wait::Poll, Wait::Sleep};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    Client client{
        .choice = WaitChoice(),
        .interval = {microseconds(costs[i][0]), microseconds(costs[i][1]), microseconds(costs[i][2])}};
    client.requests(1 + kWindow);
    EXPECT_EQ(client.choice.way(), Wait::Follow);
    client.requests(kWindow);
    EXPECT_EQ(client.choice.way(), Wait::Poll);
    client.requests(kWindow);
    EXPECT_EQ(client.choice.way(), quickest[i]) << i;
    client.used.clear();
    client.requests(kWindow * (kForget - 3) - 1);
    EXPECT_EQ(client.used.size(), 1U) << i;
  }
}

TEST(WaitChoice, PollingHasToGainATenth) {
  for (const int poll : {46, 44}) {
    Client client{.choice = WaitChoice(),
                  .interval = {microseconds(50), microseconds(60), microseconds(poll)}};
    client.requests(1 + 3 * kWindow);
    EXPECT_EQ(client.choice.way(), poll == 44 ? Wait::Poll : Wait::Sleep);
  }
}

TEST(WaitChoice, AWayThatHasBecomeSlowerIsLeft) {
  Client client{.choice = WaitChoice(), .interval = {microseconds(60), microseconds(20), microseconds(40)}};
  client.requests(1 + 3 * kWindow);
  EXPECT_EQ(client.choice.way(), Wait::Follow);
  client.interval[1] = microseconds(90);
  client.requests(kWindow);
  EXPECT_EQ(client.choice.way(), Wait::Poll);
}

TEST(WaitChoice, AWayThatHasBecomeQuickerIsFoundLater) {
  Client client{.choice = WaitChoice(), .interval = {microseconds(60), microseconds(90), microseconds(40)}};
  client.requests(1 + 3 * kWindow);
  EXPECT_EQ(client.choice.way(), Wait::Poll);
  client.interval[1] = microseconds(20);
  client.requests(kWindow * (kForget + 3));
  EXPECT_EQ(client.choice.way(), Wait::Follow);
}

TEST(WaitChoice, AFewLongIntervalsDecideNothing) {
  Client client{.choice = WaitChoice(), .interval = {microseconds(60), microseconds(20), microseconds(40)}};
  client.request();
  for (std::uint32_t i = 0; i < 3 * kWindow; ++i) {
    if (i % 3 == 0) client.now += microseconds(100'000);
    client.request();
  }
  EXPECT_EQ(client.choice.way(), Wait::Follow);
}

TEST(WaitChoice, ClientsInTurnOrWithoutANameAreWaitedForAsleep) {
  WaitChoice choice;
  WaitChoice::Time now{};
  for (std::uint32_t i = 0; i < 10 * kWindow; ++i)
    EXPECT_EQ(choice.received(i % 2 == 0 ? 7 : 8, now += microseconds(10)), Wait::Sleep);
  for (std::uint32_t i = 0; i < 10 * kWindow; ++i)
    EXPECT_EQ(choice.received(0, now += microseconds(10)), Wait::Sleep);
}

TEST(WaitChoice, RequestsOfNoClientEndNoRunAndAnotherClientDoes) {
  Client client{.choice = WaitChoice(), .interval = {microseconds(60), microseconds(90), microseconds(40)}};
  client.requests(1 + 3 * kWindow);
  EXPECT_EQ(client.request(WaitChoice::kNobody), Wait::Poll);
  EXPECT_EQ(client.request(), Wait::Poll);
  EXPECT_EQ(client.request(8), Wait::Sleep);
}

TEST(WaitChoice, OneProcessorAloneIsNotPolledOn) {
  Client client{.choice = WaitChoice(false),
                .interval = {microseconds(60), microseconds(50), microseconds(1)}};
  client.requests(2 * kForget * kWindow);
  EXPECT_EQ(client.used.count(Wait::Poll), 0U);
  EXPECT_EQ(client.choice.way(), Wait::Follow);
}

}  // namespace
}  // namespace h5mount::fuse

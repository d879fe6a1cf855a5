#include "../../src/fuse/loop/client_affinity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace h5mount::fuse {
namespace {

cpu_set_t allowed() {
  cpu_set_t out;
  CPU_ZERO(&out);
  EXPECT_EQ(::sched_getaffinity(0, sizeof out, &out), 0);
  return out;
}

int last_allowed() {
  const cpu_set_t all = allowed();
  int last = -1;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &all)) last = i;
  return last;
}

void follow(ClientAffinity& affinity, pid_t client, std::uint32_t times) {
  for (std::uint32_t i = 0; i < times; ++i) affinity.follow(client);
}

// In a thread of its own, so that a failure binds no other test.
void in_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

TEST(ClientAffinity, AThreadIsBoundToItsClientsProcessorUntilReleased) {
  in_thread([] {
    const cpu_set_t before = allowed();
    const int processor = last_allowed();
    int looks = 0;
    ClientAffinity affinity([&](pid_t client) -> std::optional<int> {
      ++looks;
      EXPECT_EQ(client, 7);
      return processor;
    });
    EXPECT_FALSE(affinity.bound());
    affinity.follow(7);
    EXPECT_TRUE(affinity.bound());
    cpu_set_t now = allowed();
    EXPECT_EQ(CPU_COUNT(&now), 1);
    EXPECT_TRUE(CPU_ISSET(processor, &now));
    follow(affinity, 7, ClientAffinity::kRecheck);
    EXPECT_EQ(looks, 2);
    affinity.release();
    EXPECT_FALSE(affinity.bound());
    now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
  });
}

TEST(ClientAffinity, ItFollowsAClientThatMoved) {
  in_thread([] {
    const cpu_set_t before = allowed();
    if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one processor only";
    int processor = 0;
    while (!CPU_ISSET(processor, &before)) ++processor;
    ClientAffinity affinity([&](pid_t) -> std::optional<int> { return processor; });
    affinity.follow(7);
    EXPECT_EQ(::sched_getcpu(), processor);
    processor = last_allowed() == processor ? last_allowed() : -1;
    for (int i = CPU_SETSIZE; i-- > 0 && processor < 0;)
      if (CPU_ISSET(i, &before)) processor = i;
    follow(affinity, 7, ClientAffinity::kRecheck);
    EXPECT_EQ(::sched_getcpu(), processor);
    affinity.release();
    const cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
  });
}

TEST(ClientAffinity, AnotherClientIsLookedUpAtOnce) {
  in_thread([] {
    ClientAffinity affinity([](pid_t client) -> std::optional<int> {
      return client == 7 ? std::optional(last_allowed()) : std::nullopt;
    });
    affinity.follow(7);
    EXPECT_TRUE(affinity.bound());
    affinity.follow(8);
    EXPECT_FALSE(affinity.bound());
  });
}

TEST(ClientAffinity, AProcessorThatIsNotAllowedOrNotKnownBindsNothing) {
  in_thread([] {
    const cpu_set_t before = allowed();
    std::optional<int> processor = std::nullopt;
    ClientAffinity affinity([&](pid_t) { return processor; });
    affinity.follow(7);
    EXPECT_FALSE(affinity.bound());
    for (const int wrong : {-1, CPU_SETSIZE, CPU_SETSIZE - 1}) {
      processor = wrong;
      affinity.release();
      affinity.follow(7);
      EXPECT_FALSE(affinity.bound()) << wrong;
    }
    const cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
  });
}

TEST(ClientAffinity, TheProcessorOfAThread) {
  in_thread([] {
    const int processor = last_allowed();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(ClientAffinity::processor_of_thread(::gettid()), processor);
  });
  EXPECT_EQ(ClientAffinity::processor_of_thread(-1), std::nullopt);
}

}  // namespace
}  // namespace h5mount::fuse

// Sources that hang while they are looked at or opened.
#include <atomic>
#include <latch>
#include <thread>

#include "server_fixture.h"

namespace h5mount::serve {
namespace {

class HangingSource : public ServerTest {
 protected:
  // Two sources: `sound`, and `hangs`, whose state and opening wait as long as they are told to.
  void start_two() {
    std::vector<Source> sources;
    sources.push_back(source.source());
    sources.back().name = "sound";
    Source hanging = source.source();
    hanging.name = "hangs";
    hanging.opened.state = [this, state = hanging.opened.state] {
      ++looked;
      if (state_hangs) released.wait();
      SourceState out = state();
      out.current = out.current && !replaced;
      return out;
    };
    hanging.open = [this, open = hanging.open] {
      ++opened;
      const int now = ++opening;
      if (now > most_opening) most_opening = now;
      if (open_hangs) released.wait();
      --opening;
      return open();
    };
    sources.push_back(std::move(hanging));
    start_with(std::move(sources));
  }
  std::vector<std::unique_ptr<Client>> many_clients(int count) const {
    std::vector<std::unique_ptr<Client>> out;
    for (int i = 0; i < count; ++i) {
      out.push_back(std::make_unique<Client>(server->url()));
      out.back()->get("/hangs/x", "Connection: close\r\n");
    }
    return out;
  }
  void TearDown() override {
    if (!released.try_wait()) released.count_down();
    ServerTest::TearDown();
  }

  std::atomic<bool> state_hangs = false, open_hangs = false, replaced = false;
  std::atomic<int> looked = 0, opened = 0, opening = 0, most_opening = 0;
  std::latch released{1};
};

TEST_F(HangingSource, ThatIsLookedAtHoldsUpNobodyElse) {
  start_two();
  state_hangs = true;
  auto clients = many_clients(100);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(get("/sound/x")), 200U);
  for (int tries = 0; tries < 400 && looked < 100; ++tries) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(looked, 100);  // none waits for another one
  EXPECT_EQ(status_of(get("/sound/x")), 200U);
  released.count_down();
  for (auto& client : clients) EXPECT_EQ(status_of(client->all()), 200U);
}

TEST_F(HangingSource, ThatIsOpenedIsOpenedOnceAndHoldsUpNobodyElse) {
  start_two();
  replaced = true;
  open_hangs = true;
  auto clients = many_clients(60);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(get("/sound/x")), 200U);
  for (int tries = 0; tries < 400 && looked == 0; ++tries) std::this_thread::sleep_for(milliseconds(50));
  replaced = false;
  released.count_down();
  for (auto& client : clients) EXPECT_EQ(status_of(client->all()), 200U);
  EXPECT_EQ(most_opening, 1);
  EXPECT_LE(opened, 2);
}

}  // namespace
}  // namespace h5mount::serve

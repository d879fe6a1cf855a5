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
  void start_two(const ServerOptions& options = {}) {
    std::vector<SourceToServe> sources;
    sources.push_back(source.source());
    sources.back().name = "sound";
    SourceToServe hanging = source.source();
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
    start_with(std::move(sources), options);
  }
  std::vector<std::unique_ptr<Client>> many_clients(int count) const {
    std::vector<std::unique_ptr<Client>> out;
    for (int i = 0; i < count; ++i) {
      out.push_back(std::make_unique<Client>(server->url()));
      out.back()->get("/hangs/x", "Connection: close\r\n");
    }
    return out;
  }
  // The server ends first: a source that is being opened uses what follows here.
  void TearDown() override {
    if (!released.try_wait()) released.count_down();
    server.reset();
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

TEST_F(HangingSource, IsNamedInTheFormOfTheAnswerWhereAnotherRequestsOpeningTakesTooLong) {
  start_two({.cors_origin = "*", .work_deadline = milliseconds(300)});
  replaced = true;
  open_hangs = true;
  const Client first(server->url());  // its opening is the one that the others wait for
  first.get("/hangs/x");
  for (int tries = 0; tries < 400 && opened == 0; ++tries) std::this_thread::sleep_for(milliseconds(50));
  Client of_api(server->url()), of_file(server->url());
  of_api.get("/api/meta?file=hangs", "Connection: close\r\n");
  of_file.get("/hangs/x", "Connection: close\r\n");
  const std::string json = of_api.all(), text = of_file.all();
  EXPECT_EQ(status_of(json), 504U) << json;
  EXPECT_EQ(field(json, "Content-Type"), "application/json");
  EXPECT_NE(json.find("{\"message\":\"it took too long"), std::string::npos) << json;
  EXPECT_EQ(status_of(text), 504U) << text;
  EXPECT_EQ(field(text, "Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(field(json, "Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(field(text, "X-Content-Type-Options"), "nosniff");
}

TEST_F(HangingSource, IsAnErrorOfS3WhereAnotherRequestsOpeningTakesTooLong) {
  start_two({.s3 = S3Options{}, .work_deadline = milliseconds(300)});
  replaced = true;
  open_hangs = true;
  const Client first(server->url());
  first.get("/hangs/x");
  for (int tries = 0; tries < 400 && opened == 0; ++tries) std::this_thread::sleep_for(milliseconds(50));
  Client late(server->url());
  late.get("/hangs/x", "Connection: close\r\n");
  const std::string xml = late.all();
  EXPECT_EQ(status_of(xml), 504U) << xml;
  EXPECT_NE(xml.find("<Error><Code>"), std::string::npos) << xml;
  EXPECT_NE(field(xml, "x-amz-request-id"), "");
}

}  // namespace
}  // namespace h5mount::serve

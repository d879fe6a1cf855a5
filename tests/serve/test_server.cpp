// The running server over sockets, in this process, with short deadlines.
#include "server_fixture.h"

namespace h5mount::serve {
namespace {

TEST_F(ServerTest, MalformedRequestsEndTheConnectionOrAreRefused) {
  start();
  const std::string host = "Host: localhost\r\n\r\n";
  for (const std::string& request :
       {std::string("\r\n\r\n\r\nXX\r\n\r\n"), std::string("GET\r\n\r\n"), "GET  HTTP/1.1\r\n" + host,
        "GET x HTTP/1.1\r\n" + host, "GET /%zz HTTP/1.1\r\n" + host, "GET /a%00b HTTP/1.1\r\n" + host,
        "GET /a%2Fb HTTP/1.1\r\n" + host, "GET / HTTP/9.9\r\n" + host, std::string("GET / HTTP/1.1\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: a\r\n" + host, "POST / HTTP/1.1\r\nContent-Length: 3\r\n" + host + "abc",
        "DELETE /x HTTP/1.1\r\n" + host,
        "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n" + host,
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + host + "5\r\nhello\r\n0\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\n" + host, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
        std::string(100, '\0') + "\r\n\r\n", "GET /../../etc/passwd HTTP/1.1\r\n" + host,
        "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + host}) {
    const std::string said = answer(request);
    const unsigned status = status_of(said);
    EXPECT_TRUE(said.empty() || said.starts_with("HTTP/1.0 ") || (status >= 400 && status < 600))
        << request << "\n"
        << said;
    EXPECT_EQ(said.find("root:"), std::string::npos);
  }
  EXPECT_EQ(status_of(get("/x")), 200U);
}

// What a lenient proxy takes for one message must not be two to this server.
TEST_F(ServerTest, NamesOfFieldsThatAreNoTokensEndTheConnection) {
  start();
  const std::string second = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& name : {std::string("Content-Length :"), std::string("Transfer-Encoding\t:"),
                                  std::string("X(y):"), std::string("X Y:"), std::string("\xff:")}) {
    Client client(server->url());
    client.send("GET /x HTTP/1.1\r\nHost: localhost\r\n" + name + " " + std::to_string(second.size()) +
                "\r\n\r\n" + second);
    const std::string said = client.all(milliseconds(5000));
    EXPECT_TRUE(said.empty() || status_of(said) == 400) << name << "\n" << said;
    EXPECT_TRUE(client.closed()) << name;
    EXPECT_EQ(said.find("HTTP/1.1", 1), std::string::npos) << name << "\n" << said;
  }
}

TEST_F(ServerTest, ANulInTheTargetIsRefused) {
  start();
  for (const std::string& target :
       {std::string("/x\0y", 4), std::string("/x\0", 3), std::string("/x?a\0b", 6)}) {
    const std::string said = answer("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(status_of(said), 400U) << said;
  }
  for (const char* target : {"/x", "/x?a", "/x?", "/x?a=b&c", "http://localhost/x", "/x?%00"})
    EXPECT_EQ(status_of(get(target)), 200U) << target;
}

TEST_F(ServerTest, LoopbackAddressesOfEverySpellingCheckTheHost) {
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    const bool six = std::string(address).find(':') != std::string::npos;
    if (six && !has_six()) continue;
    start(ServerOptions{.address = address});
    const std::string host = six ? "[" + std::string(address) + "]" : address;
    EXPECT_EQ(status_of(answer_at(address, "GET /x HTTP/1.1\r\nHost: " + host + "\r\n\r\n")), 200U)
        << address;
    const std::string said = answer_at(address, "GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    EXPECT_EQ(status_of(said), 421U) << address;
    EXPECT_NE(said.find("proxy_set_header Host"), std::string::npos) << said;
  }
}

TEST_F(ServerTest, HeadersOfAnySizeAreBounded) {
  start();
  EXPECT_EQ(
      status_of(answer("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n")) / 100,
      4U);
  std::string bomb = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 20'000; ++i) bomb += "X-Field-" + std::to_string(i) + ": value\r\n";
  EXPECT_EQ(status_of(answer(bomb + "\r\n")) / 100, 4U);
  EXPECT_EQ(status_of(answer("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(1'000'000, 'b') +
                             "\r\n\r\n")) /
                100,
            4U);
  std::string many = "bytes=0-0";
  for (int i = 1; i < 1500; ++i) many += "," + std::to_string(2 * i) + "-" + std::to_string(2 * i);
  EXPECT_EQ(status_of(get("/x", "Range: " + many + "\r\n")), 200U);
}

TEST_F(ServerTest, AClientThatSendsByteByByteEndsAtTheDeadline) {
  start({.header_deadline = milliseconds(600)});
  Client client(server->url());
  const auto from = steady_clock::now();
  const std::string request = "GET /x HTTP/1.1\r\nHost: localhost\r\nX: ";
  bool open = client.send(request);
  // Each byte arrives well before a deadline that would begin anew with it.
  while (open && steady_clock::now() - from < std::chrono::seconds(15)) {
    open = client.send("a");
    const std::string said = client.all(milliseconds(50));
    if (client.closed()) break;
    EXPECT_EQ(said, "");
  }
  EXPECT_TRUE(client.closed() || !open);
  EXPECT_GE(steady_clock::now() - from, milliseconds(500));
}

TEST_F(ServerTest, AConnectionThatWaitsForTheNextRequestEndsAtTheDeadline) {
  start({.header_deadline = milliseconds(500)});
  Client client(server->url());
  client.get("/x", "Range: bytes=0-3\r\n");
  EXPECT_EQ(status_of(client.all(milliseconds(200))), 206U);
  EXPECT_FALSE(client.closed());
  EXPECT_EQ(client.all(milliseconds(15000)), "");
  EXPECT_TRUE(client.closed());
}

TEST_F(ServerTest, AClientThatTakesNothingEndsAtTheDeadlineAndOthersAreServed) {
  for (const char* path : {"/large", "/stored"}) {  // decoded; sent from the file's own pages
    start({.stall_deadline = milliseconds(600)});
    Client slow(server->url(), 4096);
    slow.get(path);
    EXPECT_GT(slow.some(), 0U) << path;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(get("/x")), 200U);
    std::this_thread::sleep_for(milliseconds(3000));
    // What the kernel holds still comes; then the end, long before the end of the file.
    EXPECT_LT(slow.all().size(), kLarge / 2) << path;
    EXPECT_TRUE(slow.closed()) << path;
  }
}

TEST_F(ServerTest, ThousandsOfConnectionsAreServedOrWait) {
  start({.header_deadline = milliseconds(300), .connections = 200});
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 3000; ++i) {
    auto client = std::make_unique<Client>(server->url());
    if (!client->connected()) break;  // the limit of descriptors of the test
    idle.push_back(std::move(client));
  }
  EXPECT_GT(idle.size(), 400U);
  // All connections that are accepted say nothing and end at the deadline; then this one is served.
  std::string said;
  for (int tries = 0; tries < 60 && status_of(said) != 200; ++tries) said = get("/x");
  EXPECT_EQ(status_of(said), 200U);
}

TEST_F(ServerTest, KeptConnectionsDoNotKeepOthersOut) {
  start({.connections = 40});
  std::vector<std::unique_ptr<Client>> kept;
  for (int i = 0; i < 40; ++i) {
    kept.push_back(std::make_unique<Client>(server->url()));
    kept.back()->get("/x", "Range: bytes=0-3\r\n");
  }
  std::string said;
  for (int tries = 0; tries < 10 && status_of(said) != 200; ++tries) said = get("/x");
  EXPECT_EQ(status_of(said), 200U);
}

TEST_F(ServerTest, ManyClientsAtOnceGetTheirBytes) {
  start();
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const int first = (t * 31 + i * 7) % 900;
        const std::string said = get("/x", "Range: bytes=" + std::to_string(first * 4) + "-" +
                                               std::to_string(first * 4 + 39) + "\r\n");
        std::int32_t value = -1;
        if (said.size() > 40) std::memcpy(&value, said.data() + said.size() - 40, sizeof value);
        if (status_of(said) == 206 && value == first) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 16 * 30);
}

TEST_F(ServerTest, DrainingSendsWhatWasBegunAndAcceptsNothingNew) {
  start();
  Client running(server->url(), 4096), idle(server->url());
  running.get("/large");
  std::string head(1, '\0');
  ASSERT_GT(running.some(), 0U);
  EXPECT_FALSE(server->drain(milliseconds(300), Server::Ending::AtOnce));  // the client has not taken it all
  EXPECT_FALSE(Client(server->url()).connected());
  EXPECT_EQ(idle.all(), "");
  EXPECT_TRUE(idle.closed());
  std::thread taker([&] { EXPECT_GT(running.all().size() + 512, kLarge); });
  EXPECT_TRUE(server->drain(milliseconds(60'000), Server::Ending::AtOnce));
  taker.join();
  EXPECT_TRUE(running.closed());
}

TEST_F(ServerTest, TagsFollowTheVersionOfTheSource) {
  start();
  const std::string first = field(get("/x"), "ETag");
  EXPECT_TRUE(first.size() > 2 && first.starts_with('"')) << first;
  EXPECT_EQ(field(get("/x"), "ETag"), first);
  EXPECT_EQ(status_of(get("/x", "If-None-Match: " + first + "\r\n")), 304U);
  EXPECT_EQ(status_of(get("/x", "Range: bytes=0-3\r\nIf-Range: " + first + "\r\n")), 206U);
  *source.version = 2;
  EXPECT_NE(field(get("/x"), "ETag"), first);
  EXPECT_EQ(status_of(get("/x", "If-None-Match: " + first + "\r\n")), 200U);
  EXPECT_EQ(status_of(get("/x", "Range: bytes=0-3\r\nIf-Range: " + first + "\r\n")), 200U);
  EXPECT_EQ(status_of(get("/x", "If-Match: " + first + "\r\n")), 412U);
}

TEST_F(ServerTest, ADownloadGoesOnWhenTheSourceIsReplaced) {
  start();
  Client client(server->url(), 4096);
  client.get("/large", "Connection: close\r\n");
  ASSERT_GT(client.some(), 0U);
  *source.current = false;
  EXPECT_EQ(status_of(get("/x")), 200U);
  EXPECT_TRUE(*source.current);  // it was opened again
  EXPECT_GT(client.all().size() + 512, kLarge);
}

TEST_F(ServerTest, AnAddressThatIsTakenIsAnError) {
  start();
  std::vector<SourceToServe> sources;
  sources.push_back(source.source());
  const std::string url = server->url();
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  const auto second = Server::start({.port = port}, std::move(sources));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find("in use"), std::string::npos) << second.error().text();
}

}  // namespace
}  // namespace h5mount::serve

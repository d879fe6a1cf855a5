#include "request_work.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "h5mount/base/limits.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::serve {
namespace {

TEST(RequestWork, IsBoundedAndWhatWasSentPaysForMore) {
  RequestWork work;
  EXPECT_TRUE(work.budget().spend(limits::kRequestSteps));
  EXPECT_FALSE(work.budget().spend(1000));
  work.gave(1 << 20);
  EXPECT_TRUE(work.budget().spend(20 << 20));
  EXPECT_FALSE(work.budget().spend(limits::kRequestSteps));
}

TEST(RequestWork, EndsWhenTheClientGoes) {
  std::array<int, 2> pair = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd server(pair[0]);
  UniqueFd client(pair[1]);
  RequestWork work(server.get());
  EXPECT_TRUE(work.budget().check());
  client = UniqueFd();
  const Status gone = work.budget().check();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), ErrorCode::Interrupted);
  EXPECT_FALSE(work.timed_out());
}

}  // namespace
}  // namespace h5mount::serve

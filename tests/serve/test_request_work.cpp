#include "http/request_work.h"

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

TEST(RequestWork, AQuickJobGivesUpWhereItTurnsOutToBeLong) {
  RequestWork quick;
  quick.begin_quick_job();
  EXPECT_TRUE(quick.budget().check());
  EXPECT_TRUE(quick.end_quick_job());
  note_long_work();  // of something else
  EXPECT_TRUE(quick.budget().check());
  RequestWork noted, late;
  noted.begin_quick_job();
  note_long_work();
  const Status ended = noted.budget().spend(1);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::Interrupted);
  EXPECT_FALSE(noted.end_quick_job());
  late.begin_quick_job();
  while (late.budget().check()) {
  }
  EXPECT_FALSE(late.end_quick_job());
  EXPECT_FALSE(late.timed_out());
}

}  // namespace
}  // namespace h5mount::serve

// What a command tells of an error that a user can do something about, and that it is told once.
#include <gtest/gtest.h>

#include <cerrno>

#include "open/advice.h"

namespace h5mount::cli {
namespace {

TEST(CommandAdvice, WhatHelpsBeforeTheCommandIsRunAgainIsTold) {
  EXPECT_NE(advice_for_command(io_error(ENOSPC, "a.h5")).find("make room"), std::string_view::npos);
  EXPECT_NE(advice_for_command(io_error(EROFS, "a.h5")).find("another file system"), std::string_view::npos);
  EXPECT_NE(advice_for_command({ErrorCode::Stale, "x"}).find("nobody writes"), std::string_view::npos);
  EXPECT_NE(advice_for_command(io_error(EIO, "a.h5")).find("dmesg"), std::string_view::npos);
  EXPECT_EQ(advice_for_command(io_error(EPIPE, "standard output")), "");
}

TEST(CommandAdvice, EachIsToldOnce) {
  AdviceOnce advice;
  EXPECT_FALSE(advice.next({ErrorCode::FilterFailed, "one chunk"}).empty());
  EXPECT_TRUE(advice.next({ErrorCode::FilterFailed, "another chunk"}).empty());
  EXPECT_FALSE(advice.next({ErrorCode::OutOfMemory, "a chunk"}).empty());
}

}  // namespace
}  // namespace h5mount::cli

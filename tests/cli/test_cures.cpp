// What is told of an error that a user can do something about, and that it is told once.
#include <gtest/gtest.h>

#include <cerrno>

#include "cures.h"

namespace h5mount::cli {
namespace {

TEST(Cures, EveryKindOfErrorThatHasOneTellsIt) {
  EXPECT_NE(cure_of(io_error(ENOSPC, "a.h5")).find("make room"), std::string_view::npos);
  EXPECT_NE(cure_of(io_error(EIO, "a.h5")).find("dmesg"), std::string_view::npos);
  EXPECT_NE(cure_of(io_error(EMFILE, "a.h5")).find("ulimit -n"), std::string_view::npos);
  EXPECT_NE(cure_of(io_error(EROFS, "a.h5")).find("another file system"), std::string_view::npos);
  EXPECT_NE(cure_of({ErrorCode::OutOfMemory, "x"}).find("cache_size="), std::string_view::npos);
  EXPECT_NE(cure_of({ErrorCode::Stale, "x"}).find("nobody writes"), std::string_view::npos);
  EXPECT_NE(cure_of({ErrorCode::Internal, "x"}).find("report"), std::string_view::npos);
  EXPECT_NE(cure_of({ErrorCode::BudgetExceeded, "x"}).find("LIMITS"), std::string_view::npos);
}

TEST(Cures, WhereNothingHelpsNothingIsTold) {
  EXPECT_EQ(cure_of(io_error(EPIPE, "standard output")), "");
  EXPECT_EQ(cure_of({ErrorCode::NotFound, "x"}), "");
  EXPECT_EQ(cure_of({ErrorCode::ChecksumMismatch, "x"}), "");
  EXPECT_EQ(cure_of({ErrorCode::Interrupted, "x"}), "");
}

TEST(Cures, DamageThatSalvageCanCureNamesItsOption) {
  const auto tells = [](const Error& error, SalvageMode mode, std::string_view words) {
    const std::string_view cure = cure_of(error, mode);
    return words.empty() ? cure.empty() : cure.find(words) != std::string_view::npos;
  };
  for (const std::string_view structure : {"Superblock", "ObjectHeaderContinuation", "SymbolTableNode",
                                           "FixedArrayDataBlockPage", "BTree2LeafNode"}) {
    const Error error(ErrorCode::ChecksumMismatch, structure, "checksum", 96);
    EXPECT_TRUE(tells(error, SalvageMode::Off, "-o salvage shows")) << structure;
    EXPECT_TRUE(tells(error, SalvageMode::Errors, "")) << structure;
  }
  const Error cut(ErrorCode::Truncated, "Chunk", "address", 96);
  EXPECT_TRUE(tells(cut, SalvageMode::Off, "-o salvage=fill"));
  EXPECT_TRUE(tells(cut, SalvageMode::Errors, "-o salvage=fill"));
  EXPECT_TRUE(tells(cut, SalvageMode::Fill, ""));
  EXPECT_TRUE(tells({ErrorCode::FilterFailed, "a chunk"}, SalvageMode::Errors, "-o salvage=fill"));
  // What it does not look for, what is sound and only too large, and what has no place in a file.
  EXPECT_TRUE(
      tells({ErrorCode::BadSignature, "GlobalHeapCollection", "signature", 96}, SalvageMode::Off, ""));
  EXPECT_TRUE(tells({ErrorCode::InvalidValue, "AttributeMessage", "version", 96}, SalvageMode::Off, ""));
  EXPECT_TRUE(tells({ErrorCode::LimitExceeded, "LocalHeap", "bytes", 96}, SalvageMode::Off, "LIMITS"));
  EXPECT_TRUE(tells({ErrorCode::InvalidValue, "no slice"}, SalvageMode::Off, ""));
}

TEST(Cures, EachIsToldOnce) {
  Cures cures;
  EXPECT_FALSE(cures.next({ErrorCode::FilterFailed, "one chunk"}).empty());
  EXPECT_TRUE(cures.next({ErrorCode::FilterFailed, "another chunk"}).empty());
  EXPECT_FALSE(cures.next({ErrorCode::OutOfMemory, "a chunk"}).empty());
}

}  // namespace
}  // namespace h5mount::cli

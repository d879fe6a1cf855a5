// Gaps in the heap are given back to the system.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "../../src/cache/heap_trim.h"
#include "h5mount/base/limits.h"
#include "support/sanitized.h"

namespace h5mount::cache {
namespace {

std::size_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:") {
      std::size_t kib = 0;
      status >> kib;
      return kib << 10;
    }
  return 0;
}

TEST(HeapTrim, FreedMemoryBetweenKeptPiecesGoesBackToTheSystem) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers have a heap of their own";
  constexpr std::size_t kPiece = 64U << 10, kPieces = 1024;
  std::vector<std::unique_ptr<char[]>> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(std::make_unique<char[]>(kPiece));
    std::memset(pieces.back().get(), 1, kPiece);
  }
  for (std::size_t i = 0; i < kPieces; i += 2) pieces[i].reset();
  const std::size_t before = resident_bytes();
  ASSERT_GE(before, kPiece * kPieces) << "malloc gave it back by itself";
  HeapTrim trim;
  trim.note_freed(limits::kTrimAfterFreedBytes - 1);
  EXPECT_GE(resident_bytes(), kPiece * kPieces);
  trim.note_freed(1);
  EXPECT_LT(resident_bytes(), before - kPiece * kPieces / 4);
}

}  // namespace
}  // namespace h5mount::cache

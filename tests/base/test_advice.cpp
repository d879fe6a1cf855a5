// The advice of each error that stands for itself, and that none is told which the process has taken already.
#include <gtest/gtest.h>

#include <cerrno>

#include "h5mount/base/advice.h"
#include "h5mount/base/log.h"

namespace h5mount {
namespace {

bool has(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

std::string_view cure_with(SalvageMode mode, const Error& error) {
  set_salvage_mode(mode);
  const std::string_view out = advice_on(error);
  set_salvage_mode(SalvageMode::Off);
  return out;
}

TEST(Advice, EveryKindOfErrorThatHasOneTellsIt) {
  EXPECT_TRUE(has(advice_on(io_error(EIO, "a.h5")), "dmesg"));
  EXPECT_TRUE(has(advice_on(io_error(EMFILE, "a.h5")), "ulimit -n"));
  EXPECT_TRUE(has(advice_on({ErrorCode::OutOfMemory, "x"}), "cache_size="));
  EXPECT_TRUE(has(advice_on({ErrorCode::Internal, "x"}), "report"));
  EXPECT_TRUE(has(advice_on({ErrorCode::BudgetExceeded, "x"}), "LIMITS"));
}

TEST(Advice, WhereNothingHelpsNothingIsTold) {
  EXPECT_EQ(advice_on(io_error(EPIPE, "standard output")), "");
  EXPECT_EQ(advice_on({ErrorCode::Io, "a server that does not answer"}), "");
  EXPECT_EQ(advice_on({ErrorCode::NotFound, "x"}), "");
  EXPECT_EQ(advice_on({ErrorCode::ChecksumMismatch, "x"}), "");
  EXPECT_EQ(advice_on({ErrorCode::Interrupted, "x"}), "");
  EXPECT_EQ(text_with_advice({ErrorCode::NotFound, "x"}), "x");
}

TEST(Advice, DamageThatSalvageCanCureNamesItsOption) {
  for (const std::string_view structure : {"Superblock", "ObjectHeaderContinuation", "SymbolTableNode",
                                           "FixedArrayDataBlockPage", "BTree2LeafNode"}) {
    const Error error(ErrorCode::ChecksumMismatch, structure, "checksum", 96);
    EXPECT_TRUE(has(cure_with(SalvageMode::Off, error), "-o salvage shows")) << structure;
    EXPECT_EQ(cure_with(SalvageMode::Errors, error), "") << structure;
  }
  const Error cut(ErrorCode::Truncated, "Chunk", "address", 96);
  EXPECT_TRUE(has(cure_with(SalvageMode::Off, cut), "-o salvage=fill"));
  EXPECT_TRUE(has(cure_with(SalvageMode::Errors, cut), "-o salvage=fill"));
  EXPECT_EQ(cure_with(SalvageMode::Fill, cut), "");
  const Error chunk(ErrorCode::FilterFailed, "a chunk");
  EXPECT_TRUE(has(cure_with(SalvageMode::Errors, chunk), "-o salvage=fill"));
  EXPECT_FALSE(has(cure_with(SalvageMode::Fill, chunk), "salvage"));
  // A bad sector: the copy of the file is the better advice.
  const Error data = io_error(EIO, "reading f.h5"), header = data.of("ObjectHeader", "bytes", 96);
  EXPECT_TRUE(has(cure_with(SalvageMode::Off, header), "dmesg"));
  EXPECT_TRUE(has(cure_with(SalvageMode::Off, header), "-o salvage shows"));
  EXPECT_FALSE(has(cure_with(SalvageMode::Errors, header), "salvage"));
  EXPECT_FALSE(has(cure_with(SalvageMode::Off, data), "salvage"));
  EXPECT_TRUE(has(header.text(), "ObjectHeader.bytes at 0x60") && has(header.text(), "Input/output error"));
  EXPECT_TRUE(is_of_range(header));
  EXPECT_FALSE(is_of_range(io_error(ENOMEM, "reading f.h5")));
  // What it does not look for, what is sound and only too large, and what has no place in a file.
  EXPECT_EQ(advice_on({ErrorCode::BadSignature, "GlobalHeapCollection", "signature", 96}), "");
  EXPECT_EQ(advice_on({ErrorCode::InvalidValue, "AttributeMessage", "version", 96}), "");
  EXPECT_TRUE(has(advice_on({ErrorCode::LimitExceeded, "LocalHeap", "bytes", 96}), "LIMITS"));
  EXPECT_EQ(advice_on({ErrorCode::InvalidValue, "no slice"}), "");
}

TEST(Advice, ALineOfTheLogTellsIt) {
  const Error error(ErrorCode::ChecksumMismatch, "FixedArrayHeader", "checksum", 96);
  const std::uint64_t begin = kept_log().end;
  log_error(error);
  const std::string line = read_kept_log(begin, 4096).value_or("");
  EXPECT_TRUE(line.ends_with(error.text() + "; " + std::string(advice_on(error)) + "\n")) << line;
}

}  // namespace
}  // namespace h5mount

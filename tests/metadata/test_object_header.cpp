#include <gtest/gtest.h>

#include "h5mount/metadata/object_header.h"
#include "small_file.h"

namespace h5mount::metadata {
namespace {

using test::ByteBuilder;
using test::chunk2;
using test::header1;
using test::header2;
using test::message1;
using test::message2;
using test::open_small;
using test::superblock;

constexpr std::uint64_t kAt = 64;

ByteBuilder at_64(const ByteBuilder& header) {
  return superblock().at(kAt).add(header);
}

std::string types_of(const ObjectHeader& header) {
  std::string out;
  for (const auto& message : header.messages) out += std::to_string(static_cast<int>(message.type)) + " ";
  return out;
}

TEST(ObjectHeader, Version1WithNilAndContinuation) {
  const ByteBuilder more = message1(0x0D, ByteBuilder().text("comment"));
  const ByteBuilder first = message1(0, ByteBuilder().zeros(8))
                                .add(message1(0x11, ByteBuilder().zeros(16)))
                                .add(message1(0x10, ByteBuilder().u64(512).u64(more.size())));
  const auto small = open_small(at_64(header1(first, 3)).at(512).add(more));
  const auto header = load_object_header(*small.file, kAt);
  ASSERT_TRUE(header) << header.error().text();
  EXPECT_FALSE((*header)->damage);
  EXPECT_EQ((*header)->version, 1);
  EXPECT_EQ((*header)->reference_count, 3U);
  EXPECT_EQ(types_of(**header), "17 13 ");
  EXPECT_EQ(as_text((*header)->find(format::MessageType::ObjectComment)->body), "comment");
  EXPECT_EQ((*header)->find(format::MessageType::ObjectComment)->offset, 520U);
}

TEST(ObjectHeader, Version2FieldsGapAndChecksum) {
  ByteBuilder body;
  body.text("OHDR").u8(2).u8(0x20 | 0x10 | 0x04 | 0x01);
  body.u32(11).u32(22).u32(33).u32(44).u16(8).u16(6);
  const ByteBuilder messages =
      ByteBuilder().u8(0x03).u16(2).u8(0).u16(5).text("ab").zeros(3);  // a gap of three
  body.u16(messages.size()).add(messages).checksum_from(0);
  const auto small = open_small(at_64(body));
  const auto header = load_object_header(*small.file, kAt);
  ASSERT_TRUE(header) << header.error().text();
  EXPECT_FALSE((*header)->damage);
  EXPECT_EQ((*header)->modification_time, 22U);
  ASSERT_EQ((*header)->messages.size(), 1U);
  EXPECT_EQ((*header)->messages[0].creation_order, 5);
  EXPECT_EQ(as_text((*header)->messages[0].body), "ab");
}

TEST(ObjectHeader, ReferenceCountMessage) {
  const auto small = open_small(at_64(header2(message2(0x16, ByteBuilder().u8(0).u32(7)))));
  const auto header = load_object_header(*small.file, kAt);
  ASSERT_TRUE(header);
  EXPECT_EQ((*header)->reference_count, 7U);
}

TEST(ObjectHeader, WrongChecksumOfChunk0) {
  auto bytes = at_64(header2(message2(0x0D, ByteBuilder().text("x")))).bytes();
  bytes.back() ^= std::byte{1};
  const auto file = FileMetadata::open(io::make_memory_source(bytes), {});
  ASSERT_TRUE(file);
  const auto header = load_object_header(**file, kAt);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code(), ErrorCode::ChecksumMismatch);
  EXPECT_EQ(header.error().structure(), "ObjectHeader");
  EXPECT_EQ(header.error().offset(), bytes.size() - 4);
}

TEST(ObjectHeader, WrongChecksumOfAContinuationHidesOnlyIt) {
  const ByteBuilder more = chunk2(message2(0x0D, ByteBuilder().text("far")));
  const ByteBuilder first =
      message2(0x10, ByteBuilder().u64(512).u64(more.size())).add(message2(0x12, ByteBuilder().zeros(8)));
  auto bytes = at_64(header2(first)).at(512).add(more).bytes();
  bytes[513] ^= std::byte{1};
  const auto file = FileMetadata::open(io::make_memory_source(bytes), {});
  const auto header = load_object_header(**file, kAt);
  ASSERT_TRUE(header);
  EXPECT_EQ(types_of(**header), "18 ");
  ASSERT_TRUE((*header)->damage);
  EXPECT_EQ((*header)->damage->code(), ErrorCode::BadSignature);
}

TEST(ObjectHeader, ContinuationLoops) {
  // A continuation that leads to itself, to chunk 0, and into the middle of itself.
  for (const std::uint64_t target : {std::uint64_t{512}, kAt, std::uint64_t{520}}) {
    const ByteBuilder more = message1(0x10, ByteBuilder().u64(target).u64(32)).zeros(16);
    const ByteBuilder first = message1(0x10, ByteBuilder().u64(512).u64(more.size()));
    const auto small = open_small(at_64(header1(first)).at(512).add(more).at(1024));
    const auto header = load_object_header(*small.file, kAt);
    ASSERT_TRUE(header);
    ASSERT_TRUE((*header)->damage) << target;
    EXPECT_EQ((*header)->damage->code(), ErrorCode::Cycle) << target;
  }
}

struct Lie {
  const char* what;
  std::uint64_t address, length;
  ErrorCode code;
  std::uint64_t told_at;
};

TEST(ObjectHeader, LyingContinuations) {
  // The continuation message's body: after the header's ten bytes, the first message (4 + 4) and its own
  // four.
  constexpr std::uint64_t kBody = kAt + 10 + 8 + 4, kLength = kBody + 8;
  for (const Lie& lie :
       {Lie{"undefined", ~std::uint64_t{0}, 64, ErrorCode::OutOfRange, ~std::uint64_t{0}},
        Lie{"beyond the end", 1U << 20, 64, ErrorCode::OutOfRange, 1U << 20},
        Lie{"too long", 512, 1U << 20, ErrorCode::Truncated, 512},
        Lie{"giant", 512, ~std::uint64_t{0} - 9, ErrorCode::LimitExceeded, kLength},
        Lie{"on itself", kAt, 64, ErrorCode::Cycle, kBody},
        Lie{"empty", 512, 0, ErrorCode::InvalidValue, kLength},
        Lie{"address wraps", ~std::uint64_t{0} - 9, 64, ErrorCode::OutOfRange, ~std::uint64_t{0} - 9}}) {
    const ByteBuilder first = message2(0x0D, ByteBuilder().text("kept"))
                                  .add(message2(0x10, ByteBuilder().u64(lie.address).u64(lie.length)));
    const auto small = open_small(at_64(header2(first)).at(1024));
    const auto header = load_object_header(*small.file, kAt);
    ASSERT_TRUE(header) << lie.what;
    EXPECT_EQ(types_of(**header), "13 ") << lie.what;
    ASSERT_TRUE((*header)->damage) << lie.what;
    EXPECT_EQ((*header)->damage->code(), lie.code) << lie.what << ": " << (*header)->damage->text();
    EXPECT_EQ((*header)->damage->offset(), lie.told_at) << lie.what << ": " << (*header)->damage->text();
  }
}

TEST(ObjectHeader, GiantChunk0) {
  const ByteBuilder lying = ByteBuilder().u8(1).u8(0).u16(1).u32(1).u32(0xFFFF'FFF0).u32(0);
  auto small = open_small(at_64(lying).at(4096));
  const Error giant = load_object_header(*small.file, kAt).error();
  EXPECT_EQ(giant.code(), ErrorCode::LimitExceeded);
  EXPECT_EQ(giant.offset(), kAt + 8);
  small = open_small(at_64(ByteBuilder().u8(1).u8(0).u16(1).u32(1).u32(100'000).u32(0)).at(4096));
  EXPECT_EQ(load_object_header(*small.file, kAt).error().code(), ErrorCode::Truncated);
}

TEST(ObjectHeader, MessageOverTheEndKeepsThoseBefore) {
  const ByteBuilder first = message1(0x0D, ByteBuilder().text("comment"))
                                .add(ByteBuilder().u16(0x0C).u16(500).u8(0).zeros(3).zeros(8));
  const auto small = open_small(at_64(header1(first)).at(4096));
  const auto header = load_object_header(*small.file, kAt);
  ASSERT_TRUE(header);
  EXPECT_EQ(types_of(**header), "13 ");
  ASSERT_TRUE((*header)->damage);
  EXPECT_EQ((*header)->damage->code(), ErrorCode::Truncated);
  EXPECT_EQ((*header)->damage->field(), "message.body");
}

TEST(ObjectHeader, UnknownMessages) {
  auto small = open_small(at_64(header2(message2(0x7E, ByteBuilder().text("?"), 0x08))));
  EXPECT_FALSE((*load_object_header(*small.file, kAt))->damage);
  small = open_small(at_64(header2(message2(0x7E, ByteBuilder().text("?"), 0x80))));
  const auto header = load_object_header(*small.file, kAt);
  EXPECT_FALSE((*header)->damage);
  ASSERT_TRUE((*header)->unsupported);
  EXPECT_EQ((*header)->unsupported->code(), ErrorCode::UnsupportedFeature);
  EXPECT_EQ((*header)->unsupported->offset(), kAt + 10);  // of the type
}

// Every type that a reader does not know, and none that it knows.
TEST(ObjectHeader, WhatMustBeUnderstood) {
  for (const unsigned type : {0x09U, 0x19U, 0x7EU, 0xFFU, 0x100U, 0xFFFFU})
    EXPECT_TRUE(format::must_be_understood(static_cast<std::uint16_t>(type), 0x80)) << type;
  for (unsigned type = 0; type <= format::kLastKnownMessageType; ++type) {
    if (type == 0x09) continue;
    EXPECT_FALSE(format::must_be_understood(static_cast<std::uint16_t>(type), 0x80)) << type;
  }
  for (const unsigned flags : {0x00U, 0x08U, 0x7FU})
    EXPECT_FALSE(format::must_be_understood(0x30, static_cast<std::uint8_t>(flags))) << flags;
}

TEST(ObjectHeader, AReferenceCountOfAnotherVersion) {
  const auto small = open_small(at_64(header2(message2(0x16, ByteBuilder().u8(1).u32(2), 0))));
  const auto header = load_object_header(*small.file, kAt);
  ASSERT_TRUE((*header)->unsupported);
  EXPECT_EQ((*header)->unsupported->code(), ErrorCode::UnsupportedVersion);
}

TEST(ObjectHeader, NotAHeader) {
  const auto small = open_small(at_64(ByteBuilder().text("garbage and more of it")));
  EXPECT_EQ(load_object_header(*small.file, kAt).error().code(), ErrorCode::UnsupportedVersion);
  EXPECT_EQ(load_object_header(*small.file, ~std::uint64_t{0}).error().code(), ErrorCode::OutOfRange);
  EXPECT_EQ(load_object_header(*small.file, 1U << 30).error().code(), ErrorCode::OutOfRange);
}

TEST(ObjectHeader, OneReadAHeader) {
  // The header crosses the border of two windows and is large enough to need both.
  const ByteBuilder header = header2(message2(0x0C, ByteBuilder().zeros(2000)));
  const auto small = open_small(superblock().at((64U << 10) - 700).add(header).at(100U << 10));
  const unsigned before = small.source->reads;
  ASSERT_TRUE(load_object_header(*small.file, (64U << 10) - 700));
  EXPECT_LE(small.source->reads - before, 2U);  // the first bytes are in one window, the rest in the next
  const unsigned after = small.source->reads;
  ASSERT_TRUE(load_object_header(*small.file, (64U << 10) - 700));
  EXPECT_EQ(small.source->reads, after);
}

TEST(SharedMessage, InAnotherHeaderAndNoFurther) {
  const ByteBuilder reference = ByteBuilder().u8(2).u8(2).u64(512);
  const ByteBuilder user = header2(message2(0x03, reference, 0x02));
  for (const bool chained : {false, true}) {
    const ByteBuilder target =
        header2(message2(0x03, chained ? reference : ByteBuilder().text("type"), chained ? 2 : 0));
    const auto small = open_small(at_64(user).at(512).add(target));
    const auto header = load_object_header(*small.file, kAt);
    ASSERT_TRUE(header);
    const auto resolved = resolve_message(*small.file, (*header)->messages.at(0));
    EXPECT_EQ(resolved.has_value(), !chained);
    if (resolved) EXPECT_EQ(as_text(resolved->body), "type");
    if (!resolved) {
      EXPECT_EQ(resolved.error().code(), ErrorCode::Cycle);
    }
  }
}

}  // namespace
}  // namespace h5mount::metadata

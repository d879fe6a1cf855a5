// Verdicts over files that h5py writes: sound ones are accepted, and what was put into others is found, where
// it is and by the code of its kind.
#include "h5mount/check/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "checked.h"
#include "support/every_index.h"
#include "support/faulty_source.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

using check::Policy, check::Verdict, check::VerdictCode, check::VerdictKind;
using Bytes = std::vector<std::byte>;

Verdict judged(const Bytes& bytes, const Policy& policy = check::untrusted_policy(), bool quick = false) {
  auto files = object::FileSet::open(io::make_memory_source(bytes), metadata::MetadataOptions{});
  if (!files) return check::verdict_of_unopened(files.error());
  return check::judge_file((*files)->main(), policy, {.quick = quick});
}

std::string all_of(const Verdict& verdict) {
  std::string out(verdict.decision());
  for (const auto& finding : verdict.findings) out += "\n  " + finding.text();
  return out;
}

// The finding of that kind, whose place is the given one if there is one.
const check::VerdictFinding* found(const Verdict& verdict, VerdictKind kind, std::string_view place = {}) {
  const auto one = std::ranges::find_if(verdict.findings, [&](const auto& finding) {
    return finding.kind == kind && (place.empty() || finding.place == place);
  });
  return one == verdict.findings.end() ? nullptr : &*one;
}

void expect_only(const Verdict& verdict, VerdictKind kind, VerdictCode code, std::string_view place = {}) {
  EXPECT_EQ(verdict.code, code) << all_of(verdict);
  const auto* const finding = found(verdict, kind, place);
  ASSERT_NE(finding, nullptr) << all_of(verdict);
  EXPECT_EQ(finding->code, code) << all_of(verdict);
}

Bytes text_bytes(std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

Bytes appended(Bytes bytes, std::string_view text) {
  const Bytes more = text_bytes(text);
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

// A file with a user block that begins with `text`.
Bytes behind(std::string_view text) {
  static const Bytes file = written_with_h5py(
      "f.close()\nf = h5py.File(sys.argv[1], 'w', libver='latest', userblock_size=512)\nf['d'] = 1\n");
  Bytes out = file;
  std::ranges::copy(text_bytes(text), out.begin());
  return out;
}

const Bytes& small_file() {
  static const Bytes bytes = written_with_h5py(kSmall);
  return bytes;
}

constexpr std::string_view kElf =
    "\x7F"
    "ELF\x02\x01\x01";
constexpr std::string_view kMatlab = "MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Nov 30 2026";

TEST(Verdict, SoundFilesAreAccepted) {
  for (const char* libver : {"earliest", "latest"})
    for (const bool quick : {false, true})
      for (const Policy& policy : {check::untrusted_policy(), check::trusted_policy()}) {
        const Verdict verdict = judged(written_with_h5py(kSmall, libver), policy, quick);
        EXPECT_EQ(verdict.code, VerdictCode::Accepted) << all_of(verdict);
        EXPECT_EQ(verdict.decision(), "accept");
        EXPECT_TRUE(verdict.findings.empty());
      }
}

// In front, behind, and where elements of variable length are.
TEST(Verdict, WhatCannotBeReadIsNotJudged) {
  const Bytes strings = written_with_h5py("f['d'] = ['one', 'two']\n");
  const auto expect_trouble = [](const Bytes& bytes, std::uint64_t bad_byte) {
    const auto source = std::make_shared<FaultySource>(bytes);
    auto opened = object::FileSet::open(source, metadata::MetadataOptions{});
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_NE(check::judge_file((*opened)->main(), check::untrusted_policy(), {}).code,
              VerdictCode::CouldNotRun);
    source->bad_byte = bad_byte;
    const Verdict verdict = check::judge_file((*opened)->main(), check::untrusted_policy(), {});
    EXPECT_EQ(verdict.code, VerdictCode::CouldNotRun) << bad_byte << all_of(verdict);
  };
  expect_trouble(behind("text"), 100);
  expect_trouble(appended(small_file(), std::string(5000, '\1')), small_file().size() + 4500);
  const Bytes collection = text_bytes("GCOL");
  const auto heap = std::ranges::search(strings, collection).begin() - strings.begin();
  expect_trouble(strings, static_cast<std::uint64_t>(heap) + 40);
}

TEST(Verdict, EveryKindOfIndexIsSound) {
  for (const char* libver : {"earliest", "latest"}) {
    const Verdict verdict = judged(written_with_h5py(kEveryIndex, libver), check::trusted_policy());
    EXPECT_EQ(verdict.code, VerdictCode::Accepted) << all_of(verdict);
  }
}

TEST(Verdict, TheFirstInOrderDecides) {
  using enum VerdictCode;
  const VerdictCode worst_first[] = {CouldNotRun, Corrupt, Forbidden, TooMuch, Warning, Accepted};
  for (std::size_t i = 0; i < std::size(worst_first); ++i)
    for (std::size_t j = i; j < std::size(worst_first); ++j) {
      EXPECT_EQ(check::worse(worst_first[i], worst_first[j]), worst_first[i]);
      EXPECT_EQ(check::worse(worst_first[j], worst_first[i]), worst_first[i]);
    }
  EXPECT_EQ(check::verdict_kind_name(VerdictKind::ExternalLink), "external_link");
  EXPECT_EQ(check::verdict_kind_name(VerdictKind::LogicalSize), "logical_size");
  EXPECT_EQ(check::verdict_kind_name(VerdictKind::Damaged), "damaged");
}

TEST(Verdict, WhatCannotBeOpenedIsCorruptOrNotJudged) {
  EXPECT_EQ(judged(text_bytes("no HDF5 file")).code, VerdictCode::Corrupt);
  EXPECT_EQ(check::verdict_of_unopened({ErrorCode::NotFound, "no such file"}).code, VerdictCode::CouldNotRun);
  Bytes cut = small_file();
  cut.resize(cut.size() - 100);
  expect_only(judged(cut), VerdictKind::Damaged, VerdictCode::Corrupt);
}

TEST(Verdict, NamesOfOtherFiles) {
  namespace fs = std::filesystem;
  const fs::path top = fs::path(testing::TempDir()) / "verdict_names", in = top / "in";
  fs::remove_all(top);
  fs::create_directories(in);
  std::ofstream(top / "out.bin") << "outside";
  fs::create_symlink(top / "out.bin", in / "link.bin");
  const Bytes bytes = written_with_h5py(
      "f['inside'] = h5py.ExternalLink('below/x.h5', '/a')\n"
      "f['outside'] = h5py.ExternalLink('../x.h5', '/a')\n"
      "f['url'] = h5py.ExternalLink('https://example.org/x.h5', '/a')\n"
      "f.create_dataset('raw', (4,), 'u1', external=[('link.bin', 0, 4)])\n"
      "v = h5py.VirtualLayout((4,), 'u1')\n"
      "v[:] = h5py.VirtualSource('v.h5', 'd', (4,))\n"
      "f.create_virtual_dataset('v', v)\n");
  const std::string path = in / "f.h5";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto files = object::FileSet::open(path, object::ExternalPolicy::None, {});
  ASSERT_TRUE(files);
  Policy policy = check::untrusted_policy();
  Verdict verdict = check::judge_file((*files)->main(), policy, {});
  EXPECT_EQ(verdict.findings.size(), 5U) << all_of(verdict);
  expect_only(verdict, VerdictKind::ExternalLink, VerdictCode::Forbidden, "/inside");
  expect_only(verdict, VerdictKind::ExternalStorage, VerdictCode::Forbidden, "/raw");
  EXPECT_EQ(found(verdict, VerdictKind::VirtualSource, "/v")->text(),
            "virtual_source at /v: v.h5 (allowed: none)");
  policy = check::trusted_policy();
  verdict = check::judge_file((*files)->main(), policy, {});
  EXPECT_EQ(verdict.findings.size(), 3U) << all_of(verdict);
  for (const char* place : {"/outside", "/url"})
    expect_only(verdict, VerdictKind::ExternalLink, VerdictCode::Forbidden, place);
  EXPECT_EQ(found(verdict, VerdictKind::ExternalStorage, "/raw")->text(),
            "external_storage at /raw: link.bin (allowed: beneath)");
  using enum check::AllowedNames;
  policy.allow_external_links = policy.allow_external_storage = policy.allow_vds = Any;
  EXPECT_EQ(check::judge_file((*files)->main(), policy, {}).code, VerdictCode::Accepted);
}

TEST(Verdict, FiltersOutsideTheListAreForbidden) {
  Policy policy = check::untrusted_policy();
  EXPECT_EQ(judged(small_file(), policy).code, VerdictCode::Accepted);
  policy.allow_filters = {{3}};
  const Verdict verdict = judged(small_file(), policy);
  expect_only(verdict, VerdictKind::Filter, VerdictCode::Forbidden, "/g/checked");
  EXPECT_EQ(verdict.findings[0].text(), "filter at /g/checked: 1 (allowed: 3)");
}

TEST(Verdict, ClaimsAndCountsHaveLimits) {
  const Bytes bytes = written_with_h5py(
      "f.create_dataset('claims', (1 << 29,), 'u1', chunks=(1 << 20,))\n"
      "d = f.create_dataset('chunk', (4,), 'u1', chunks=(1 << 30,), maxshape=(None,), compression=9)\n"
      "d.id.write_direct_chunk((0,), b'\\x78\\x01' * 50)\n"
      "f.create_dataset('large', (1 << 37,), 'u1', chunks=(1 << 20,))\n"
      "f.create_dataset('tiny', (5000,), 'u1', chunks=(1,))\n"
      "f.attrs['a'] = 1\n");
  const Verdict verdict = judged(bytes);
  expect_only(verdict, VerdictKind::Expansion, VerdictCode::TooMuch, "/claims");
  expect_only(verdict, VerdictKind::Expansion, VerdictCode::TooMuch, "/chunk");
  expect_only(verdict, VerdictKind::Expansion, VerdictCode::TooMuch, "/");
  expect_only(verdict, VerdictKind::TinyChunks, VerdictCode::TooMuch, "/tiny");
  EXPECT_EQ(found(verdict, VerdictKind::LogicalSize)->text(),
            "logical_size at /large: 137438953472 (limit: 68719476736)");
  const auto limited = [&](const auto& limit) {
    Policy policy = check::trusted_policy();
    limit(policy);
    return judged(small_file(), policy);
  };
  for (const std::uint64_t most : {4, 5}) {
    const auto code = most == 5 ? VerdictCode::Accepted : VerdictCode::TooMuch;  // the root is one
    EXPECT_EQ(limited([&](Policy& policy) { policy.max_object_count = most; }).code, code);
  }
  expect_only(limited([](Policy& policy) { policy.max_attribute_count = 0; }), VerdictKind::AttributeCount,
              VerdictCode::TooMuch, "/");
  expect_only(limited([](Policy& policy) { policy.max_chunk_count = 9; }), VerdictKind::ChunkCount,
              VerdictCode::TooMuch, "/");
  EXPECT_EQ(limited([](Policy& policy) { policy.max_chunk_count = 10; }).code, VerdictCode::Accepted);
  expect_only(limited([](Policy& policy) { policy.max_link_traversal_depth = 1; }), VerdictKind::LinkDepth,
              VerdictCode::TooMuch, "/g/checked");
}

TEST(Verdict, NestedTypesHaveALimit) {
  const std::string script =
      "t = np.dtype('u1')\n"
      "for i in range(N): t = np.dtype([('m', t)])\n"
      "f.create_dataset('d', (1,), t)\n";
  const auto nested = [&](const std::string& levels) {
    return judged(written_with_h5py("N = " + levels + "\n" + script));
  };
  EXPECT_EQ(nested("64").code, VerdictCode::Accepted);
  expect_only(nested("65"), VerdictKind::DatatypeDepth, VerdictCode::TooMuch, "/d");
  expect_only(nested("150"), VerdictKind::DatatypeDepth, VerdictCode::TooMuch, "/d");
}

TEST(Verdict, LoopsAreCorrupt) {
  expect_only(judged(written_with_h5py("f['a/b/back'] = f.create_group('a/b').parent\n")), VerdictKind::Loop,
              VerdictCode::Corrupt, "/a/b");
  // No group is in itself by the shortest way to it.
  expect_only(judged(written_with_h5py("a, b = f.create_group('a'), f.create_group('b')\n"
                                       "a['b'] = b\nb['a'] = a\n")),
              VerdictKind::Loop, VerdictCode::Corrupt);
  expect_only(judged(written_with_h5py("f['x'] = h5py.SoftLink('/g/y')\nf['g/y'] = h5py.SoftLink('/x')\n")),
              VerdictKind::Loop, VerdictCode::Corrupt, "/g/y");
  const auto chain = [](const std::string& links) {
    return judged(written_with_h5py("f['l0'] = 1\nfor i in range(" + links +
                                    "): f['l%d' % (i + 1)] = h5py.SoftLink('/l%d' % i)\n"));
  };
  EXPECT_EQ(chain("64").code, VerdictCode::Accepted) << all_of(chain("64"));
  expect_only(chain("80"), VerdictKind::LinkDepth, VerdictCode::TooMuch, "/l65");
  const std::string two =
      "for a, b in ('vw', 'wv'):\n"
      "  v = h5py.VirtualLayout((4,), 'u1')\n"
      "  v[:] = h5py.VirtualSource('.', b, (4,))\n"
      "  f.create_virtual_dataset(a, v)\n";
  expect_only(judged(written_with_h5py(two)), VerdictKind::Loop, VerdictCode::Corrupt, "/w");
}

TEST(Verdict, OverlapsAreCorrupt) {
  const std::string script =
      "a = f.create_dataset('a', data=np.arange(64, dtype='u1'))\n"
      "b = f.create_dataset('b', data=np.arange(64, dtype='u1'))\n"
      "f.flush()\n"
      "A, B, H = a.id.get_offset(), b.id.get_offset(), h5py.h5o.get_info(a.id).addr\n"
      "f.close()\n"
      "d = bytearray(open(sys.argv[1], 'rb').read())\n"
      "i = d.find(B.to_bytes(8, 'little') + (64).to_bytes(8, 'little'))\n"
      "d[i:i + 8] = (WHERE).to_bytes(8, 'little')\n"
      "open(sys.argv[1], 'wb').write(d)\n"
      "f = open(sys.argv[1], 'rb')\n";
  const auto moved = [&](const std::string& where) {
    std::string text = script;
    return judged(written_with_h5py(text.replace(text.find("WHERE"), 5, where), "earliest"));
  };
  expect_only(moved("A + 8"), VerdictKind::Overlap, VerdictCode::Corrupt, "/b");
  expect_only(moved("H"), VerdictKind::Overlap, VerdictCode::Corrupt, "/b");
}

TEST(Verdict, SharedObjectsOfTheHeapOverlap) {
  const std::string script =
      "f.create_dataset('v', data=['alpha', 'beta', 'gamma'], dtype=h5py.string_dtype())\n"
      "f.flush()\nO = f['v'].id.get_offset()\nf.close()\n"
      "d = bytearray(open(sys.argv[1], 'rb').read())\n"
      "d[O + 16:O + 32] = d[O:O + 16]\n"
      "open(sys.argv[1], 'wb').write(d)\n"
      "f = open(sys.argv[1], 'rb')\n";
  const Bytes bytes = written_with_h5py(script);
  expect_only(judged(bytes), VerdictKind::Overlap, VerdictCode::Corrupt, "/v");
  EXPECT_EQ(judged(bytes, check::untrusted_policy(), true).code, VerdictCode::Accepted);
}

TEST(Verdict, OtherFormatsInFrontAndBehindAreForbidden) {
  const std::string empty_zip = std::string("PK\x05\x06") + std::string(18, '\0');
  for (const std::string& text :
       {std::string(kElf), std::string("MZ\x90"), std::string("#!/bin/sh\n"), std::string("PK\x03\x04"),
        std::string("\n%PDF-1.7"), std::string(" <HTML>"), std::string("\x80\x04\x95")}) {
    const Bytes bytes = behind(text);
    expect_only(judged(bytes), VerdictKind::ForeignFormat, VerdictCode::Forbidden, "offset 0");
    expect_only(judged(bytes, check::trusted_policy()), VerdictKind::ForeignFormat, VerdictCode::Warning);
  }
  for (const std::string& text : {std::string("\x89HDF\r\n\x1A\n"), std::string(kElf),
                                  "PK\x03\x04" + empty_zip, std::string("\x1F\x8B\x08", 3), empty_zip}) {
    const Bytes bytes = appended(appended(small_file(), std::string(16, '\0')), text);
    expect_only(judged(bytes, check::untrusted_policy(), true), VerdictKind::ForeignFormat,
                VerdictCode::Forbidden);
    expect_only(judged(bytes, check::trusted_policy()), VerdictKind::ForeignFormat, VerdictCode::Warning);
  }
}

TEST(Verdict, OtherBytesInFrontAndBehindAreWarnedOf) {
  for (const std::string_view text : {kMatlab, std::string_view("a text"), std::string_view("{\"a\": 1}")}) {
    expect_only(judged(behind(text)), VerdictKind::UserBlock, VerdictCode::Warning, "offset 0");
    EXPECT_EQ(judged(behind(text), check::trusted_policy()).code, VerdictCode::Accepted);
  }
  EXPECT_EQ(judged(behind("")).code, VerdictCode::Accepted);
  Bytes moved(512);  // and its superblock says where it was
  moved.insert(moved.end(), small_file().begin(), small_file().end());
  expect_only(judged(moved), VerdictKind::Damaged, VerdictCode::Warning);
  const Bytes zeros = appended(small_file(), std::string(100, '\0'));
  expect_only(judged(zeros), VerdictKind::TrailingBytes, VerdictCode::Warning);
  EXPECT_EQ(judged(zeros, check::trusted_policy()).code, VerdictCode::Accepted);
  const Bytes text = appended(small_file(), "and a text");
  expect_only(judged(text), VerdictKind::TrailingBytes, VerdictCode::Warning);
  expect_only(judged(text, check::trusted_policy()), VerdictKind::TrailingBytes, VerdictCode::Warning);
}

TEST(Verdict, BytesOfNothingMayBeAnotherFormat) {
  const auto deleted = [](const std::string& contents) {
    return written_with_h5py("f['kept'] = np.arange(100)\nf['lost'] = np.frombuffer(" + contents +
                             ", 'u1')\nf['last'] = np.arange(100)\nf.close()\n"
                             "f = h5py.File(sys.argv[1], 'r+')\ndel f['lost']\n");
  };
  expect_only(judged(deleted("b'\\x7fELF\\2\\1' + bytes(200000)")), VerdictKind::ForeignFormat,
              VerdictCode::Warning);
  expect_only(judged(deleted("b'some data' * 20000")), VerdictKind::UnaccountedBytes, VerdictCode::Warning);
  const Verdict little = judged(deleted("b'some data' * 100"));
  EXPECT_EQ(little.code, VerdictCode::Accepted) << all_of(little);
  EXPECT_EQ(judged(deleted("b'some data' * 20000"), check::trusted_policy()).code, VerdictCode::Accepted);
}

// The message of a modification time gets another type.
TEST(Verdict, UnknownMessages) {
  const Bytes sound = written_with_h5py("f.create_dataset('d', data=1, track_times=True)\n", "earliest");
  const std::string_view message("\x12\x00\x08\x00\x00\x00\x00\x00\x01\x00\x00\x00", 12);
  const auto with_type = [&](char type, char flags) {
    Bytes bytes = sound;
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t at = all.find(message);
    EXPECT_NE(at, std::string_view::npos);
    bytes[at] = static_cast<std::byte>(type);
    bytes[at + 4] = static_cast<std::byte>(flags);
    return bytes;
  };
  constexpr char kUnknown = 0x70, kMustBeUnderstood = static_cast<char>(0x80);
  expect_only(judged(with_type(kUnknown, 0)), VerdictKind::UnknownMessage, VerdictCode::Forbidden, "/d");
  expect_only(judged(with_type(kUnknown, 0), check::trusted_policy()), VerdictKind::UnknownMessage,
              VerdictCode::Warning, "/d");
  for (const Policy& policy : {check::untrusted_policy(), check::trusted_policy()})
    expect_only(judged(with_type(kUnknown, kMustBeUnderstood), policy), VerdictKind::UnknownMessage,
                VerdictCode::Corrupt, "/d");
}

TEST(Verdict, ChunksHaveSizesThatTheirFiltersStore) {
  const auto stored = [](const std::string& bytes, const std::string& mask) {
    return judged(
        written_with_h5py("d = f.create_dataset('d', (256,), 'u1', chunks=(256,), compression=1)\n"
                          "d.id.write_direct_chunk((0,), bytes(" +
                          bytes + "), " + mask + ")\n"));
  };
  EXPECT_EQ(stored("256", "1").code, VerdictCode::Accepted);
  expect_only(stored("255", "1"), VerdictKind::Damaged, VerdictCode::Corrupt, "/d");
  EXPECT_EQ(stored("100", "0").code, VerdictCode::Accepted);
  expect_only(stored("100000", "0"), VerdictKind::Damaged, VerdictCode::Corrupt, "/d");
}

TEST(Verdict, ReferencesAreFollowedWhereTheyLieAsTheyAre) {
  const Bytes bytes = written_with_h5py(
      "d = f.create_dataset('d', (8,), 'u1')\n"
      "r = f.create_dataset('r', data=[d.regionref[2:4]], dtype=h5py.regionref_dtype)\n"
      "f.flush()\nO = r.id.get_offset()\nf.close()\n"
      "d = bytearray(open(sys.argv[1], 'rb').read())\n"
      "d[O + 8] = 99\nopen(sys.argv[1], 'wb').write(d)\nf = open(sys.argv[1], 'rb')\n");
  expect_only(judged(bytes), VerdictKind::Damaged, VerdictCode::Corrupt, "/r");
  EXPECT_EQ(judged(bytes, check::untrusted_policy(), true).code, VerdictCode::Accepted);
}

// An object without a link is as reachable as others by a reference, which leads on to further ones.
TEST(Verdict, WhatReferencesLeadToIsJudged) {
  const auto hidden = [](const std::string& refer) {
    return written_with_h5py(
        "x = f.create_dataset('x', (4,), 'u1', external=[('/etc/passwd', 0, 4)])\n"
        "y = f.create_dataset('y', data=[x.ref], dtype=h5py.ref_dtype)\n" +
        refer + "\nf['last'] = np.arange(1000)\nf.flush()\ndel f['x'], f['y']\n");
  };
  for (const char* refer :
       {"f.attrs['r'] = y.ref", "f.create_dataset('z', data=[y.ref], dtype=h5py.ref_dtype)"})
    expect_only(judged(hidden(refer)), VerdictKind::ExternalStorage, VerdictCode::Forbidden);
  EXPECT_EQ(judged(hidden("")).code, VerdictCode::Accepted);
  const Bytes dangling =
      written_with_h5py("f.attrs['r'] = f.create_dataset('x', (4,), 'u1').ref\ndel f['x']\n");
  EXPECT_EQ(judged(dangling).code, VerdictCode::Accepted);
}

TEST(Verdict, ADocumentMayBeginInTheFirstKibibyte) {
  const Bytes bytes = written_with_h5py("f.attrs['a'] = np.frombuffer(b'%PDF-1.7', 'u1')\n");
  expect_only(judged(bytes), VerdictKind::ForeignFormat, VerdictCode::Forbidden);
}

TEST(Verdict, DamageIsCorrupt) {
  Bytes bytes = small_file();
  const auto headers = places_of(bytes, "OHDR");
  ASSERT_GT(headers.size(), 1U);
  flip(bytes, headers[1], 20);
  for (const Policy& policy : {check::untrusted_policy(), check::trusted_policy()}) {
    const Verdict verdict = judged(bytes, policy, true);
    expect_only(verdict, VerdictKind::Damaged, VerdictCode::Corrupt);
    EXPECT_TRUE(verdict.refused());
    EXPECT_EQ(verdict.decision(), "refuse");
  }
}

}  // namespace
}  // namespace h5mount::test

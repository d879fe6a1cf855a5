// Policies: what the two that have names say, and files of them.
#include "h5mount/check/policy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "h5mount/base/text.h"

namespace h5mount::check {
namespace {

Policy parsed_policy(const std::string& text) {
  const auto out = parse_policy(text, "p.conf");
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out.value_or(Policy{});
}

std::string trouble_of(const std::string& text) {
  const auto out = parse_policy(text, "p.conf");
  if (!out) EXPECT_EQ(out.error().code(), ErrorCode::InvalidValue);
  return out ? "" : out.error().text();
}

TEST(Policies, WithNamesAreThoseOfTheManual) {
  const Policy untrusted = *read_policy("untrusted"), trusted = *read_policy("trusted");
  EXPECT_EQ(untrusted.name, "untrusted");
  EXPECT_TRUE(untrusted.strict);
  EXPECT_EQ(untrusted.allow_external_links, AllowedNames::None);
  EXPECT_EQ(untrusted.allow_external_storage, AllowedNames::None);
  EXPECT_EQ(untrusted.allow_vds, AllowedNames::None);
  EXPECT_EQ(untrusted.allow_filters, (std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(untrusted.max_object_count, 100'000U);
  EXPECT_EQ(untrusted.max_attribute_count, 100'000U);
  EXPECT_EQ(untrusted.max_chunk_count, 10'000'000U);
  EXPECT_EQ(untrusted.max_link_traversal_depth, 64U);
  EXPECT_EQ(untrusted.max_datatype_recursion_depth, 64U);
  EXPECT_EQ(untrusted.max_logical_dataset_bytes, parse_bytes("64G"));
  EXPECT_EQ(untrusted.max_expansion, 200U);
  EXPECT_EQ(untrusted.max_expansion_min_bytes, parse_bytes("256M"));
  EXPECT_EQ(untrusted.min_logical_chunk_bytes, 4096U);
  EXPECT_EQ(untrusted.max_chunks_below_min_logical_bytes, 4096U);

  EXPECT_EQ(trusted.name, "trusted");
  EXPECT_FALSE(trusted.strict);
  EXPECT_EQ(trusted.allow_external_links, AllowedNames::Beneath);
  EXPECT_EQ(trusted.allow_external_storage, AllowedNames::Beneath);
  EXPECT_EQ(trusted.allow_vds, AllowedNames::Beneath);
  EXPECT_EQ(trusted.allow_filters, std::nullopt);
  EXPECT_EQ(trusted.max_object_count, 10'000'000U);
  EXPECT_EQ(trusted.max_attribute_count, 10'000'000U);
  EXPECT_EQ(trusted.max_chunk_count, std::nullopt);
  EXPECT_EQ(trusted.max_link_traversal_depth, 128U);
  EXPECT_EQ(trusted.max_datatype_recursion_depth, 128U);
  EXPECT_EQ(trusted.max_logical_dataset_bytes, parse_bytes("16T"));
  EXPECT_EQ(trusted.max_expansion, 2'000U);
  EXPECT_EQ(trusted.max_expansion_min_bytes, parse_bytes("16G"));
  EXPECT_EQ(trusted.min_logical_chunk_bytes, 0U);
}

TEST(PolicyFile, SetsWhatItNamesAndLeavesTheRestUntrusted) {
  const Policy policy = parsed_policy(
      "# of the laboratory\n"
      "\n"
      "allow_external_links = beneath   # runs are together\n"
      "  allow_external_storage=\"any\"\r\n"
      "allow_vds = 'beneath'\n"
      "allow_filters = [1, 2, 3,32015]\n"
      "max_object_count = 7\n"
      "max_attribute_count=none\n"
      "max_chunk_count = 1000\n"
      "max_link_traversal_depth = 0\n"
      "max_datatype_recursion_depth = 5\n"
      "max_logical_dataset_bytes = 1.5G\n"
      "max_expansion = none\n"
      "max_expansion_min_bytes = 1M\n"
      "min_logical_chunk_bytes = none\n"
      "max_chunks_below_min_logical_bytes = \"12\"");
  EXPECT_EQ(policy.name, "p.conf");
  EXPECT_TRUE(policy.strict);
  EXPECT_EQ(policy.allow_external_links, AllowedNames::Beneath);
  EXPECT_EQ(policy.allow_external_storage, AllowedNames::Any);
  EXPECT_EQ(policy.allow_vds, AllowedNames::Beneath);
  EXPECT_EQ(policy.allow_filters, (std::vector<std::uint16_t>{1, 2, 3, 32015}));
  EXPECT_EQ(policy.max_object_count, 7U);
  EXPECT_EQ(policy.max_attribute_count, std::nullopt);
  EXPECT_EQ(policy.max_chunk_count, 1000U);
  EXPECT_EQ(policy.max_link_traversal_depth, 0U);
  EXPECT_EQ(policy.max_datatype_recursion_depth, 5U);
  EXPECT_EQ(policy.max_logical_dataset_bytes, 3ULL << 29);
  EXPECT_EQ(policy.max_expansion, std::nullopt);
  EXPECT_EQ(policy.max_expansion_min_bytes, 1U << 20);
  EXPECT_EQ(policy.min_logical_chunk_bytes, 0U);
  EXPECT_EQ(policy.max_chunks_below_min_logical_bytes, 12U);

  const Policy empty = parsed_policy("# nothing is set\n");
  EXPECT_EQ(empty.max_object_count, untrusted_policy().max_object_count);
  EXPECT_EQ(empty.allow_filters, untrusted_policy().allow_filters);
}

TEST(PolicyFile, FiltersAreWordsOrNumbers) {
  using Filters = std::vector<std::uint16_t>;
  EXPECT_EQ(parsed_policy("allow_filters = any").allow_filters, std::nullopt);
  EXPECT_EQ(parsed_policy("allow_filters = none").allow_filters, Filters{});
  EXPECT_EQ(parsed_policy("allow_filters = []").allow_filters, Filters{});
  EXPECT_EQ(parsed_policy("allow_filters = built-in").allow_filters, (Filters{1, 2, 3, 4, 5, 6}));
  for (const char* bad : {"1", "[1", "1]", "[1 2]", "[1,,2]", "[-1]", "[65536]", "[gzip]", "[", "]", ""})
    EXPECT_NE(trouble_of(std::string("allow_filters = ") + bad).find("allow_filters"), std::string::npos)
        << bad;
}

TEST(PolicyFile, TroubleIsToldByLineAndName) {
  EXPECT_EQ(trouble_of("\nmax_objekt_count = 3"),
            "policy p.conf, line 2: unknown name 'max_objekt_count': did you mean max_object_count?");
  EXPECT_EQ(trouble_of("colour = red\n"), "policy p.conf, line 1: unknown name 'colour'");
  EXPECT_EQ(trouble_of("colour\x1b[31m = red\n"), "policy p.conf, line 1: unknown name 'colour\\x1b[31m'");
  EXPECT_EQ(trouble_of("max_object_count"), "policy p.conf, line 1: max_object_count has no value");
  EXPECT_EQ(trouble_of("max_object_count = 1\nmax_object_count = 1"),
            "policy p.conf, line 2: max_object_count is there twice");
  EXPECT_EQ(trouble_of("max_object_count = many"),
            "policy p.conf, line 1: max_object_count = many: expected a number or none");
  EXPECT_EQ(trouble_of("allow_vds = \"all\""),
            "policy p.conf, line 1: allow_vds = all: expected none, beneath or any");
  for (const char* bad :
       {"max_object_count = -1", "max_object_count = 1e6", "max_object_count =", "max_object_count = 1K",
        "max_object_count = 18446744073709551616", "max_object_count = \"7", "max_logical_dataset_bytes = 1X",
        "min_logical_chunk_bytes = any", "allow_external_links = Any", "= 3"})
    EXPECT_NE(trouble_of(bad), "") << bad;
}

TEST(PolicyFile, IsReadOrItsNameIsTold) {
  const std::filesystem::path directory = ::testing::TempDir();
  const std::string path = directory / "lab.policy";
  std::ofstream(path) << "max_object_count = 3\n";
  const auto policy = read_policy(path);
  ASSERT_TRUE(policy) << policy.error().text();
  EXPECT_EQ(policy->name, path);
  EXPECT_EQ(policy->max_object_count, 3U);
  std::filesystem::remove(path);

  const auto missing = read_policy("untrustd");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  EXPECT_NE(missing.error().text().find("untrustd"), std::string::npos);
  EXPECT_FALSE(read_policy(directory));
  std::filesystem::resize_file((std::ofstream(path), path), 1ULL << 40);
  EXPECT_FALSE(read_policy(path));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace h5mount::check

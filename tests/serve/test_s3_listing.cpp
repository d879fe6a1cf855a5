// Listings of buckets where something bounds or damages them.
#include <algorithm>
#include <regex>

#include "s3/s3_site.h"
#include "server_fixture.h"

namespace h5mount::serve {
namespace {

Result<OpenedSource> open_bytes(const std::vector<std::byte>& bytes) {
  H5_ASSIGN(auto files, object::FileSet::open(io::make_memory_source(bytes), {}));
  H5_ASSIGN(auto tree, tree::Tree::make({std::make_shared<cache::BlockCache>(64U << 20),
                                         std::make_shared<cache::WorkerPool>(2), files},
                                        {}));
  return OpenedSource{tree, [] { return SourceState{true, 1, 1'000'000'000'000'000'000}; }};
}

std::unique_ptr<S3Site> site_of(const std::vector<std::byte>& bytes) {
  std::vector<SourceToServe> sources;
  sources.push_back({"f.h5", [bytes] { return open_bytes(bytes); }, *open_bytes(bytes)});
  return std::make_unique<S3Site>(S3Options{}, true, std::move(sources));
}

struct Got {
  unsigned status = 0;
  std::string text;
};
Got get(S3Site& site, const std::string& target, std::size_t most_text = std::size_t{1} << 20) {
  RequestWork work(-1, most_text);
  const Answer answer = site.answer({"GET", target, {{"Host", "localhost"}}}, work);
  return {answer.status, answer.body ? *read_all(*answer.body, work) : std::string()};
}

std::vector<std::string> all_of(const std::string& text, const std::string& element) {
  std::vector<std::string> out;
  const std::regex pattern("<" + element + ">([^<]*)</" + element + ">");
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    out.push_back((*at)[1]);
  return out;
}

TEST(S3Listing, APageWhoseTextIsLongEndsEarlyAndNothingIsLeftOut) {
  const auto bytes = test::written_with_h5py(
      "for i in range(200): f['group/%03d' % i] = i\nfor i in range(50): f.create_group('void%d' % i)\n");
  ASSERT_FALSE(bytes.empty());
  const auto site = site_of(bytes);
  std::vector<std::string> keys;
  std::string token;
  std::size_t pages = 0;
  do {
    const Got got = get(*site, "/f.h5?list-type=2" + token, 4096);
    ASSERT_EQ(got.status, 200U) << got.text;
    EXPECT_LT(got.text.size(), 6000U);
    const auto more = all_of(got.text, "Key");
    EXPECT_FALSE(more.empty());
    keys.insert(keys.end(), more.begin(), more.end());
    const auto next = all_of(got.text, "NextContinuationToken");
    EXPECT_EQ(all_of(got.text, "IsTruncated").front(), next.empty() ? "false" : "true");
    token = next.empty() ? std::string() : "&continuation-token=" + next.front();
    ++pages;
  } while (!token.empty() && pages < 300);
  EXPECT_GT(pages, 5U);
  ASSERT_EQ(keys.size(), 250U);
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(keys.front(), "group/000");
  EXPECT_EQ(keys.back(), "void9/");
}

TEST(S3Listing, DamageIsAKeyWhoseBytesAreTheReasonAndTheRestIsListed) {
  auto bytes = test::written_with_h5py(
      "f['a/x'] = range(10)\nf['b/x'] = range(10)\nf['c/x'] = range(10)\nf['d'] = range(10)\n");
  ASSERT_FALSE(bytes.empty());
  const auto headers = test::places_of(bytes, "OHDR");
  ASSERT_EQ(headers.size(), 8U);
  std::size_t lists_with_damage = 0;
  for (const std::size_t place : headers) {
    auto damaged = bytes;
    test::flip(damaged, place);
    auto opened = open_bytes(damaged);
    if (!opened || !opened->tree->open_directory(tree::kRootNode)) continue;  // the root itself
    const auto site = site_of(damaged);
    const Got got = get(*site, "/f.h5");
    ASSERT_EQ(got.status, 200U) << got.text;
    const auto keys = all_of(got.text, "Key"), sizes = all_of(got.text, "Size");
    ASSERT_EQ(keys.size(), 4U) << got.text;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Got object = get(*site, "/f.h5/" + keys[i]);
      if (object.status == 200) {
        EXPECT_EQ(sizes[i], std::to_string(object.text.size())) << keys[i];
        continue;
      }
      EXPECT_EQ(object.status, 500U) << keys[i] << object.text;
      EXPECT_EQ(all_of(object.text, "Code"), std::vector<std::string>{"InternalError"});
      EXPECT_EQ(sizes[i], "1") << keys[i];
      ++lists_with_damage;
    }
  }
  EXPECT_EQ(lists_with_damage, 7U);
}

TEST(S3Listing, NamesThatXmlCannotHaveComeBackWhereTheyAreEncoded) {
  const auto bytes = test::written_with_h5py("f['a\\x01b'] = 1\nf[b'c\\xff'] = 2\nf['d<&>\"'] = 3\n");
  ASSERT_FALSE(bytes.empty());
  const auto site = site_of(bytes);
  EXPECT_EQ(all_of(get(*site, "/f.h5?encoding-type=url").text, "Key"),
            (std::vector<std::string>{"a%01b", "c%FF", "d%3C%26%3E%22"}));
  EXPECT_EQ(all_of(get(*site, "/f.h5").text, "Key"),
            (std::vector<std::string>{"a\xEF\xBF\xBD"
                                      "b",
                                      "c\xEF\xBF\xBD", "d&lt;&amp;&gt;&quot;"}));
  for (const char* key : {"a%01b", "c%FF", "d%3C%26%3E%22"})
    EXPECT_EQ(get(*site, std::string("/f.h5/") + key).text.size(), 8U) << key;
}

TEST(S3Listing, NamesOfBucketsAreThoseThatBucketsMayHave) {
  EXPECT_EQ(
      bucket_names({"run.h5", "Run_1 a.h5", "run.h5", "run.h5", "..", "\xC3\xA9", "-a-"}),
      (std::vector<std::string>{"run.h5", "run-1-a.h5", "run.h5-2", "run.h5-3", "bucket", "bucket-2", "a"}));
  const auto longest = bucket_names({std::string(300, 'a'), std::string(300, 'a')});
  EXPECT_EQ(longest[0].size(), 63U);
  EXPECT_EQ(longest[1], std::string(61, 'a') + "-2");
}

}  // namespace
}  // namespace h5mount::serve

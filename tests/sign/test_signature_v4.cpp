// Signatures held to the examples that AWS publishes: those of the S3 API Reference ("Signature Calculations
// for the Authorization Header", "Authenticating Requests: Using Query Parameters") and cases of the test
// suite for signature version 4.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "h5mount/sign/sha256.h"
#include "h5mount/sign/signature_v4.h"
#include "sign/presign.h"

namespace h5mount::sign {
namespace {

constexpr std::string_view kSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
constexpr std::int64_t kExampleTime = 1369353600;  // 2013-05-24T00:00:00Z
const Credentials kExampleUser{"AKIAIOSFODNN7EXAMPLE", std::string(kSecret), ""};
const Scope kExampleScope{"20130524T000000Z", "us-east-1"};
const Fields kHost{{"Host", "examplebucket.s3.amazonaws.com"}};

class Signatures : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_sha256()) GTEST_SKIP() << "built without libcrypto";
  }
};

std::string value_of(const Fields& fields, std::string_view name) {
  for (const auto& [other, value] : fields) {
    if (other == name) return value;
  }
  return "none";
}

std::string signature_in(const Result<Fields>& added) {
  const std::string text = added ? value_of(*added, "Authorization") : added.error().text();
  return text.substr(std::min(text.find("Signature=") + 10, text.size()));
}

// As it arrives, with the fields that signing adds.
Request sent(Request request, const Fields& added) {
  request.headers.insert(request.headers.end(), added.begin(), added.end());
  return request;
}

TEST_F(Signatures, OfTheS3ReferenceAreMade) {
  const std::string empty = sha256_hex("");
  Request get{"GET", "/test.txt", {}, kHost};
  get.headers.emplace_back("Range", "bytes=0-9");
  EXPECT_EQ(signature_in(sign_headers(get, kExampleUser, kExampleScope, empty)),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");

  Request put{"PUT", "/test$file.text", {}, kHost};
  put.headers.emplace_back("Date", "Fri, 24 May 2013 00:00:00 GMT");
  put.headers.emplace_back("x-amz-storage-class", "REDUCED_REDUNDANCY");
  EXPECT_EQ(signature_in(sign_headers(put, kExampleUser, kExampleScope, sha256_hex("Welcome to Amazon S3."))),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");

  const Request lifecycle{"GET", "/", {{"lifecycle", ""}}, kHost};
  EXPECT_EQ(signature_in(sign_headers(lifecycle, kExampleUser, kExampleScope, empty)),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");

  const Request list{"GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, kHost};
  EXPECT_EQ(signature_in(sign_headers(list, kExampleUser, kExampleScope, empty)),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_F(Signatures, OfAPresignedRequestIsThatOfTheS3Reference) {
  const Request request{"GET", "/test.txt", {}, kHost};
  const std::string query = presign(request, kExampleUser, kExampleScope, 86400);
  EXPECT_EQ(query,
            "X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
            "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
            "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
  Request arrived = request;
  arrived.query = decode_query(query);
  ASSERT_TRUE(is_signed(arrived));
  const auto claim = read_claim(arrived);
  ASSERT_TRUE(claim) << claim.error().text();
  EXPECT_TRUE(verify(*claim, arrived, kSecret, kExampleTime + 86400));
  EXPECT_FALSE(verify(*claim, arrived, kSecret, kExampleTime + 86401)) << "expired";
  EXPECT_FALSE(verify(*claim, arrived, kSecret, kExampleTime - 901)) << "not valid yet";
  arrived.query.emplace_back("response-content-type", "text/html");
  EXPECT_FALSE(verify(*claim, arrived, kSecret, kExampleTime)) << "a parameter that is not signed";
}

// Cases of the suite: their Authorization fields are verified as they stand there.
struct SuiteCase {
  std::string method, path, query;
  Fields headers;
  std::string signed_headers, signature;
};

TEST_F(Signatures, OfTheTestSuiteAreVerified) {
  const Fields plain{{"Host", "example.amazonaws.com"}, {"X-Amz-Date", "20150830T123600Z"}};
  const std::string names = "host;x-amz-date";
  const SuiteCase cases[] = {
      {"GET", "/", "", plain, names, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"POST", "/", "", plain, names, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"GET", "/", "Param2=value2&Param1=value1", plain, names,
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"GET", "/\xe1\x88\xb4", "", plain, names,
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
  };
  for (const SuiteCase& one : cases) {
    Request request{one.method, one.path, decode_query(one.query), one.headers};
    request.headers.emplace_back(
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=" +
            one.signed_headers + ", Signature=" + one.signature);
    const auto claim = read_claim(request);
    ASSERT_TRUE(claim) << claim.error().text();
    EXPECT_EQ(claim->access_key, "AKIDEXAMPLE");
    const auto verified = verify(*claim, request, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 1440938160);
    EXPECT_TRUE(verified) << one.method << one.path << one.query;
    EXPECT_FALSE(verify(*claim, request, kSecret, 1440938160)) << "another key";
  }
}

TEST_F(Signatures, AreRefusedWhereTheRequestIsAnotherOne) {
  const Credentials user{"key/with/slashes", std::string(kSecret), "token="};
  Request asked{"GET", "/a b/c+d=e", {{"prefix", "x y"}}, kHost};
  asked.headers.emplace_back("Range", "  bytes=0-9  ");
  const auto added = sign_headers(asked, user, kExampleScope);
  ASSERT_TRUE(added);
  EXPECT_EQ(value_of(*added, "x-amz-security-token"), "token=");
  const Request arrived = sent(asked, *added);
  const auto claim = read_claim(arrived);
  ASSERT_TRUE(claim) << claim.error().text();
  EXPECT_EQ(claim->access_key, user.access_key);
  EXPECT_EQ(claim->session_token, user.session_token);
  EXPECT_TRUE(verify(*claim, arrived, kSecret, kExampleTime + 900));
  EXPECT_FALSE(verify(*claim, arrived, kSecret, kExampleTime + 901));
  EXPECT_FALSE(verify(*claim, arrived, kSecret, kExampleTime - 901));

  const auto refused = [&](const std::function<void(Request&)>& change) {
    Request other = arrived;
    change(other);
    return !verify(*claim, other, kSecret, kExampleTime);
  };
  EXPECT_TRUE(refused([](Request& other) { other.method = "HEAD"; }));
  EXPECT_TRUE(refused([](Request& other) { other.path = "/a b/c d=e"; }));
  EXPECT_TRUE(refused([](Request& other) { other.query.clear(); }));
  EXPECT_TRUE(refused([](Request& other) { other.headers[1].second = "bytes=0-10"; }));
  EXPECT_TRUE(refused([](Request& other) { other.headers.emplace_back("x-amz-acl", "public"); }));
  EXPECT_TRUE(refused([](Request& other) { other.headers.erase(other.headers.begin()); })) << "no Host";
}

TEST_F(Signatures, ThatAreNotWellFormedAreRefused) {
  const auto claim_of = [](std::string authorization, std::string date) {
    return read_claim({"GET", "/", {}, {{"Authorization", authorization}, {"x-amz-date", date}}});
  };
  const std::string date = "20130524T000000Z", scope = "20130524/r/s3/aws4_request";
  const std::string rest = ", SignedHeaders=host, Signature=0";
  EXPECT_TRUE(claim_of("AWS4-HMAC-SHA256 Credential=k/" + scope + rest, date));
  EXPECT_FALSE(claim_of("Bearer Credential=k/" + scope + rest, date));
  EXPECT_FALSE(claim_of("AWS4-HMAC-SHA256 Credential=k" + rest, date));
  EXPECT_FALSE(claim_of("AWS4-HMAC-SHA256 Credential=k/" + scope + rest, "20130525T000000Z"))
      << "another day";
  EXPECT_FALSE(claim_of("AWS4-HMAC-SHA256 Credential=k/" + scope + rest, "2013"));
  EXPECT_FALSE(claim_of("AWS4-HMAC-SHA256 Credential=k/" + scope + ", SignedHeaders=z;a, Signature=0", date));
  EXPECT_FALSE(claim_of("AWS4-HMAC-SHA256", date));
  EXPECT_FALSE(read_claim({"GET", "/", {{"X-Amz-Signature", "0"}}, {}}));
  EXPECT_FALSE(is_signed({"GET", "/", {{"prefix", "x"}}, kHost}));
}

TEST_F(Signatures, HaveTheTimeOfTheRequest) {
  EXPECT_EQ(time_text(kExampleTime), "20130524T000000Z");
  EXPECT_EQ(time_text(1440938160), "20150830T123600Z");
}

}  // namespace
}  // namespace h5mount::sign

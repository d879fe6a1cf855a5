// What is signed, and everything that differs from it.
#include "s3/s3_access.h"

#include <gtest/gtest.h>

#include <random>

#include "h5mount/sign/sha256.h"
#include "sign/presign.h"

namespace h5mount::serve {
namespace {

constexpr std::int64_t kNow = 1'700'000'000;
const S3Key kKey{"reader", "a secret of the tests"};

class S3Access : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!sign::has_sha256()) GTEST_SKIP() << "built without libcrypto";
  }
};

Request request_of(const std::string& target) {
  return {"GET", target, {{"Host", "localhost:8000"}, {"Range", "bytes=0-7"}}};
}

Request signed_request(const std::string& target, std::int64_t now = kNow, const S3Key& key = kKey) {
  Request out = request_of(target);
  sign::Request form = signed_form(out);
  form.headers = {{"host", "localhost:8000"}, {"range", "bytes=0-7"}};
  const auto fields = sign::sign_headers(form, {key.access_key, key.secret_key, ""},
                                         {sign::time_text(now), "us-east-1", "s3"});
  for (const auto& [name, value] : *fields) out.headers.emplace_back(name, value);
  return out;
}

Request presigned_request(const std::string& path, std::int64_t now = kNow) {
  Request out{"GET", path, {{"Host", "localhost:8000"}}};
  const std::string query = sign::presign(signed_form(out), {kKey.access_key, kKey.secret_key, ""},
                                          {sign::time_text(now), "us-east-1", "s3"}, 600);
  return {"GET", path + "?" + query, out.headers};
}

std::string refusal(const Request& request, std::int64_t now = kNow) {
  const auto error = check_signature(kKey, signed_form(request), now);
  return error ? std::string(error->code) : std::string();
}

TEST_F(S3Access, WhatIsSignedIsAccepted) {
  for (const char* target : {"/run.h5/x", "/run.h5?list-type=2&prefix=a%2Fb%20c%2B&delimiter=%2F",
                             "/run.h5/we%20ird%26%3C%C3%A9%2B%2541", "/"}) {
    EXPECT_EQ(refusal(signed_request(target)), "") << target;
    EXPECT_EQ(refusal(signed_request(target), kNow + 800), "") << target;
    EXPECT_EQ(refusal(signed_request(target), kNow - 800), "") << target;
  }
  EXPECT_EQ(refusal(presigned_request("/run.h5/x")), "");
}

TEST_F(S3Access, WhatIsLateUnsignedOrOfAnotherKeyIsRefusedWithItsCode) {
  EXPECT_EQ(refusal(request_of("/run.h5/x")), "AccessDenied");
  EXPECT_EQ(refusal(signed_request("/x"), kNow + 1000), "RequestTimeTooSkewed");
  EXPECT_EQ(refusal(signed_request("/x"), kNow - 1000), "RequestTimeTooSkewed");
  EXPECT_EQ(refusal(presigned_request("/x"), kNow + 601), "AccessDenied");
  EXPECT_EQ(refusal(signed_request("/x", kNow, {"other", kKey.secret_key})), "InvalidAccessKeyId");
  EXPECT_EQ(refusal(signed_request("/x", kNow, {kKey.access_key, "another secret"})),
            "SignatureDoesNotMatch");
  Request both = presigned_request("/x");
  for (const auto& field : signed_request("/x").headers) both.headers.push_back(field);
  EXPECT_EQ(refusal(both), "InvalidArgument");
  Request second{"GET", "/x", {{"Host", "localhost"}, {"Authorization", "AWS reader:c2lnbmF0dXJl"}}};
  EXPECT_EQ(refusal(second), "AuthorizationHeaderMalformed");
}

TEST_F(S3Access, AHashOfABodyIsThatOfNone) {
  Request request = request_of("/x");
  sign::Request form = signed_form(request);
  form.headers = {{"host", "localhost:8000"}};
  for (const auto& [hash, code] : {std::pair<std::string, std::string>{sign::sha256_hex(""), ""},
                                   {sign::sha256_hex("body"), "XAmzContentSHA256Mismatch"},
                                   {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "XAmzContentSHA256Mismatch"}}) {
    Request out = request;
    const auto fields = sign::sign_headers(form, {kKey.access_key, kKey.secret_key, ""},
                                           {sign::time_text(kNow), "us-east-1", "s3"}, hash);
    for (const auto& [name, value] : *fields) out.headers.emplace_back(name, value);
    EXPECT_EQ(refusal(out), code) << hash;
  }
}

// Another request than the one that was signed: what is signed of it reads otherwise.
bool is_another(const Request& one, const Request& other) {
  const sign::Request a = signed_form(one), b = signed_form(other);
  auto fields = [](Fields of) {
    for (auto& [name, value] : of) std::erase(value, ' ');  // which separate, in any number
    std::ranges::sort(of);
    return of;
  };
  return a.method != b.method || a.path != b.path || fields(a.query) != fields(b.query) ||
         fields(a.headers) != fields(b.headers);
}

// A byte of the text is changed, removed, doubled or put elsewhere.
void mutate(std::string& text, std::mt19937& random) {
  if (text.empty()) return;
  const std::size_t at = random() % text.size();
  switch (random() % 4) {
    case 0:
      text[at] = static_cast<char>('!' + random() % 94);
      break;
    case 1:
      text.erase(at, 1);
      break;
    case 2:
      text.insert(at, 1, text[at]);
      break;
    default:
      std::swap(text[at], text[random() % text.size()]);
  }
}

TEST_F(S3Access, OfTenThousandMutatedRequestsNoneIsAccepted) {
  std::mt19937 random(7);
  const std::vector<Request> whole = {signed_request("/run.h5/group/image"),
                                      signed_request("/run.h5?list-type=2&prefix=a%2Fb&max-keys=10"),
                                      presigned_request("/run.h5/group/image")};
  unsigned tried = 0;
  while (tried < 10'000) {
    const Request& original = whole[random() % whole.size()];
    Request changed = original;
    const std::size_t place = random() % (changed.headers.size() + 2);
    if (place < changed.headers.size())
      mutate(changed.headers[place].second, random);
    else if (place == changed.headers.size())
      mutate(changed.uri, random);
    else
      mutate(changed.method, random);
    const Request request(changed.method, changed.uri, changed.headers);
    if (!is_another(original, request)) continue;
    ++tried;
    std::string said = request.method + " " + request.uri;
    for (const auto& [name, value] : request.headers) said += "\n" + name + ": " + value;
    EXPECT_NE(refusal(request), "") << said;
  }
}

}  // namespace
}  // namespace h5mount::serve

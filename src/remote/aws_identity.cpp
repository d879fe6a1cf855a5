#include "aws_identity.h"

#include <cstdlib>

#include "h5mount/sign/percent.h"

namespace h5mount::remote {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts)
    if (!text.empty()) return text;
  return {};
}

std::optional<sign::Credentials> from_environment() {
  const std::string key = environment("AWS_ACCESS_KEY_ID"), secret = environment("AWS_SECRET_ACCESS_KEY");
  if (key.empty() || secret.empty()) return {};
  return sign::Credentials{key, secret, environment("AWS_SESSION_TOKEN")};
}

}  // namespace

AwsIdentity::AwsIdentity(const Options& options) : options_(options) {
  endpoint_ =
      first_of({options.s3_endpoint, environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL")});
  region_ = first_of({options.s3_region, environment("AWS_REGION"), environment("AWS_DEFAULT_REGION")});
  if (!options.anonymous) credentials_ = from_environment();
}

std::string AwsIdentity::region() const {
  const MutexLock lock(mutex_);
  return region_.empty() ? "us-east-1" : region_;
}

void AwsIdentity::set_region(const std::string& region) {
  const MutexLock lock(mutex_);
  region_ = region;
}

// The bucket stands in the path where the endpoint is one's own, and where its dots would not fit a
// certificate.
Url AwsIdentity::place_of(const Url& s3) const {
  const std::string key = sign::encode_path(s3.target);
  const bool in_path = !endpoint_.empty() || s3.host.contains('.');
  const std::string own = endpoint_.contains("://") ? endpoint_ : "https://" + endpoint_;
  const std::string amazon = "s3." + region() + ".amazonaws.com";
  std::string base = endpoint_.empty() ? "https://" + (in_path ? "" : s3.host + ".") + amazon : own;
  while (base.ends_with('/')) base.pop_back();
  return parse_url(base + (in_path ? "/" + s3.host : "") + "/" + key)
      .value_or(Url{"https", {}, {}, amazon, {}, "/"});
}

Result<sign::Fields> AwsIdentity::sign(const Url& url, std::int64_t now) const {
  std::optional<sign::Credentials> credentials;
  {
    const MutexLock lock(mutex_);
    credentials = credentials_;
  }
  sign::Fields extra;
  if (options_.requester_pays) extra.emplace_back("x-amz-request-payer", "requester");
  if (!credentials) return extra;
  sign::Request request{"GET", sign::decode_percent(url.target.substr(0, url.target.find('?'))), {}, {}};
  if (const std::size_t query = url.target.find('?'); query != std::string::npos)
    request.query = sign::decode_query(url.target.substr(query + 1));
  request.headers = extra;
  request.headers.emplace_back("host", url.host + (url.port.empty() ? "" : ":" + url.port));
  H5_ASSIGN(auto added, sign::sign_headers(request, *credentials, {sign::time_text(now), region(), "s3"}));
  added.insert(added.end(), extra.begin(), extra.end());
  return added;
}

}  // namespace h5mount::remote

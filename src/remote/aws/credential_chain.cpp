#include "credential_chain.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include "../transport/answer.h"

namespace h5mount::remote {
namespace {

constexpr unsigned kMaxRoles = 5;
constexpr std::size_t kMaxIssuedText = 64U << 10;

Error no_credentials(const std::string& why) {
  return {ErrorCode::Io, "no S3 credentials: " + why};
}

// The answer of a source of credentials; an error if it has none.
Result<std::optional<Issued>> sound(std::optional<Issued> issued, const std::string& from) {
  if (!issued) return fail(no_credentials("what " + from + " is not what AWS defines"));
  return issued;
}

}  // namespace

CredentialChain::CredentialChain(const Options& options, AwsProfiles profiles, std::string region)
    : timeout_(options.timeout),
      named_(options.profile),
      profile_(first_of({named_, aws_environment("AWS_PROFILE"), "default"})),
      profiles_(std::move(profiles)),
      region_(std::move(region)) {}

Status CredentialChain::prepare() {
  if (profile_ != "default" && !profiles_.has(profile_))
    return fail(no_credentials("the profile " + profile_ + " is neither in ~/.aws/config nor in " +
                               "~/.aws/credentials"));
  std::string profile = profile_;
  for (unsigned depth = 0; depth < kMaxRoles && !profile.empty(); ++depth) {
    if (!profiles_.field(profile, "credential_process").empty()) H5_TRY(start_program(profile));
    profile = profiles_.field(profile, "source_profile");
  }
  return {};
}

std::chrono::milliseconds CredentialChain::time_left() const {
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now()),
                  std::chrono::milliseconds(1000));
}

std::optional<Issued> CredentialChain::of_environment(const Options& options) {
  const std::string key = aws_environment("AWS_ACCESS_KEY_ID"),
                    secret = aws_environment("AWS_SECRET_ACCESS_KEY");
  if (!options.profile.empty() || key.empty() || secret.empty()) return std::nullopt;
  return Issued{{key, secret, aws_environment("AWS_SESSION_TOKEN")}, 0};
}

Result<std::optional<Issued>> CredentialChain::get(Transfers& transfers) {
  until_ = Clock::now() + timeout_;
  profiles_ = AwsProfiles::read();  // whoever writes the files may have renewed the keys
  H5_ASSIGN(auto found, of_profile(transfers, profile_, 0));
  if (found) return found;
  if (const std::string file = aws_environment("AWS_WEB_IDENTITY_TOKEN_FILE"); !file.empty())
    return of_web_identity(transfers, file,
                           {{"RoleArn", aws_environment("AWS_ROLE_ARN")},
                            {"RoleSessionName", aws_environment("AWS_ROLE_SESSION_NAME")}});
  H5_ASSIGN(found, of_container(transfers));
  if (found) return found;
  return of_ec2(transfers);
}

Result<std::optional<Issued>> CredentialChain::of_profile(Transfers& transfers,  // NOLINT(misc-no-recursion)
                                                          const std::string& profile, unsigned depth) {
  const auto field = [&](const char* name) { return profiles_.field(profile, name); };
  if (!field("role_arn").empty()) return of_role(transfers, profile, depth);
  const std::string key = field("aws_access_key_id"), secret = field("aws_secret_access_key");
  if (!key.empty() && !secret.empty()) return Issued{{key, secret, field("aws_session_token")}, 0};
  if (!field("credential_process").empty()) return of_program(profile);
  if (!first_of({field("sso_session"), field("sso_start_url")}).empty())
    return fail(no_credentials("the profile " + profile + " signs on by SSO: give it " +
                               "credential_process = aws configure export-credentials --profile NAME"));
  return std::nullopt;
}

Result<std::optional<Issued>> CredentialChain::of_role(Transfers& transfers,  // NOLINT(misc-no-recursion)
                                                       const std::string& profile, unsigned depth) {
  const auto field = [&](const char* name) { return profiles_.field(profile, name); };
  if (depth == kMaxRoles) return fail(no_credentials("the roles of profile " + profile + " never end"));
  Fields role{{"RoleArn", field("role_arn")},
              {"RoleSessionName", field("role_session_name")},
              {"ExternalId", field("external_id")},
              {"DurationSeconds", field("duration_seconds")}};
  if (const std::string file = field("web_identity_token_file"); !file.empty())
    return of_web_identity(transfers, file, role);
  if (!field("mfa_serial").empty())
    return fail(no_credentials("the role of profile " + profile + " wants a code each time (MFA): give it " +
                               "credential_process = aws configure export-credentials --profile NAME"));
  H5_ASSIGN(const auto source, of_role_source(transfers, profile, depth));
  if (!source) return fail(no_credentials("nobody to take the role of profile " + profile));
  role.emplace_back("Action", "AssumeRole");
  return ask_sts(transfers, std::move(role), &source->credentials);
}

Result<std::optional<Issued>> CredentialChain::of_role_source(Transfers& transfers,
                                                              const std::string& profile,
                                                              unsigned depth) {  // NOLINT(misc-no-recursion)
  const std::string from = profiles_.field(profile, "source_profile");
  if (from == profile) {  // the profile's own keys take its role
    const std::string key = profiles_.field(profile, "aws_access_key_id");
    return Issued{{key, profiles_.field(profile, "aws_secret_access_key"),
                   profiles_.field(profile, "aws_session_token")},
                  0};
  }
  if (!from.empty()) {
    if (!profiles_.has(from)) return fail(no_credentials("there is no profile " + from));
    return of_profile(transfers, from, depth + 1);
  }
  const std::string kind = profiles_.field(profile, "credential_source");
  if (kind == "Environment") return of_environment({});
  if (kind == "EcsContainer") return of_container(transfers);
  if (kind == "Ec2InstanceMetadata") return of_ec2(transfers);
  return fail(no_credentials("the profile " + profile + " has a role and no source_profile"));
}

Status CredentialChain::start_program(const std::string& profile) {
  auto started = CredentialProgram::start(profiles_.field(profile, "credential_process"));
  if (!started) return fail(no_credentials("profile " + profile + ": " + started.error().text()));
  programs_[profile] = *std::move(started);
  return {};
}

Result<std::optional<Issued>> CredentialChain::of_program(const std::string& profile) {
  if (!programs_.contains(profile)) H5_TRY(start_program(profile));
  const auto printed = programs_[profile]->run(time_left());
  if (!printed) return fail(no_credentials("profile " + profile + ": " + printed.error().text()));
  return sound(credentials_of_json(*printed, "SessionToken"),
               "credential_process of profile " + profile + " prints");
}

Result<std::optional<Issued>> CredentialChain::of_web_identity(Transfers& transfers, const std::string& file,
                                                               const Fields& role) const {
  std::string token;
  std::ifstream stored(file);
  if (!std::getline(stored, token, '\0') || token.empty())
    return fail(no_credentials("the token of the web identity cannot be read: " + file));
  Fields form = role;
  form.emplace_back("Action", "AssumeRoleWithWebIdentity");
  form.emplace_back("WebIdentityToken", token.substr(0, token.find_last_not_of("\r\n") + 1));
  return ask_sts(transfers, std::move(form), nullptr);
}

Result<std::optional<Issued>> CredentialChain::ask_sts(Transfers& transfers, Fields form,
                                                       const sign::Credentials* signer) const {
  const std::string amazon = "https://sts." + (region_.empty() ? "" : region_ + ".") + "amazonaws.com";
  H5_ASSIGN(const Url at, parse_url(first_of({aws_environment("AWS_ENDPOINT_URL_STS"), amazon})));
  form.emplace_back("Version", "2011-06-15");
  std::erase_if(form, [](const auto& field) { return field.second.empty(); });
  if (find_parameter(form, "RoleSessionName") == nullptr) form.emplace_back("RoleSessionName", "h5mount");
  HttpRequest request;
  request.url = at.sent();
  request.method = "POST";
  request.body = encode_query(form);
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  if (signer != nullptr) {
    H5_ASSIGN(const auto fields, sign_form(at, request, *signer, region_.empty() ? "us-east-1" : region_));
    request.headers.insert(request.headers.end(), fields.begin(), fields.end());
  }
  H5_ASSIGN(const std::string answer, ask(transfers, std::move(request), "STS", kMaxTries));
  return sound(credentials_of_xml(answer), "STS answers");
}

// Asks the container's service. A URL in the environment is used only if it is https, or if its address is
// this machine's or that of one of AWS's own services.
Result<std::optional<Issued>> CredentialChain::of_container(Transfers& transfers) const {
  std::string place = aws_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (const std::string relative = aws_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
      !relative.empty())
    place = "http://169.254.170.2" + relative;
  if (place.empty()) return std::nullopt;
  H5_ASSIGN(const Url at, parse_url(place));
  if (!may_give_credentials(at))
    return fail(no_credentials("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor this machine's"));
  std::string token = aws_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = aws_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !file.empty()) {
    std::ifstream stored(file);
    std::getline(stored, token);
  }
  HttpRequest request;
  request.url = at.sent();
  request.direct = true;
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  H5_ASSIGN(const std::string answer,
            ask(transfers, std::move(request), "the container's service", kMaxTries));
  return sound(credentials_of_json(answer, "Token"), "the container's service answers");
}

// Asks EC2's metadata service, version 2, which needs a token. This comes last, by one short try, as most
// machines have no such service.
Result<std::optional<Issued>> CredentialChain::of_ec2(Transfers& transfers) const {
  if (aws_environment("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  std::string base =
      first_of({aws_environment("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "http://169.254.169.254"});
  while (base.ends_with('/')) base.pop_back();
  HttpRequest first;
  first.url = base + "/latest/api/token";
  first.method = "PUT";
  first.direct = true;
  first.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  const auto token = ask(transfers, std::move(first), "EC2", 1);
  if (!token) return std::nullopt;
  const auto get = [&](const std::string& path) {
    HttpRequest request;
    request.url = base + "/latest/meta-data/iam/security-credentials/" + path;
    request.direct = true;
    request.headers = {{"X-aws-ec2-metadata-token", *token}};
    return ask(transfers, std::move(request), "EC2's metadata service", 1);
  };
  const auto roles = get({});
  if (!roles || roles->empty()) return std::nullopt;  // the machine has no role
  H5_ASSIGN(const std::string answer, get(encode_path(roles->substr(0, roles->find('\n')))));
  return sound(credentials_of_json(answer, "Token"), "EC2's metadata service answers");
}

// Follows no redirect: the request may contain a secret, and so does the answer.
Result<std::string> CredentialChain::ask(Transfers& transfers, HttpRequest request, const std::string& what,
                                         unsigned tries) const {
  request.most_bytes = kMaxIssuedText;
  request.silence = tries == 1 ? std::chrono::milliseconds(1000)
                               : std::chrono::duration_cast<std::chrono::milliseconds>(timeout_) / 3;
  for (unsigned tried = 1;; ++tried) {
    HttpAnswer answer = transfers.ask(request);
    if (answer.trouble.empty() && answer.status == 200) return std::move(answer.body);
    const Judged judged = judge_failure(answer.status, answer);
    const std::string why = answer.trouble.empty() ? judged.why : answer.trouble;
    const auto pause = pause_before(tried, answer);
    const bool passes = !answer.trouble.empty() || judged.verdict == Verdict::Again;
    if (!passes || tried >= tries || pause >= time_left())
      return fail(Error(ErrorCode::Io,
                        "no S3 credentials: " + what + ": " + (why.empty() ? "it leads elsewhere" : why)));
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace h5mount::remote

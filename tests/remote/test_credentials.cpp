// Who asks S3: every place that AWS's tools know, their order, renewal, and that nothing secret is shown.
#include <thread>

#include "remote_command.h"

namespace h5mount::test {
namespace {

class RemoteCredentialsTest : public RemoteCommandTest {
 protected:
  void SetUp() override {
    RemoteCommandTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(in("mkdir -p www/bucket home/.aws && cp www/deep/main.h5 www/other.h5 www/bucket").code, 0);
    serve({"--secret", "AKID:se/cret"});
    issue_for(3600);
  }
  void issue_for(int seconds) {
    keys = std::make_unique<FarServer>(
        place / "www", std::vector<std::string>{"--expires", std::to_string(seconds)}, "key_server.py");
    ASSERT_NE(keys->port(), 0);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(place / name) << text; }
  // A command with $U and $K, the servers, and no variables of AWS but `variables` and those that lead here.
  Outcome as(const std::string& variables, const std::string& command) const {
    return in("K=" + keys->url() + "; env -i PATH=\"$PATH\" H5MOUNT=\"$H5MOUNT\" HOME=$PWD/home K=$K U=" +
              server->url() + " AWS_ENDPOINT_URL_S3=" + server->url() +
              " AWS_EC2_METADATA_DISABLED=true AWS_ENDPOINT_URL_STS=$K " + variables + " sh -c '" + command +
              "'");
  }
  // The session token of the last request for the object; what the command says where it fails.
  std::string token_of(const std::string& variables, const std::string& options = {}) const {
    server->reset();
    const Outcome out = as(variables, "$H5MOUNT --list " + options + " s3://bucket/other.h5");
    if (out.code != 0) return std::to_string(out.code) + " " + out.err;
    const std::string asked = server->requests(), name = "\"x-amz-security-token\": \"";
    const std::size_t at = asked.rfind(name);
    if (at == std::string::npos) return "no token";
    return asked.substr(at + name.size(), asked.find('"', at + name.size()) - at - name.size());
  }
  void expect_error(const std::string& got, const std::string& words) const {
    EXPECT_TRUE(got.starts_with("1 h5mount: ")) << got;
    EXPECT_NE(got.find(words), std::string::npos) << got;
    EXPECT_EQ(got.find("se/cret"), std::string::npos) << got;
  }

  std::unique_ptr<FarServer> keys;
};

constexpr const char* kKeys = "aws_access_key_id = AKID\naws_secret_access_key = se/cret\n";

TEST_F(RemoteCredentialsTest, ProfilesHaveKeysRegionAndEndpoint) {
  const std::string keys_of = kKeys;
  write("home/.aws/credentials",
        "[default]\naws_access_key_id=X\naws_secret_access_key=Y\n# a comment\n[work]\n" + keys_of +
            "aws_session_token=of-work\n");
  write("home/.aws/config",
        "[profile work]\nregion = eu-south-1\nservices = here\n[services here]\ns3 =\n  "
        "endpoint_url = " +
            server->url() + "\n[profile keyless]\nregion = x\n");
  EXPECT_EQ(token_of("", "-o profile=work"), "of-work");
  EXPECT_EQ(token_of("AWS_PROFILE=work"), "of-work");
  EXPECT_EQ(token_of("AWS_PROFILE=work AWS_ENDPOINT_URL_S3="), "of-work") << "the endpoint is the profile's";
  expect_error(token_of(""), "the server refuses it (403)");
  expect_error(token_of("", "-o profile=none"), "the profile none is neither in ~/.aws/config nor in");
  const std::string other = "AWS_ACCESS_KEY_ID=X AWS_SECRET_ACCESS_KEY=Y ";
  expect_error(token_of(other + "AWS_PROFILE=work"), "(403)");
  EXPECT_EQ(token_of(other, "-o profile=work"), "of-work") << "what the user names goes first";
  write("elsewhere", "[other]\n" + keys_of);
  EXPECT_EQ(token_of("AWS_SHARED_CREDENTIALS_FILE=elsewhere AWS_PROFILE=other"), "no token");
  expect_error(token_of("AWS_PROFILE=keyless"), "(403)");
  serve({"--secret", "AKID:se/cret", "--region", "eu-south-1"});
  EXPECT_EQ(token_of("", "-o profile=work"), "of-work");
  EXPECT_EQ(server->count(), 1) << "the region is the profile's";
}

TEST_F(RemoteCredentialsTest, AProgramPrintsThem) {
  write("print",
        "echo asked >> asked; echo \"$1\" >&2\necho '{\"Version\": 1, \"AccessKeyId\": \"AKID\", "
        "\"SecretAccessKey\": \"se/cret\", \"SessionToken\": \"'\"$1 $2\" | tr -d '\\n '; echo '\"}'\n");
  const auto with = [&](const std::string& command) {
    write("home/.aws/config", "[default]\ncredential_process = " + command + "\n");
    return token_of("", "-o timeout=2");
  };
  EXPECT_EQ(with("sh print \"a b\" c"), "abc");
  EXPECT_EQ(in("wc -l < asked").out, "1\n");
  expect_error(with("sh -c \"exit 3\""), "profile default: credential_process ended with exit code 003");
  expect_error(with("echo se/cret"), "is not what AWS defines");
  expect_error(with("cat /dev/zero"), "prints more than credentials");
  expect_error(with("sleep 1000"), "it took too long");
  expect_error(with("\"open quote"), "credential_process is no command");
  expect_error(with("/none/such"), "exit code 127");
}

TEST_F(RemoteCredentialsTest, WebIdentitiesAndRolesAreTakenFromSts) {
  write("web", "web-token\n");
  const std::string web = "AWS_WEB_IDENTITY_TOKEN_FILE=web AWS_ROLE_ARN=arn:role";
  EXPECT_EQ(token_of(web), "token-1");
  EXPECT_EQ(keys->requests().find("web-token\", \"/"), std::string::npos) << "it is in the body alone";
  expect_error(token_of("AWS_WEB_IDENTITY_TOKEN_FILE=none AWS_ROLE_ARN=arn:role"), "cannot be read");
  expect_error(token_of("AWS_WEB_IDENTITY_TOKEN_FILE=web AWS_ROLE_ARN=other"),
               "STS: the server refuses it (403)");
  write("home/.aws/config",
        "[profile a]\nrole_arn=arn:role\nsource_profile=b\nexternal_id=e/x\n[profile "
        "b]\naws_access_key_id=BASE\n"
        "aws_secret_access_key=base\n[profile c]\nrole_arn=arn:role\nsource_profile=d\n[profile d]\n"
        "role_arn=arn:role\nsource_profile=c\n[profile web]\nrole_arn=arn:role\nweb_identity_token_file=web\n"
        "[profile mfa]\nrole_arn=arn:role\nsource_profile=b\nmfa_serial=1\n[profile sso]\nsso_session=s\n"
        "[profile env]\nrole_arn=arn:role\ncredential_source=Environment\n");
  EXPECT_EQ(token_of("", "-o profile=a"), "token-2");
  EXPECT_NE(keys->requests().find("ExternalId=e%2Fx"), std::string::npos);
  EXPECT_EQ(token_of("", "-o profile=web"), "token-3");
  EXPECT_EQ(token_of("AWS_ACCESS_KEY_ID=BASE AWS_SECRET_ACCESS_KEY=base", "-o profile=env"), "token-4");
  expect_error(token_of("AWS_PROFILE=c"), "never end");
  expect_error(token_of("AWS_PROFILE=mfa"), "export-credentials");
  expect_error(token_of("AWS_PROFILE=sso"), "export-credentials");
}

TEST_F(RemoteCredentialsTest, ContainersAndMachinesGiveThem) {
  const std::string container = "AWS_CONTAINER_CREDENTIALS_FULL_URI=${K}container ";
  EXPECT_EQ(token_of(container + "AWS_CONTAINER_AUTHORIZATION_TOKEN=container-token"), "token-1");
  write("token", "container-token\n");
  EXPECT_EQ(token_of(container + "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=token"), "token-2");
  EXPECT_EQ(token_of("http_proxy=http://127.0.0.1:1 no_proxy=127.0.0.1 " + container +
                     "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=token"),
            "token-3");
  expect_error(token_of(container), "the container's service: the server refuses it (403)");
  for (const char* elsewhere : {"http://192.0.2.1/x", "http://127.example.org/x", "http://169.254.169.254/x"})
    expect_error(token_of(std::string("AWS_CONTAINER_CREDENTIALS_FULL_URI=") + elsewhere),
                 "neither https:// nor this machine's");
  const std::string machine = "AWS_EC2_METADATA_SERVICE_ENDPOINT=$K AWS_EC2_METADATA_DISABLED=false";
  EXPECT_EQ(token_of(machine), "token-4");
  expect_error(token_of("AWS_EC2_METADATA_SERVICE_ENDPOINT=$K"), "(403)");
  expect_error(
      token_of("AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1 AWS_EC2_METADATA_DISABLED=false"),
      "(403)");
}

TEST_F(RemoteCredentialsTest, AreLookedForInTheOrderOfAwsOwnTools) {
  write("web", "web-token");
  std::string all = "AWS_EC2_METADATA_SERVICE_ENDPOINT=$K AWS_EC2_METADATA_DISABLED=false ";
  EXPECT_EQ(token_of(all), "token-1");
  EXPECT_EQ(keys->count(), 3);
  all +=
      "AWS_CONTAINER_CREDENTIALS_FULL_URI=${K}container AWS_CONTAINER_AUTHORIZATION_TOKEN=container-token ";
  EXPECT_EQ(token_of(all), "token-2");
  EXPECT_EQ(keys->count(), 4);
  all += "AWS_WEB_IDENTITY_TOKEN_FILE=web AWS_ROLE_ARN=arn:role ";
  EXPECT_EQ(token_of(all), "token-3");
  EXPECT_EQ(keys->count(), 5);
  write("home/.aws/credentials", std::string("[default]\naws_session_token=profile\n") + kKeys);
  EXPECT_EQ(token_of(all), "profile");
  all += "AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=se/cret AWS_SESSION_TOKEN=environment ";
  EXPECT_EQ(token_of(all), "environment");
  expect_error(token_of(all, "-o anonymous"), "(403)");
  EXPECT_EQ(keys->count(), 5) << "one place is asked, and no other behind it";
}

// ---- mounts

class RemoteCredentialsMountTest : public RemoteCredentialsTest {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    RemoteCredentialsTest::SetUp();
  }
  void mounts(const std::string& variables) const {
    const Outcome out = as(variables, "$H5MOUNT -o log_level=debug s3://bucket/main.h5 " + mount.path());
    ASSERT_EQ(out.code, 0) << out.err;
  }
  bool asked_with(const std::string& token) const {
    return server->requests().find("\"x-amz-security-token\": \"" + token + "\"") != std::string::npos;
  }
  static constexpr const char* kMachine =
      "AWS_EC2_METADATA_SERVICE_ENDPOINT=$K AWS_EC2_METADATA_DISABLED=false";
  MountPoint mount;
};

TEST_F(RemoteCredentialsMountTest, WhatIsRefusedIsRenewedOnce) {
  mounts(kMachine);
  EXPECT_TRUE(asked_with("token-1"));
  server->set("fail=1:403");
  EXPECT_EQ(mount.in("tail -c 4 numbers | od -An -td4").out, "      499999\n");
  EXPECT_TRUE(asked_with("token-2"));
  server->set("fail=99:403");
  EXPECT_NE(mount.in("head -c 1500000 numbers | tail -c 4").err.find("Permission denied"), std::string::npos);
  EXPECT_FALSE(asked_with("token-3")) << "a minute has not passed";
}

TEST_F(RemoteCredentialsMountTest, WhatHasExpiredIsNotUsed) {
  issue_for(-1);
  mounts(kMachine);
  EXPECT_EQ(mount.in("tail -c 4 numbers | od -An -td4").out, "      499999\n");
  EXPECT_TRUE(asked_with("token-1"));
  EXPECT_TRUE(asked_with("token-2"));
}

// Credentials that expire soon are renewed beside the requests, none of which waits for that; where that
// fails they are used on.
TEST_F(RemoteCredentialsMountTest, WhatExpiresSoonIsRenewedInTheBackground) {
  issue_for(120);
  mounts(kMachine);
  const MountPoint other;
  const Outcome out = as(kMachine, "$H5MOUNT s3://bucket/main.h5 " + other.path());
  ASSERT_EQ(out.code, 0) << out.err;
  std::this_thread::sleep_for(std::chrono::seconds(11));  // between two renewals lie ten
  server->reset();
  // Each time bytes that have not come yet.
  const auto read = [](const MountPoint& at, int place) {
    return at
        .in("dd if=numbers bs=4 count=1 status=none skip=" + std::to_string(275'000 + 20'000 * place) +
            " | od -An -td4")
        .out;
  };
  EXPECT_EQ(read(mount, 0), "      275000\n");
  EXPECT_TRUE(asked_with("token-1"));
  for (int place = 1; place < 10 && !asked_with("token-3"); ++place) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (void)read(mount, place);
  }
  EXPECT_TRUE(asked_with("token-3"));
  keys->stop();
  EXPECT_EQ(read(other, 0), "      275000\n");
  const std::string kept = "those before are used on";
  for (int i = 0; i < 50 && other.in("cat .h5/log").out.find(kept) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_NE(other.in("cat .h5/log").out.find(kept), std::string::npos);
  EXPECT_EQ(read(other, 1), "      295000\n");
  EXPECT_TRUE(asked_with("token-2"));
}

// Root's filter lets the mount start no program: the one that gives credentials is started by a shell from
// before.
TEST_F(RemoteCredentialsMountTest, AProgramIsRunAgainAndNothingSecretIsShown) {
  write("print", "echo asked >> " + (place / "asked").string() +
                     "\necho '{\"Version\": 1, \"AccessKeyId\": \"AKID\", \"SecretAccessKey\": \"se/cret\", "
                     "\"SessionToken\": \"hidden\"}'\n");
  write("home/.aws/config", "[profile p]\ncredential_process = sh " + (place / "print").string() + "\n");
  mounts("AWS_PROFILE=p");
  server->set("fail=1:403");
  EXPECT_EQ(mount.in("tail -c 4 numbers | od -An -td4").out, "      499999\n");
  EXPECT_EQ(in("wc -l < asked").out, "2\n");
  const Outcome shown = mount.in(
      "findmnt -no SOURCE .; df . ; cat .h5/status .h5/log .h5/list.txt; getfattr -d . words; "
      "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -e 'main.h5 /' -e h5mount-credentials; "
      "done 2>/dev/null");
  EXPECT_NE(shown.out.find("s3://bucket/main.h5"), std::string::npos) << shown.out;
  for (const char* secret : {"se/cret", "hidden"})
    EXPECT_EQ(shown.out.find(secret), std::string::npos) << shown.out;
}

}  // namespace
}  // namespace h5mount::test

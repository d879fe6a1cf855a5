// The sources of credentials for S3, asked in the order of AWS's own tools: the environment, a profile (its
// role, keys or program), a web identity, the container's service, EC2's. A profile that the user names goes
// before the environment. Threads: one at a time; the functions wait.
#pragma once

#include "aws_profiles.h"
#include "credential_program.h"
#include "credential_texts.h"
#include "h5mount/remote/remote.h"

namespace h5mount::remote {

class CredentialChain {
 public:
  CredentialChain(const Options& options, AwsProfiles profiles, std::string region);

  // Starts the programs that the profile names. Fails if the profile that the user names is in no file.
  Status prepare();

  // The credentials in the environment, which need no waiting and never change.
  static std::optional<Issued> of_environment(const Options& options);
  // Returns nullopt if there are no credentials; requests are then not signed. Fails if a source that is
  // configured fails.
  Result<std::optional<Issued>> get(Transfers& transfers);

 private:
  using Found = Result<std::optional<Issued>>;

  Found of_profile(Transfers& transfers, const std::string& profile, unsigned depth);
  Found of_role(Transfers& transfers, const std::string& profile, unsigned depth);
  Found of_role_source(Transfers& transfers, const std::string& profile, unsigned depth);
  Found of_program(const std::string& profile);
  Status start_program(const std::string& profile);
  Found of_web_identity(Transfers& transfers, const std::string& file, const Fields& role) const;
  Found of_container(Transfers& transfers) const;
  Found of_ec2(Transfers& transfers) const;

  Found ask_sts(Transfers& transfers, Fields form, const sign::Credentials* signer) const;
  // Returns the answer's body. `what`: for messages; `tries`: the largest number of tries.
  Result<std::string> ask(Transfers& transfers, HttpRequest request, const std::string& what,
                          unsigned tries) const;

  std::chrono::milliseconds time_left() const;

  std::chrono::seconds timeout_;
  Clock::time_point until_;      // end of the time for the present call of get
  std::string named_, profile_;  // the one that the user names; the one that is used
  AwsProfiles profiles_;
  std::string region_;
  std::map<std::string, std::unique_ptr<CredentialProgram>> programs_;  // by profile
};

}  // namespace h5mount::remote

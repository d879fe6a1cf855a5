// The program that a profile's `credential_process` names, which prints credentials as JSON. It is run by a
// shell that is started at once, as long as this process may start programs, and told to run it when
// credentials are wanted. Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "h5mount/base/helper_process.h"

namespace h5mount::remote {

class CredentialProgram {
 public:
  // `command`: as the profile has it, words with double quotes around those that have spaces.
  static Result<std::unique_ptr<CredentialProgram>> start(const std::string& command);

  // What the program prints. Errors: Io, TimedOut; they show nothing of what it has printed.
  Result<std::string> run(std::chrono::milliseconds time);

 private:
  explicit CredentialProgram(std::string command) : command_(std::move(command)) {}
  Status start_shell();
  Result<std::string> read_answer(HelperProcess::Deadline deadline);

  const std::string command_;
  std::unique_ptr<HelperProcess> shell_;
};

}  // namespace h5mount::remote

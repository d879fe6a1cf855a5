// The program that a profile's `credential_process` names, which prints credentials as JSON. A shell runs it:
// the shell is started early, while this process may still start programs, and is told to run the program
// when credentials are wanted. Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "h5mount/base/helper_process.h"

namespace h5mount::remote {

class CredentialProgram {
 public:
  // `command` is as in the profile: words, with double quotes around those that have spaces.
  static Result<std::unique_ptr<CredentialProgram>> start(const std::string& command);

  // Runs the program and returns what it prints. Errors: Io, TimedOut; they show nothing of what it has
  // printed.
  Result<std::string> run(std::chrono::milliseconds time);

 private:
  explicit CredentialProgram(std::string command) : command_(std::move(command)) {}
  Status start_shell();
  Result<std::string> read_answer(HelperProcess::Deadline deadline);

  const std::string command_;
  std::unique_ptr<HelperProcess> shell_;
};

}  // namespace h5mount::remote

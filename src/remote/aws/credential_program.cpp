#include "credential_program.h"

#include <unistd.h>

#include <span>

namespace h5mount::remote {
namespace {

constexpr std::size_t kMaxPrinted = 64U << 10;
constexpr std::string_view kEnd = "\nh5mount-end ";

// For each line that it reads, the shell runs its words with its own socket as their output, and then reports
// how they ended. The shell ends with the socket; `timeout` bounds the program that it runs.
constexpr const char* kScript =
    "while IFS= read -r time; do timeout -k 1 \"$time\" \"$@\" >&0 </dev/null 2>/dev/null; "
    "printf '\\nh5mount-end %03d\\n' $? >&0; done";

Result<std::vector<std::string>> words_of(const std::string& command) {
  std::vector<std::string> out;
  bool quoted = false, inside = false;
  for (const char c : command) {
    if (c == '"') {
      quoted = !quoted;
      if (!inside) out.emplace_back();
      inside = true;
    } else if (!quoted && (c == ' ' || c == '\t')) {
      inside = false;
    } else {
      if (!inside) out.emplace_back();
      inside = true;
      out.back() += c;
    }
  }
  if (quoted || out.empty() || out.front().empty())
    return fail(Error(ErrorCode::InvalidValue, "credential_process is no command"));
  return out;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) out.emplace_back(*one);
  return out;
}

}  // namespace

Result<std::unique_ptr<CredentialProgram>> CredentialProgram::start(const std::string& command) {
  std::unique_ptr<CredentialProgram> out(new CredentialProgram(command));
  H5_TRY(out->start_shell());
  return out;
}

Status CredentialProgram::start_shell() {
  H5_ASSIGN(const auto words, words_of(command_));
  HelperProcess::Program program{.path = "/bin/sh", .words = {"sh", "-c", kScript, "h5mount-credentials"}};
  program.words.insert(program.words.end(), words.begin(), words.end());
  program.environment = own_environment();
  H5_ASSIGN(shell_, HelperProcess::start(program));
  return {};
}

Result<std::string> CredentialProgram::run(std::chrono::milliseconds time) {
  if (!shell_ || !shell_->running()) H5_TRY(start_shell());
  const auto seconds = std::max<std::int64_t>(time.count() / 1000, 1);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds + 3);
  const std::string line = std::to_string(seconds) + "\n";
  H5_TRY(shell_->send(std::as_bytes(std::span(line)), deadline));
  return read_answer(deadline);
}

Result<std::string> CredentialProgram::read_answer(HelperProcess::Deadline deadline) {
  std::string out;
  for (;;) {
    char next = 0;
    H5_TRY(shell_->receive(std::as_writable_bytes(std::span(&next, 1)), deadline));
    out += next;
    const std::size_t end = out.size() < kEnd.size() + 4 ? std::string::npos : out.size() - kEnd.size() - 4;
    if (next == '\n' && end != std::string::npos && out.compare(end, kEnd.size(), kEnd) == 0) {
      const std::string code = out.substr(out.size() - 4, 3);
      if (code == "000") return out.substr(0, end);
      return fail(Error(ErrorCode::Io, "credential_process ended with exit code " + code +
                                           (code == "124" || code == "137" ? ": it took too long" : "")));
    }
    if (out.size() > kMaxPrinted) {
      shell_ = nullptr;
      return fail(Error(ErrorCode::Io, "credential_process prints more than credentials"));
    }
  }
}

}  // namespace h5mount::remote

#include "exit_codes.h"

#include <cstdio>

#include "h5mount/base/log.h"

namespace h5mount::cli {

bool cannot_be_read(const Error& error) {
  return error.code() == ErrorCode::Io || error.code() == ErrorCode::NotFound ||
         error.code() == ErrorCode::AccessDenied;
}

int exit_code_of(const Error& error) {
  if (error.verdict() != 0) return error.verdict();
  return cannot_be_read(error) ? kExitUnreadable : kExitBadFile;
}

int print_error(const std::string& about, const std::string& words, int code, const char* program) {
  const bool said = about.empty() || words.find(about) != std::string::npos;
  const std::string line = said ? words : about + ": " + words;
  std::fprintf(stderr, "%s: %s\n", program, escape_for_log(line).c_str());
  return code;
}

}  // namespace h5mount::cli

#include "guard.h"

namespace h5mount::fuse {
namespace {

// What a reader brings about by asking, not what is wrong with the file.
bool is_ordinary(ErrorCode code) {
  return code == ErrorCode::NotFound || code == ErrorCode::TooLarge || code == ErrorCode::AccessDenied;
}

}  // namespace

void log_failed(const char* operation, fuse_ino_t node, const Error& error) {
  const LogLevel level = is_ordinary(error.code()) ? LogLevel::Debug : LogLevel::Error;
  if (log_enabled(level)) log(level, "{} of node {}: {}", operation, node, error.text());
}

// Runs inside a catch: it must not throw itself.
void log_accident(const char* operation, fuse_ino_t node, const char* what) {
  try {
    log(LogLevel::Error, "{} of node {}: internal error: {}", operation, node, what);
  } catch (...) {
  }
}

}  // namespace h5mount::fuse

#include "guard.h"

#include <fmt/format.h>

namespace h5mount::fuse {

void report_failure(tree::Tree& tree, fuse_ino_t node, const Error& error) noexcept {
  try {
    tree.report(node, error);
  } catch (...) {  // no memory for the message
  }
}

void report_accident(tree::Tree& tree, const char* operation, fuse_ino_t node, const char* what) noexcept {
  try {
    tree.report(node, Error(ErrorCode::Internal, fmt::format("{}: internal error: {}", operation, what)));
  } catch (...) {  // no memory for the message
  }
}

}  // namespace h5mount::fuse

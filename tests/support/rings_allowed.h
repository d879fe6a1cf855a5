// FUSE over io_uring as long as it lives, where the kernel has it and we may allow it.
#pragma once

#include <sys/utsname.h>

#include <fstream>
#include <string>

namespace h5mount::test {

class RingsAllowed {
 public:
  explicit RingsAllowed(bool allowed = true) : before_(value()) {
    if (!before_.empty()) set(allowed ? "Y" : "N");
    as_wanted_ = value() == (allowed ? "Y" : "N");
  }
  ~RingsAllowed() {
    if (!before_.empty()) set(before_);
  }
  RingsAllowed(const RingsAllowed&) = delete;
  RingsAllowed& operator=(const RingsAllowed&) = delete;

  explicit operator bool() const { return as_wanted_; }
  static std::string kernel() {
    struct utsname system = {};
    ::uname(&system);
    return system.release;
  }

 private:
  static constexpr const char* kParameter = "/sys/module/fuse/parameters/enable_uring";
  static std::string value() {
    std::ifstream in(kParameter);
    std::string out;
    in >> out;
    return out;
  }
  static void set(const std::string& to) { std::ofstream(kParameter) << to; }

  const std::string before_;
  bool as_wanted_ = false;
};

}  // namespace h5mount::test

#define H5MOUNT_NEEDS_RINGS(allowed) \
  if (!(allowed)) GTEST_SKIP() << "no FUSE over io_uring in Linux " << ::h5mount::test::RingsAllowed::kernel()

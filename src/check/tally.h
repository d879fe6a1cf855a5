// Tally: the findings and totals of a check that runs on several threads. Threads: any.
#pragma once

#include <mutex>
#include <string>

#include "h5mount/check/check.h"

namespace h5mount::check {

class Tally {
 public:
  Tally(const Options& options, Report& report);

  bool quick() const { return quick_; }

  // By what kind of error it is.
  void found(const std::string& path, const Error& error);
  void note(const std::string& path, const Error& error) { add({Severity::Note, path, error}); }

  void count(std::uint64_t Totals::* which, std::uint64_t by = 1);
  // False once the report wants no more.
  bool go_on();
  Totals totals() const;

 private:
  void add(const Finding& finding);

  const bool quick_;
  const std::uint64_t checksums_before_;
  mutable std::mutex mutex_;  // guards what follows
  Report& report_;
  Totals totals_;
  bool stopped_ = false;
};

}  // namespace h5mount::check

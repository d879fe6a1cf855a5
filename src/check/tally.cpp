#include "tally.h"

#include "h5mount/base/checksum_count.h"

namespace h5mount::check {

namespace {

Severity severity_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::UnsupportedFeature:
    case ErrorCode::UnsupportedVersion:
    case ErrorCode::LimitExceeded:
    case ErrorCode::TooLarge:
      return Severity::Unchecked;
    case ErrorCode::NotFound:  // of another file
    case ErrorCode::AccessDenied:
      return Severity::Note;
    default:
      return Severity::Damage;
  }
}

}  // namespace

Tally::Tally(const Options& options, Report& report)
    : quick_(options.quick), checksums_before_(metadata_checksums_verified()), report_(report) {}

void Tally::found(const std::string& path, const Error& error) {
  add({severity_of(error.code()), path, error});
}

void Tally::add(const Finding& finding) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t before = totals_.damage + totals_.notes + totals_.unchecked;
  (finding.severity == Severity::Damage ? totals_.damage
   : finding.severity == Severity::Note ? totals_.notes
                                        : totals_.unchecked) += 1;
  if (before < kMaxFindings) report_.found(finding);
}

void Tally::count(std::uint64_t Totals::* which, std::uint64_t by) {
  const std::lock_guard lock(mutex_);
  totals_.*which += by;
}

bool Tally::go_on() {
  const std::lock_guard lock(mutex_);
  if (!stopped_) {
    totals_.checksums = metadata_checksums_verified() - checksums_before_;
    stopped_ = !report_.go_on(totals_);
  }
  return !stopped_;
}

Totals Tally::totals() const {
  const std::lock_guard lock(mutex_);
  Totals out = totals_;
  out.checksums = metadata_checksums_verified() - checksums_before_;
  return out;
}

}  // namespace h5mount::check

#include "tally.h"

#include <cerrno>
#include <functional>

#include "h5mount/base/checksum.h"
#include "h5mount/base/limits.h"

namespace h5mount::check {

namespace {

Severity severity_of(const Error& error) {
  if (error.system_errno() == EBUSY) return Severity::Note;  // another file, which a writer holds
  switch (error.code()) {
    case ErrorCode::UnsupportedFeature:
    case ErrorCode::UnsupportedVersion:
    case ErrorCode::LimitExceeded:
    case ErrorCode::TooLarge:
    case ErrorCode::BudgetExceeded:
    case ErrorCode::TimedOut:
    case ErrorCode::OutOfMemory:
    case ErrorCode::TooMuchMemory:
      return Severity::Unchecked;
    case ErrorCode::NotFound:  // of another file
    case ErrorCode::AccessDenied:
      return Severity::Note;
    default:
      return Severity::Damage;
  }
}

// Hashes the field's name and place: readers and checks may give a structure's part two names.
std::size_t field_hash(const Error& error) {
  return std::hash<std::string>()(std::string(error.field()) + '\0' + std::to_string(error.offset()));
}

}  // namespace

Tally::Tally(const Options& options, Report& report)
    : quick_(options.quick), checksums_before_(metadata_checksums_verified()), report_(report) {}

void Tally::found(const std::string& path, const Error& error) {
  if (error.code() == ErrorCode::Interrupted) return;  // the report wants no more
  add({severity_of(error), path, error});
}

void Tally::disagrees(const std::string& path, const Error& error) {
  {
    const MutexLock lock(mutex_);
    if (!told_fields_.insert(field_hash(error)).second) return;
  }
  add({Severity::Damage, path, error, true});
}

void Tally::add(const Finding& finding) {
  const std::size_t told = std::hash<std::string>()(finding.path + '\0' + finding.error.text());
  const MutexLock lock(mutex_);
  const std::uint64_t before = totals_.damage + totals_.notes + totals_.unchecked;
  // One damaged block of a heap is met once for each link that lies in it.
  if (before < limits::kMaxFindings && !told_.insert(told).second) return;
  if (before < limits::kMaxFindings) told_fields_.insert(field_hash(finding.error));
  counter(finding.severity) += 1;
  if (before < limits::kMaxFindings) report_.found(finding);
}

void Tally::count_unlisted(const Error& error) {
  const MutexLock lock(mutex_);
  counter(severity_of(error)) += 1;
}

std::uint64_t& Tally::counter(Severity severity) {
  switch (severity) {
    case Severity::Note:
      return totals_.notes;
    case Severity::Unchecked:
      return totals_.unchecked;
    case Severity::Damage:
      break;
  }
  return totals_.damage;
}

void Tally::count(std::uint64_t Totals::* which, std::uint64_t by) {
  const MutexLock lock(mutex_);
  totals_.*which += by;
}

bool Tally::go_on() {
  const MutexLock lock(mutex_);
  if (!stopped_) {
    totals_.checksums = metadata_checksums_verified() - checksums_before_;
    stopped_ = !report_.go_on(totals_);
  }
  return !stopped_;
}

Totals Tally::totals() const {
  const MutexLock lock(mutex_);
  Totals out = totals_;
  out.checksums = metadata_checksums_verified() - checksums_before_;
  return out;
}

}  // namespace h5mount::check

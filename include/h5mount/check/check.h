// Verification of whole files: every object that the root leads to, its header, links and attributes with
// their values, and every byte of raw data that a checksum or a filter can say something about.
//
// Damage is found, not guessed: a finding is an error that a reader of that object would get, or a field that
// has another value than the specification allows, also where all data are read right in spite of it.
// Threads: the check runs on the environment's workers and the calling thread; a Report is called by one
// thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "h5mount/dataset/open_dataset.h"

namespace h5mount::check {

enum class Severity : std::uint8_t {
  Damage,     // the file is not sound, or bytes of it cannot be read
  Note,       // no damage: a file that it names is missing or refused, bytes lie behind its end
  Unchecked,  // this build cannot check it (an unknown filter or version)
};

struct Finding {
  Severity severity = Severity::Damage;
  std::string path;  // of the object; empty for the file as a whole
  Error error;
  bool read_all_the_same = false;  // a field that readers do not mind: all data are read right in spite of it
};

// Bytes of the file that no structure, no data and no manager of free space accounts for: the space of
// objects that were deleted, and space that writers lost. Readers do not need them.
struct UnaccountedSpace {
  struct Range {
    std::uint64_t offset, bytes;
  };
  static constexpr std::size_t kNamed = 3;
  std::uint64_t bytes = 0, ranges = 0;
  std::array<Range, kNamed> largest{};  // by size; empty ones behind them
};

struct Totals {
  std::uint64_t objects = 0, attributes = 0, chunks = 0;
  std::uint64_t data_bytes = 0;                        // raw data in the file, as stored
  std::uint64_t unprotected_bytes = 0;                 // of these: covered by no checksum
  std::uint64_t checksums = 0;                         // of metadata, that were verified
  std::uint64_t damage = 0, notes = 0, unchecked = 0;  // findings
  UnaccountedSpace unaccounted = {};                   // known at the end of a whole check
};

class Report {
 public:
  virtual ~Report() = default;
  virtual void found(const Finding& finding) = 0;
  // Called every so often. Returns false if the check should end as soon as possible.
  virtual bool go_on(const Totals& so_far) = 0;
};

// Learns of every field of every structure that is checked, for a test that damages each of them. Called from
// several threads.
class FieldReport {
 public:
  virtual ~FieldReport() = default;
  virtual void field(std::string_view structure, std::string_view field, std::uint64_t offset,
                     std::uint64_t bytes) = 0;
  // A checksum at `at` covers the bytes from `begin` to `end`, where its own, if they are among them, count
  // as zeros.
  virtual void sealed(std::uint64_t begin, std::uint64_t end, std::uint64_t at) = 0;
};

struct Options {
  bool quick = false;             // metadata only: no raw data is read
  FieldReport* fields = nullptr;  // may be null
};

// Checks the main file of the environment.
Totals check_file(const dataset::ReadEnvironment& environment, const Options& options, Report& report);

}  // namespace h5mount::check

// Verdicts: whether a file may be opened under a policy, by what its bytes say alone. Nothing that the file
// names is opened or looked for (but its names where the policy allows those beneath its directory, and then
// nothing is opened for reading), no chunk is decoded, no plugin is started.
//
// Cost, of any file: at most 5 s of the calling thread's processor and 1 GiB; what is not looked at within
// that is refused. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "h5mount/check/policy.h"
#include "h5mount/object/file_set.h"

namespace h5mount::check {

// Their names, in this order, are what people write scripts against (verdict_kind_name).
enum class VerdictKind : std::uint8_t {
  ExternalLink,
  ExternalStorage,
  VirtualSource,
  FileSet,
  Filter,
  Expansion,
  LogicalSize,
  TinyChunks,
  ObjectCount,
  AttributeCount,
  ChunkCount,
  LinkDepth,
  DatatypeDepth,
  Loop,
  Overlap,
  ForeignFormat,
  UserBlock,
  TrailingBytes,
  UnaccountedBytes,
  UnknownMessage,
  Damaged,
};
std::string_view verdict_kind_name(VerdictKind kind);

// What a finding means for the verdict. Their numbers are the exit codes; of several the first of Corrupt,
// Forbidden, TooMuch, Warning decides.
enum class VerdictCode : std::uint8_t {
  Accepted = 0,
  Warning = 1,
  Corrupt = 2,    // damage, loops, overlaps; no HDF5
  Forbidden = 3,  // the policy forbids what is there
  TooMuch = 4,    // more is counted or claimed than the policy's limits
  CouldNotRun = 8,
};
// The worse one of two: the first in the order CouldNotRun, Corrupt, Forbidden, TooMuch, Warning, Accepted.
VerdictCode worse(VerdictCode a, VerdictCode b);

using VerdictValue = std::variant<std::monostate, std::uint64_t, double, std::string>;

struct VerdictFinding {
  VerdictKind kind = VerdictKind::Damaged;
  VerdictCode code = VerdictCode::Corrupt;
  std::string place;   // an object's path, a link's, or `offset N`
  VerdictValue value;  // the name that is stored, or the number
  VerdictValue limit;  // the number, or what is allowed; monostate: nothing that could be said
  // One line: "external_link at /a/b: other.h5 (allowed: none)". Not escaped for terminals.
  std::string text() const;
};

struct Verdict {
  VerdictCode code = VerdictCode::Accepted;  // the worst of the findings
  std::vector<VerdictFinding> findings;      // the worst ones first; at most limits::kMaxFindings
  std::uint64_t left_out = 0;                // findings of the same kinds that are not listed
  bool refused() const { return code > VerdictCode::Warning; }
  std::string_view decision() const;  // "accept", "accept_with_warnings", "refuse"
};

struct VerdictOptions {
  bool quick = false;  // metadata alone, and the bytes in front and behind: no heap references of elements
};

// `file`: one that is open, as the main file of a FileSet or as one that another file names.
Verdict judge_file(const object::OpenedFilePtr& file, const Policy& policy, const VerdictOptions& options);
// The verdict on what is no HDF5 file, or cannot be opened as one for `why`.
Verdict verdict_of_unopened(const Error& why);

}  // namespace h5mount::check

// fsck.h5 over a whole file, its check and its verdicts, as its fuzz target and the replay of its findings
// run it. Damage is expected and counted. What no file may cause is listed in `violations`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/io/byte_source.h"

namespace h5mount::test {

struct CheckReport {
  bool opened = false;
  bool complete = false;  // the check ended by itself, not for its time
  std::uint64_t damage = 0, notes = 0, unchecked = 0;
  double longest_wait = 0;  // seconds without a call of the report: the check cannot be interrupted meanwhile
  std::vector<std::string> violations;
};

// Asks the check to end after `seconds`.
CheckReport check_whole_file(std::shared_ptr<io::ByteSource> source, double seconds);

}  // namespace h5mount::test

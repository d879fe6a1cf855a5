// The option salvage: files are opened as salvage shows them (h5mount/salvage/salvage.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "h5mount/base/advice.h"
#include "h5mount/object/source_opener.h"
#include "h5mount/salvage/salvage.h"

namespace h5mount::cli {

// For /.h5/status; the sums over all files.
struct SalvageCounters {
  std::atomic<std::uint64_t> swept{0};       // bytes
  std::atomic<std::uint64_t> found{0};       // objects that the ordinary way does not reach or give whole
  std::atomic<std::uint64_t> unreadable{0};  // bytes that a source failed to read
};
SalvageCounters& salvage_counters();
// "[0x1000, 0x2000), …": for messages; a bounded number of them.
std::string unreadable_text(std::span<const ByteRange> ranges);

struct SalvageUse {
  SalvageMode mode = SalvageMode::Off;
  unsigned threads = 1;
  bool far = false;       // also a file that is fetched to be swept
  bool force = false;     // also a file that a process has open for writing
  bool lazy = false;      // FILE, if it opens otherwise, only once something needs it
  bool progress = false;  // a line on stderr while a large file is swept
  // Called for every file that was looked at; may be null.
  std::function<void(const std::string& file, const salvage::Report& report)> told;
  std::function<bool()> go_on;  // asked now and then; may be null
};
// An opener of what `inner` finds, whose HDF5 files are salvaged as they are opened; `inner` itself if the
// mode is Off. Raw data files have no structure and are opened as they are, and so is a sound file that must
// not be fetched.
std::shared_ptr<object::SourceOpener> make_salvaging_opener(std::shared_ptr<object::SourceOpener> inner,
                                                            const SalvageUse& use);

}  // namespace h5mount::cli

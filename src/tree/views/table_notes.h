// What the table of a group leaves out, for those who would miss it: in the log of the mount, in the line of
// the group in metadata.jsonl, and as an extended attribute of the table's files. Threads: any, but of
// TableNotes one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "../core/served_file.h"

namespace h5mount::tree {

inline constexpr std::string_view kLeftOutXattr = "user.hdf5.left_out";

struct TableNotes {
  struct LeftOut {
    std::string name, why;  // why: a short phrase
    bool expected = false;  // a reader may take it for a column
  };
  enum class Which : std::uint8_t { Expected, All };

  std::vector<LeftOut> left_out;
  std::string no_table;  // why a group with columns is no table

  // `name (why), other (why) and 3 more`; empty if nothing is left out.
  std::string text(Which which) const;
};

// The tables of a file of which the log tells already.
class ToldTables {
 public:
  // False if it was added before, or if there are too many.
  bool add(std::uint64_t address);

 private:
  static constexpr std::size_t kMost = 4096;
  Mutex mutex_;
  std::unordered_set<std::uint64_t> told_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::tree

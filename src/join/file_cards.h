// FileCards: the cards of all files, each made once for a state of its file, several at a time. Threads: one
// call of `read` at a time; the counts from any.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <unordered_map>
#include <vector>

#include "h5mount/join/joined_file.h"

namespace h5mount::join {

class FileCards {
 public:
  FileCards(std::shared_ptr<const SourceFiles> files, const Axis& axis)
      : files_(std::move(files)), maker_(axis) {}

  struct Cards {
    std::vector<FileCardPtr> cards;  // in the order of `files`
    std::uint64_t waiting = 0;       // files that are being written: not among the cards
  };
  // `arriving`: whether files may be new, so that their writers may not have finished. A card that is made is
  // kept although the call fails.
  Result<Cards> read(const std::vector<SourceFile>& files, bool arriving, RequestBudget& budget);

  void add_counts(JoinCounts& to) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    FileCardPtr card;
    std::uint64_t identity = 0, stamp = 0;
    Clock::time_point again = Clock::time_point::max();  // when it is made again although nothing changed
    bool waits = false;                                  // a writer has the file
  };
  bool is_current(const SourceFile& file) const;
  Status read_one(const SourceFile& file, Known& out, RequestBudget& budget);

  const std::shared_ptr<const SourceFiles> files_;
  CardMaker maker_;
  std::unordered_map<std::string, Known> known_;  // by path
  std::atomic<std::uint64_t> read_ = 0, remembered_ = 0, reading_ = 0, to_read_ = 0;
};

}  // namespace h5mount::join

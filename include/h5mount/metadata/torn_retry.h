// Reading again what a writer was just writing. A structure half of which is new fails its checksum; a moment
// later it is whole. So whatever reads metadata of a followed file is an attempt, made again with growing
// pauses while it fails in a way that a torn write explains, the file was seen to change lately, and the
// budget of pauses lasts; its end is told in the log. An attempt may be a part of a larger one, and many may
// be parts of one request (RetryBudget): all that one thread does within the outermost shares one budget, and
// one line in the log.
//
//   auto object = retry_torn(file, "object header", [&] { return open_object(file, address); });
//
// Threads: any; it sleeps, so no lock may be held.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

// What one request may spend on waiting for writers: FileMetadata::retry_for in all, however many structures
// it reads. Of budgets within one another, on one thread, the outermost counts.
class RetryBudget {
 public:
  RetryBudget();
  ~RetryBudget();
  RetryBudget(const RetryBudget&) = delete;
  RetryBudget& operator=(const RetryBudget&) = delete;

 private:
  friend class TornRetry;
  RetryBudget* const outermost_;
  // Of the outermost only.
  std::chrono::milliseconds spent_{0};
  bool told_ = false;  // that it is spent
};

// Counters for tests and `-d`.
struct RetryCounters {
  std::atomic<std::uint64_t> attempts{0};      // made again
  std::atomic<std::uint64_t> milliseconds{0};  // slept before them
};
RetryCounters& retry_counters();

class TornRetry {
 public:
  TornRetry(const FileMetadata& file, std::string_view what) : file_(file), what_(what) {}
  TornRetry(const TornRetry&) = delete;
  TornRetry& operator=(const TornRetry&) = delete;

  // After a failure: sleeps, has the file read anew and says true; or false, the failure stands.
  bool again(const Error& error);

 private:
  const FileMetadata& file_;
  std::string_view what_;
  unsigned attempts_ = 0;
  RetryBudget budget_;
};

// True for what a structure read while it was written can lead to.
bool may_be_torn(const Error& error);

template <class Attempt>
auto retry_torn(const FileMetadata& file, std::string_view what, Attempt&& attempt) {
  if (!file.following()) return attempt();
  TornRetry retry(file, what);
  auto result = attempt();
  while (!result && retry.again(result.error())) result = attempt();
  return result;
}

}  // namespace h5mount::metadata

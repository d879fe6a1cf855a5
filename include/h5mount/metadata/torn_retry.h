// Repeated reads of structures that a writer was just writing. A structure of which half is new fails its
// checksum; a moment later it is whole. So metadata of a followed file is read in attempts: as long as an
// attempt fails in a way that a torn write explains, the file was seen to change lately, and the budget of
// pauses lasts, the next attempt begins, with a snapshot that was taken after the one in which the structure
// was torn.
//
//   auto object = retry_torn(file, "object header", budget,
//                            [&](const FileMetadataPtr& snapshot) { return open_object(*snapshot, address);
//                            });
//
// Attempts within an attempt share its budget of pauses. Threads: any; retries sleep, so no lock may be held.
#pragma once

#include <string_view>
#include <utility>

#include "h5mount/base/request_budget.h"
#include "h5mount/metadata/followed_file.h"

namespace h5mount::metadata {

class TornRetry {
 public:
  TornRetry(FollowedFile& file, std::string_view what, RequestBudget& budget)
      : file_(file), what_(what), budget_(budget) {}
  TornRetry(const TornRetry&) = delete;
  TornRetry& operator=(const TornRetry&) = delete;

  // To be called after an attempt with `snapshot` failed. Returns true if the next attempt is to be made,
  // with the new value of `snapshot`; the pause is then over. Returns false if the error is final.
  bool again(const Error& error, FileMetadataPtr& snapshot);

 private:
  bool pause(const Error& error);

  FollowedFile& file_;
  std::string_view what_;
  RequestBudget& budget_;
  unsigned attempts_ = 0;
};

// True for errors that reading a structure while it is written can cause.
bool may_be_torn(const Error& error);

template <class Attempt>
auto retry_torn(FollowedFile& file, std::string_view what, RequestBudget& budget, Attempt&& attempt) {
  FileMetadataPtr snapshot = file.snapshot();
  auto result = attempt(std::as_const(snapshot));
  if (result || !file.following()) return result;
  TornRetry retry(file, what, budget);
  while (!result && retry.again(result.error(), snapshot)) result = attempt(std::as_const(snapshot));
  return result;
}

}  // namespace h5mount::metadata

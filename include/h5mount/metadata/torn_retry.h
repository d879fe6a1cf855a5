// Reading again what a writer was just writing. A structure half of which is new fails its checksum; a moment
// later it is whole. So whatever reads metadata of a followed file is an attempt, made again with growing
// pauses while it fails in a way that a torn write explains, the file changed lately, and the bound is not
// reached; that is told in the log. An attempt may be a part of a larger one: all that one thread does within the
// outermost shares one bound, and one line in the log.
//
//   auto object = retry_torn(file, "object header", [&] { return open_object(file, address); });
//
// Threads: any; it sleeps, so no lock may be held.
#pragma once

#include <chrono>
#include <string_view>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount {

class TornRetry {
 public:
  TornRetry(const FileMetadata& file, std::string_view what);  // before the first attempt
  ~TornRetry();
  TornRetry(const TornRetry&) = delete;
  TornRetry& operator=(const TornRetry&) = delete;

  // After a failure: sleeps, has the file read anew and says true; or false, the failure stands.
  bool again(const Error& error);

 private:
  const FileMetadata& file_;
  std::string_view what_;
  unsigned attempts_ = 0;
  // Of the outermost only: when something first failed, and whether the end of it was told.
  TornRetry* const outermost_;
  std::chrono::steady_clock::time_point began_{};
  bool told_ = false;
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

}  // namespace h5mount

// Messages about files that a forest does not show for their names.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "h5mount/base/log.h"
#include "h5mount/base/log_notes.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/forest.h"

namespace h5mount::tree {

namespace {

// So many directories have a line of their own: the log has room for other messages too.
constexpr std::size_t kMaxTold = 200;
// So many directories are searched for a file that is shown.
constexpr std::size_t kMaxSearched = 256;

class ToldDirectories {
 public:
  enum class Place : std::uint8_t { Known, Next, Last };
  Place add(const std::string& directory) {
    const MutexLock lock(mutex_);
    if (told_.size() >= kMaxTold || std::ranges::find(told_, directory) != told_.end()) return Place::Known;
    told_.push_back(directory);
    return told_.size() == kMaxTold ? Place::Last : Place::Next;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> told_ H5_GUARDED_BY(mutex_);
};

std::string words_of(const ForestDirectory::LeftOut& left_out) {
  if (left_out.files == 1)
    return fmt::format("1 file is left out for its name ({}): match=* shows it", left_out.first);
  return fmt::format("{} files are left out for their names ({}, …): match=* shows them", left_out.files,
                     left_out.first);
}

// All of what the directories below show and leave out, as far as is known after so many of them.
struct FoundBelow {
  ForestDirectory::LeftOut left_out;
  bool file = false, all = false;
};
FoundBelow look_below(const ForestDirectory& top, const ForestDirectory::Listing& listed) {
  FoundBelow out{listed.left_out, listed.files > 0, false};
  std::vector<ForestDirectoryPtr> left;
  const auto enter = [&left](const ForestDirectory& directory, const ForestDirectory::Listing& of) {
    for (const ForestDirectory::Item& item : of.items)
      if (auto entered = directory.enter(item.name); entered && *entered)
        if (left.size() < kMaxSearched) left.push_back(*std::move(entered));
  };
  if (!out.file) enter(top, listed);
  for (std::size_t searched = 0; !out.file && !left.empty(); ++searched) {
    if (searched == kMaxSearched) return out;
    const ForestDirectoryPtr directory = std::move(left.back());
    left.pop_back();
    const auto below = directory->list();
    if (!below) return out;  // what is in it is not known
    if (out.left_out.files == 0) out.left_out.first = below->left_out.first;
    out.left_out.files += below->left_out.files;
    out.file = below->files > 0;
    if (!out.file) enter(*directory, *below);
  }
  out.all = true;
  return out;
}

}  // namespace

void tell_of_left_out(const std::string& directory, const ForestDirectory::LeftOut& left_out,
                      ShowsSomething shows) {
  static auto& told = *new ToldDirectories;
  if (left_out.files == 0) return;
  const auto place = told.add(directory);
  if (place == ToldDirectories::Place::Known) return;
  if (shows == ShowsSomething::No)
    return log(LogLevel::Warning, "{}: nothing is shown: {}", directory, words_of(left_out));
  note_in_log(fmt::format("{}: {}{}", directory, words_of(left_out),
                          place == ToldDirectories::Place::Last ? "; no more directories are named" : ""));
}

void tell_of_left_out(const ForestDirectory& top) {
  const auto listed = top.list();
  if (!listed) return;  // who lists it meets the error
  const FoundBelow found = look_below(top, *listed);
  const bool nothing = found.all && !found.file;
  tell_of_left_out(top.name(), nothing ? found.left_out : listed->left_out,
                   nothing ? ShowsSomething::No : ShowsSomething::Yes);
}

}  // namespace h5mount::tree

#include "listing_advice.h"

#include <algorithm>
#include <utility>

#include "h5mount/base/mechanism.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kSure = 2;  // held out entries that were not looked up

}  // namespace

ListingAdvice::Process& ListingAdvice::process(pid_t id) {
  Process& found = processes_[static_cast<std::size_t>(id) % kProcesses];
  if (found.id != id) found = Process{.id = id};
  return found;
}

EntryAttributes ListingAdvice::advise(pid_t id, tree::NodeId directory, bool first) {
  // As the kernel decides if it knows nothing of the process.
  if (!is_on(Mechanism::ListingAdvice)) return first ? EntryAttributes::All : EntryAttributes::None;
  const MutexLock lock(mutex_);
  Process& asking = process(id);
  if (asking.wish == Wish::Attributes) return EntryAttributes::All;
  // The process goes on to another directory without having looked up the entries held out of those before.
  const bool another = first && std::ranges::find(asking.listed, directory) == asking.listed.end();
  if (another && asking.unanswered >= kSure) asking.wish = Wish::Names;
  return first && asking.wish == Wish::Unknown ? EntryAttributes::Most : EntryAttributes::None;
}

void ListingAdvice::note_listed(pid_t id, tree::NodeId directory, std::size_t without) {
  if (without == 0) return;
  const MutexLock lock(mutex_);
  Process& asking = process(id);
  asking.unanswered += without;
  if (std::ranges::find(asking.listed, directory) != asking.listed.end()) return;
  asking.listed[asking.next] = directory;
  asking.next = (asking.next + 1) % asking.listed.size();
}

bool ListingAdvice::note_lookup(pid_t id, tree::NodeId directory) {
  const MutexLock lock(mutex_);
  Process& asking = process(id);
  if (std::ranges::find(asking.listed, directory) != asking.listed.end()) asking.wish = Wish::Attributes;
  if (std::exchange(asking.looking_in, directory) != directory) asking.lookups = 0;
  NamesAlone& names = names_alone_[directory % kDirectories];
  if (++asking.lookups < kManyLookups || names.directory != directory) return false;
  asking.wish = Wish::Attributes;
  return std::exchange(names.kept, false);
}

bool ListingAdvice::may_keep_names(tree::NodeId directory) {
  const MutexLock lock(mutex_);
  NamesAlone& names = names_alone_[directory % kDirectories];
  if (names.directory != directory)
    names = {.directory = directory};
  else
    names.kept = true;
  return names.kept;
}

}  // namespace h5mount::fuse

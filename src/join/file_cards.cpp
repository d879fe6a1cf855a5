#include "file_cards.h"

#include <algorithm>
#include <ctime>
#include <thread>

#include "h5mount/base/long_work.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/thread.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::join {

namespace {

// A new file counts as complete when it was not written for this time: a writer that is not noticed by a lock
// or by flags in the file may still have it open.
constexpr std::int64_t kSettledNanoseconds = 1'000'000'000;
// How often a file is tried again that cannot be had although nothing of it has changed.
constexpr std::chrono::seconds kTriedAgain{2};
// Each file raises the bounds of the request at least as much as one of so many bytes.
constexpr std::uint64_t kLeastAllowed = 1U << 20;
// Files that are read at once: far ones wait for round trips, near ones for processors.
constexpr std::size_t kFarAtOnce = 16;

std::int64_t nanoseconds_now() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A writer has the file, by its lock or by the flags in its superblock.
bool has_writer(const Error& error) {
  return error.system_errno() == EBUSY;
}

}  // namespace

bool FileCards::is_current(const SourceFile& file) const {
  const auto found = known_.find(file.path);
  return found != known_.end() && found->second.identity == file.identity &&
         found->second.stamp == file.stamp && Clock::now() < found->second.again;
}

// An error that says nothing of the file's bytes is in a card too: the file is left out as long as it lasts.
Status FileCards::read_one(const SourceFile& file, Known& out, RequestBudget& budget) {
  out.identity = file.identity, out.stamp = file.stamp;
  if (const auto bytes = files_->remembered(file); !bytes.empty()) {
    if (auto card = maker_.decode(bytes)) {
      FileCard own = **card;
      own.path = file.path;
      out.card = std::make_shared<const FileCard>(std::move(own));
      ++remembered_;
      return {};
    }
  }
  FileCard card;
  card.path = file.path;
  card.identity = file.identity, card.stamp = file.stamp, card.size = file.size;
  // Its own, so that a file that asks for too much work is left out and the others are joined.
  RequestBudget own;
  H5_TRY(budget.check());
  MomentaryWatch watch;
  const auto environment = files_->open(file.path);
  auto made =
      environment ? maker_.make(*environment, card, own) : Result<FileCardPtr>(fail(environment.error()));
  ++read_;
  if (!made) {
    card.error = made.error();
    made = std::make_shared<const FileCard>(std::move(card));
  }
  out.card = *std::move(made);
  const bool lasts = !watch.met() && (!out.card->error || meets_all_requests(*out.card->error));
  watch.forget();
  out.waits = out.card->error && has_writer(*out.card->error);
  if (!lasts) out.again = Clock::now() + kTriedAgain;
  if (lasts && !out.card->error) files_->remember(file, maker_.encode(*out.card));
  return {};
}

Result<FileCards::Cards> FileCards::read(const std::vector<SourceFile>& files, bool arriving,
                                         RequestBudget& budget) {
  note_long_work();
  const std::int64_t now = nanoseconds_now();
  Cards out;
  std::vector<const SourceFile*> missing;
  for (const SourceFile& file : files) {
    if (is_current(file)) continue;
    const auto known = known_.find(file.path);
    const bool grows = known != known_.end() && known->second.card->may_grow;
    const bool settled = now - file.modified >= kSettledNanoseconds || file.modified > now || files_->far();
    // Until then the plan has it as it was, and reads of it fail.
    if (arriving && !settled && !grows) {
      ++out.waiting;
      continue;
    }
    budget.allow_more(std::max(file.size, kLeastAllowed));
    missing.push_back(&file);
  }
  std::vector<Known> made(missing.size());
  std::atomic<std::size_t> next = 0;
  Mutex failing;
  std::optional<Error> failed;
  reading_ = 0, to_read_ = missing.size();
  const std::size_t threads =
      files_->far() ? kFarAtOnce : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  run_together("h5-cards", std::min(threads, std::max<std::size_t>(missing.size(), 1)), [&] {
    for (std::size_t i = next++; i < missing.size(); i = next++) {
      const Status done = read_one(*missing[i], made[i], budget);
      ++reading_;
      if (done) continue;
      const MutexLock lock(failing);
      failed = done.error();
      next = missing.size();
    }
  });
  to_read_ = 0;
  for (std::size_t i = 0; i < missing.size(); ++i)
    if (made[i].card) known_[missing[i]->path] = std::move(made[i]);
  if (failed) return fail(*failed);
  std::unordered_map<std::string, Known> kept;
  for (const SourceFile& file : files) {
    const auto found = known_.find(file.path);
    if (found == known_.end()) continue;
    if (found->second.waits) ++out.waiting;
    if (!found->second.waits) out.cards.push_back(found->second.card);
    kept.insert(known_.extract(found));
  }
  known_ = std::move(kept);
  return out;
}

void FileCards::add_counts(JoinCounts& to) const {
  to.cards_read = read_;
  to.cards_remembered = remembered_;
  to.reading = reading_;
  to.to_read = to_read_;
}

}  // namespace h5mount::join

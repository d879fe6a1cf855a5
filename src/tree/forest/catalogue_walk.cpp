#include "catalogue_walk.h"

#include <algorithm>
#include <utility>

#include "../core/inode_numbers.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/momentary.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

using EntryKind = ForestEntry::Kind;

constexpr std::uint32_t kOthersRead = 0004, kOthersSearch = 0001;

// Each file adds this much at least to the request's time and work, so that a catalogue gets as much as it
// needs.
constexpr std::uint64_t kMinAllowed = 1U << 20;  // as a file of so many bytes

std::string below(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

// The most that the store remembers of one file, in bytes. A file with more rows is read again each time.
constexpr std::uint64_t kMaxRemembered = 64U << 20;

// Bytes. Values may share what they refer to, so the rows of a small file could be endless.
constexpr std::uint64_t kRowsOfAnyFile = 16U << 20, kRowsPerFileByte = 16;

std::uint64_t most_rows(std::uint64_t file_bytes) {
  constexpr std::uint64_t kMaxFileBytes = 1ULL << 50;
  return kRowsOfAnyFile + kRowsPerFileByte * std::min(file_bytes, kMaxFileBytes);
}

}  // namespace

CatalogueWalk::CatalogueWalk(const ForestOptions& options, ForestDirectoryPtr top,
                             CatalogueProgress& progress)
    : options_(options), progress_(progress), top_(std::move(top)) {}

// A file that cannot be read for a moment has a line that says so, which nobody keeps: the others are told.
Result<bool> CatalogueWalk::next(File& out, RequestBudget& budget) {
  MomentaryWatch watch;
  auto more = take_next(out, budget);
  met_momentary_ = met_momentary_ || watch.met().has_value();
  watch.forget();
  return more;
}

Result<bool> CatalogueWalk::take_next(File& out, RequestBudget& budget) {
  note_long_work();
  if (!begun_) {
    out.path.clear();
    const Status entered = enter(top_, {});
    begun_ = true;
    if (!entered) {
      saw_all_ = false;
      H5_TRY(tell_error(entered.error(), out));
      return true;
    }
  }
  while (!levels_.empty()) {
    H5_TRY(budget.check());
    if (levels_.back().next == levels_.back().items.size()) {
      levels_.pop_back();
      continue;
    }
    const std::size_t level = levels_.size() - 1;
    const std::string name = levels_[level].items[levels_[level].next].name;
    out.path = below(levels_[level].path, name);
    H5_ASSIGN(const bool told, take(name, out, budget));
    ++levels_[level].next;
    if (told) return true;
  }
  end();
  return false;
}

// Only a walk that has seen all files knows which are gone.
void CatalogueWalk::end() {
  if (std::exchange(ended_, true) || !options_.remembered || !saw_all_) return;
  std::ranges::sort(files_);
  options_.remembered->keep_only(files_);
}

// Returns whether the entry itself has lines in the catalogue.
Result<bool> CatalogueWalk::take(const std::string& name, File& out, RequestBudget& budget) {
  const ForestDirectoryPtr directory = levels_.back().directory;
  if (levels_.back().items[levels_.back().next].type == NodeType::Symlink) return false;
  const auto entry = directory->find_entry(name);
  if (!entry && entry.error().code() == ErrorCode::NotFound) return false;
  if (!entry) {
    saw_all_ = false;
    H5_TRY(tell_error(entry.error(), out));
    return true;
  }
  switch (entry->kind) {
    case EntryKind::Directory: {
      auto entered = directory->enter(name);
      const Status done = entered ? enter(*entered, out.path) : Status(fail(entered.error()));
      if (done) return false;
      saw_all_ = false;
      H5_TRY(tell_error(done.error(), out));
      return true;
    }
    case EntryKind::Refused:
      H5_TRY(tell_error(entry->error.value_or(Error(ErrorCode::AccessDenied, "it leads nowhere")), out));
      return true;
    case EntryKind::Hdf5:
      if (options_.remembered) {
        files_.push_back(entry->source.identity);
        files_.push_back(card_identity(entry->source.identity));
      }
      H5_TRY(describe(directory, name, *entry, out, budget));
      return true;
    case EntryKind::Plain:
    case EntryKind::Symlink:  // the file itself is at its target
      return false;
  }
  return false;
}

Status CatalogueWalk::enter(ForestDirectoryPtr directory, std::string path) {
  if (options_.catalogue_for_others) {
    H5_ASSIGN(const ForestEntry now, directory->find_entry({}));
    constexpr std::uint32_t kBoth = kOthersRead | kOthersSearch;
    if ((now.source.attributes.mode & kBoth) != kBoth)
      return fail({ErrorCode::AccessDenied, "not all users may read the directory"});
  }
  H5_ASSIGN(auto listed, directory->list());
  levels_.push_back({std::move(directory), std::move(path), std::move(listed.items)});
  return {};
}

// If a file is written while it is read, it is read once more.
Status CatalogueWalk::describe(const ForestDirectoryPtr& directory, const std::string& name,
                               ForestEntry entry, File& out, RequestBudget& budget) {
  if (options_.catalogue_for_others && (entry.source.attributes.mode & kOthersRead) == 0)
    return tell_error({ErrorCode::AccessDenied, "not all users may read it"}, out);
  Error why(ErrorCode::Stale, "");
  for (int attempt = 0; attempt < 2; ++attempt) {
    const CatalogueStore::Key key{entry.source.identity, entry.source.stamp, entry.source.size};
    if (recall(key, out)) return {};
    ++progress_.opened;
    // A budget of its own, so that no file uses up that of the others; it ends when the pass's budget does.
    RequestBudget own;
    own.allow_for(entry.source.size);
    own.poll([](void* of) { return !static_cast<RequestBudget*>(of)->check().has_value(); }, &budget);
    budget.allow_more(std::max(entry.source.size, kMinAllowed));
    PassingFacts facts;
    Status done = read(directory, name, entry, out, own, facts);
    H5_TRY(budget.check());
    const auto after = directory->find_entry(name);
    const bool same = after && after->source.stamp == entry.source.stamp;
    if (done && same && !facts.others && !facts.failures) remember(key, out);
    if (done && (same || facts.others)) return {};
    why = done ? Error(ErrorCode::Stale, "the file was written while it was read") : done.error();
    if (!after || (why.code() != ErrorCode::Stale && same)) break;
    entry = *after;
  }
  return tell_error(why, out);
}

Status CatalogueWalk::read(const ForestDirectoryPtr& directory, const std::string& name,
                           const ForestEntry& entry, File& out, RequestBudget& budget,
                           PassingFacts& facts) const {
  H5_ASSIGN(auto opened, directory->open(name));
  auto files = siblings_->join(directory, name, entry, std::move(opened));
  out.rows.clear(most_rows(files->main()->followed->source()->size()));
  return SourceTree::read_rows(
      options_.environment(std::move(files)), options_.tree,
      [&](const CatalogueRow& row) { return out.rows.add(row); }, budget, facts);
}

bool CatalogueWalk::recall(const CatalogueStore::Key& key, File& out) const {
  if (!options_.remembered) return false;
  out.rows.clear(kMaxRemembered);
  const auto found =
      options_.remembered->find(key, [&](const CatalogueRow& row) { return out.rows.add(row); });
  if (!found || !*found) return false;
  ++progress_.remembered;
  return true;
}

void CatalogueWalk::remember(const CatalogueStore::Key& key, const File& file) const {
  if (!options_.remembered || file.rows.bytes() > kMaxRemembered) return;
  std::uint64_t at = 0;
  options_.remembered->put(key, [&](CatalogueRow& row) { return file.rows.read(at, row); });
}

Status CatalogueWalk::tell_error(const Error& error, File& out) {
  out.rows.clear(kRowsOfAnyFile);
  return out.rows.add({.path = "/", .error = text_with_advice(error)});
}

Result<CatalogueWalk::Survey> CatalogueWalk::survey(ForestDirectoryPtr top, RequestBudget& budget) {
  Survey out;
  std::vector<ForestDirectoryPtr> left{std::move(top)};
  while (!left.empty()) {
    H5_TRY(budget.check());
    const ForestDirectoryPtr directory = std::move(left.back());
    left.pop_back();
    const auto listed = directory->list();
    if (!listed) continue;
    for (const ForestDirectory::Item& item : listed->items) {
      const auto entry = directory->find_entry(item.name);
      const std::uint64_t stamp = entry ? entry->source.stamp : 0;
      out.digest = mix_bits({out.digest, fnv1a(item.name), stamp});
      if (!entry) continue;
      if (entry->kind == EntryKind::Hdf5) ++out.files;
      if (entry->kind != EntryKind::Directory) continue;
      if (auto entered = directory->enter(item.name)) left.push_back(*std::move(entered));
    }
  }
  return out;
}

}  // namespace h5mount::tree

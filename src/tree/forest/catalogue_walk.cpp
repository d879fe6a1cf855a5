#include "catalogue_walk.h"

#include <algorithm>
#include <utility>

#include "../core/inode_numbers.h"
#include "catalogue_line.h"
#include "h5mount/base/cures.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/momentary.h"
#include "h5mount/object/file_set.h"
#include "h5mount/text/value_text.h"
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

// The most that the store remembers of one file. A file with more lines, or longer ones, is read again each
// time.
constexpr std::uint64_t kMaxRemembered = 64U << 20;
constexpr std::size_t kPartBytes = 256U << 10;

// Values may share what they refer to, so the lines of a small file could be endless.
constexpr std::uint64_t kLinesOfAnyFile = 16U << 20, kLinesPerFileByte = 16;

class BoundedLines final : public TextSink {
 public:
  BoundedLines(Spool& out, std::uint64_t file_bytes)
      : out_(out), most_(kLinesOfAnyFile + kLinesPerFileByte * std::min(file_bytes, kMaxFileBytes)) {}
  Status append(std::string_view bytes) override {
    if (bytes.size() <= left()) return out_.append(bytes);
    return fail({ErrorCode::TooLarge, "more metadata than a file of this size can sensibly have"});
  }
  std::uint64_t left() const override { return most_ - std::min(most_, out_.size()); }

 private:
  static constexpr std::uint64_t kMaxFileBytes = 1ULL << 50;

  Spool& out_;
  const std::uint64_t most_;
};

// Takes lines that are not trusted, and keeps those that are lines of a catalogue.
class CheckedLines {
 public:
  explicit CheckedLines(Spool& out) : out_(out) {}

  Status take(std::string_view part) {
    if (out_.size() + part.size() > kMaxRemembered || line_.size() > kMaxLineBytes) return damaged();
    while (!part.empty()) {
      const std::size_t end = part.find('\n');
      line_.append(part.substr(0, end));
      if (end == std::string_view::npos) return {};
      part.remove_prefix(end + 1);
      const auto known = take_apart(line_);
      if (!known || !known->whole) return damaged();
      H5_TRY(out_.append(line_ += '\n'));
      line_.clear();
    }
    return {};
  }
  bool whole() const { return line_.empty() && out_.size() > 0; }

  static Status damaged() { return fail({ErrorCode::ChecksumMismatch, "lines that were not remembered so"}); }

 private:
  Spool& out_;
  std::string line_;
};

// A budget for one file of a pass, so that no file uses up that of the others; it ends when the pass's budget
// does.
class FileBudget {
 public:
  FileBudget(std::uint64_t file_bytes, RequestBudget& pass) {
    pass.allow_more(std::max(file_bytes, kMinAllowed));
    own_.allow_for(file_bytes);
    own_.poll([](void* of) { return !static_cast<RequestBudget*>(of)->check().has_value(); }, &pass);
  }
  RequestBudget& operator*() { return own_; }

 private:
  RequestBudget own_;
};

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
  out.lines.clear();
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
  const auto entry = directory->look(name);
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
      if (options_.remembered) files_.push_back(entry->source.identity);
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
    H5_ASSIGN(const ForestEntry now, directory->look({}));
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
    H5_ASSIGN(const bool known, recall(key, out));
    if (known) return {};
    out.lines.clear();
    ++progress_.opened;
    FileBudget own(entry.source.size, budget);
    PassingFacts facts;
    Status done = read(directory, name, entry, out, *own, facts);
    H5_TRY(budget.check());
    const auto after = directory->look(name);
    const bool same = after && after->source.stamp == entry.source.stamp;
    if (done && same && !facts.others && !facts.failures) remember(key, out);
    if (done && (same || facts.others)) return {};
    why = done ? Error(ErrorCode::Stale, "the file was written while it was read") : done.error();
    if (!after || (why.code() != ErrorCode::Stale && same)) break;
    entry = *after;
  }
  out.lines.clear();
  return tell_error(why, out);
}

Status CatalogueWalk::read(const ForestDirectoryPtr& directory, const std::string& name,
                           const ForestEntry& entry, File& out, RequestBudget& budget,
                           PassingFacts& facts) const {
  H5_ASSIGN(auto opened, directory->open(name));
  auto files = siblings_->join(directory, name, entry, std::move(opened));
  BoundedLines lines(out.lines, files->main()->followed->source()->size());
  return SourceTree::append_lines(options_.environment(std::move(files)), options_.tree, lines, budget,
                                  facts);
}

Result<bool> CatalogueWalk::recall(const CatalogueStore::Key& key, File& out) const {
  if (!options_.remembered) return false;
  CheckedLines checked(out.lines);
  const auto found =
      options_.remembered->find(key, [&](std::string_view part) { return checked.take(part); });
  if (!found && found.error().code() != ErrorCode::ChecksumMismatch) return fail(found.error());
  const bool whole = found && *found && checked.whole();
  if (whole) ++progress_.remembered;
  return whole;
}

void CatalogueWalk::remember(const CatalogueStore::Key& key, const File& file) const {
  if (!options_.remembered || file.lines.size() > kMaxRemembered) return;
  std::uint64_t given = 0;
  options_.remembered->put(key, [&](std::string& part) -> Result<bool> {
    part.clear();
    H5_TRY(file.lines.read(given, kPartBytes, part));
    given += part.size();
    return !part.empty();
  });
}

Status CatalogueWalk::tell_error(const Error& error, File& out) {
  std::string line = R"({"path":"/","error":)";
  text::append_json_string(text_with_cure(error), line);
  return out.lines.append(line += "}\n");
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
      const auto entry = directory->look(item.name);
      const std::uint64_t stamp = entry ? entry->source.stamp : 0;
      out.digest = mix_bits(mix_bits(out.digest ^ fnv1a(item.name)) ^ stamp);
      if (!entry) continue;
      if (entry->kind == EntryKind::Hdf5) ++out.files;
      if (entry->kind != EntryKind::Directory) continue;
      if (auto entered = directory->enter(item.name)) left.push_back(*std::move(entered));
    }
  }
  return out;
}

}  // namespace h5mount::tree

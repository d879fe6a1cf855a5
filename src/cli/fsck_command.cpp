#include "fsck_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>

#include "h5mount/base/advice.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/check/check.h"
#include "h5mount/front/checksums.h"
#include "h5mount/front/references_check.h"
#include "h5mount/remote/url.h"
#include "h5mount/text/json_writer.h"
#include "open/advice.h"
#include "open/make_tree.h"
#include "open/open_source.h"
#include "open/progress_line.h"
#include "open/salvage_files.h"
#include "policy_command.h"
#include "words/command_line.h"
#include "words/exit_codes.h"
#include "words/mount_options.h"

namespace h5mount::cli {

namespace {

std::atomic<bool> g_interrupted{false};
std::atomic<int> g_code{kFsckClean};  // of what was checked so far
std::atomic<int> g_output_error{0};   // why something could not be printed: errno
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// Ends the program even if a source does not answer, or a chunk takes long to decode.
extern "C" void end_at_once(int) {
  ::_exit(g_code.load() | kFsckCancelled);
}

extern "C" void interrupt(int) {
  constexpr unsigned kGraceSeconds = 1;
  g_interrupted.store(true);
  ::alarm(kGraceSeconds);
}

void cancel_on_signals() {
  std::signal(SIGALRM, end_at_once);
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
}

std::string_view severity_name(check::Severity severity) {
  switch (severity) {
    case check::Severity::Damage:
      return "damage";
    case check::Severity::Note:
      return "note";
    case check::Severity::Unchecked:
      return "unchecked";
  }
  return "damage";
}

// Prints findings as they are found, one line each, beside the progress. Threads: one at a time, except that
// the checksums' findings come after the check.
class Printer final : public check::Report {
 public:
  Printer(const FsckCommand& command, AdviceOnce& advice, std::string source, std::uint64_t file_bytes)
      : command_(command),
        advice_(advice),
        source_(std::move(source)),
        file_bytes_(file_bytes),
        bar_(command.progress && command.progress_descriptor < 0) {}

  void found(const check::Finding& finding) override {
    bar_.clear();
    g_code |= finding.severity == check::Severity::Damage      ? kFsckDamaged
              : finding.severity == check::Severity::Unchecked ? kFsckCouldNotRun
                                                               : kFsckClean;
    const std::string place = source_ + (finding.path.empty() ? "" : ":" + finding.path);
    if (command_.json)
      print_json([&](text::JsonWriter& json) {
        json.member("path", finding.path).member("severity", severity_name(finding.severity));
        json.member("code", error_code_name(finding.error.code())).member("why", finding.error.text());
      });
    else if (finding.severity == check::Severity::Damage)
      print(fmt::format("{}: {}", escape_for_log(place), escape_for_log(finding.error.text())));
    else
      print(fmt::format("{}: {}: {}", escape_for_log(place), severity_name(finding.severity),
                        finding.error.text()));
    if (command_.json || command_.quiet || finding.severity == check::Severity::Note) return;
    if (const std::string_view advice = advice_.next(finding.error); !advice.empty())
      fmt::print(stderr, "fsck.h5: {}\n", advice);
  }

  bool go_on(const check::Totals& so_far) override {
    if (g_interrupted.load()) return false;
    if (bar_.due()) show_bar(so_far);
    const auto now = Clock::now();
    if (command_.progress_descriptor < 0 || now - written_ < std::chrono::milliseconds(200)) return true;
    written_ = now;
    const std::string line = fmt::format("1 {} {} {}\n", std::min(so_far.data_bytes, file_bytes_),
                                         std::max<std::uint64_t>(file_bytes_, 1), source_);
    (void)!::write(command_.progress_descriptor, line.data(), line.size());
    return true;
  }

  void summarise_references(const front::ReferenceTotals& totals) {
    bar_.clear();
    if (command_.json)
      print_json([&](text::JsonWriter& json) {
        json.member("arrays", totals.arrays).member("ranges", totals.ranges);
        json.member("inline", totals.held).member("served", totals.elsewhere);
      });
    else if (!command_.quiet)
      print(fmt::format(
          "{}: {} arrays, {} chunks by their places, {} held inside; {} at a server, not compared",
          escape_for_log(source_), totals.arrays, totals.ranges, totals.held, totals.elsewhere));
  }

  // `files`: the number of files that the totals cover; 0: they are of the source itself.
  void summarise(const check::Totals& totals, std::uint64_t files = 0) {
    bar_.clear();
    if (command_.json) {
      print_json([&](text::JsonWriter& json) {
        if (files > 0) json.member("files", files);
        json.member("objects", totals.objects).member("attributes", totals.attributes);
        json.member("chunks", totals.chunks).member("data_bytes", totals.data_bytes);
        json.member("unprotected_bytes", totals.unprotected_bytes).member("checksums", totals.checksums);
        json.member("unaccounted_bytes", totals.unaccounted.bytes);
        json.member("unaccounted_ranges", totals.unaccounted.ranges);
        json.key("largest_unaccounted").begin_array();
        for (const auto& [offset, bytes] : totals.unaccounted.largest)
          if (bytes > 0) json.begin_array().value(offset).value(bytes).end_array();
        json.end_array();
        json.member("damage", totals.damage)
            .member("notes", totals.notes)
            .member("unchecked", totals.unchecked);
      });
    } else if (!command_.quiet) {
      print(fmt::format(
          "{}: {}{} objects, {} attributes, {} chunks, {} of data, {} metadata checksums verified; "
          "no checksum covers {} of data; {} damaged, {} notes, {} unchecked",
          escape_for_log(source_), files > 0 ? fmt::format("{} files, ", files) : "", totals.objects,
          totals.attributes, totals.chunks, bytes_text(static_cast<double>(totals.data_bytes)),
          totals.checksums, bytes_text(static_cast<double>(totals.unprotected_bytes)), totals.damage,
          totals.notes, totals.unchecked));
      if (totals.unaccounted.bytes > 0 && files == 0) print(unaccounted_text(totals));
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  // With checksums, stdout is only for these, so that they can be redirected to a file.
  void print(const std::string& line) {
    std::FILE* const out = command_.checksums ? stderr : stdout;
    const std::string whole = line + '\n';
    // Flushed at once, as a signal may end the program at any time.
    if (std::fwrite(whole.data(), 1, whole.size(), out) != whole.size() || std::fflush(out) != 0)
      g_output_error.store(errno);
  }

  template <class AddMembers>
  void print_json(const AddMembers& add_members) {
    std::string out;
    text::JsonWriter json(out);
    json.begin_object().member("source", source_);
    add_members(json);
    json.end_object();
    print(out);
  }

  std::string unaccounted_text(const check::Totals& totals) const {
    const check::UnaccountedSpace& space = totals.unaccounted;
    std::string largest;
    for (const auto& range : space.largest)
      if (range.bytes > 0)
        largest += fmt::format("{}{} at {:#x}", largest.empty() ? "" : ", ",
                               bytes_text(static_cast<double>(range.bytes)), range.offset);
    return fmt::format(
        "{}: nothing accounts for {} in {} {}, as of {}; the largest: {}", escape_for_log(source_),
        bytes_text(static_cast<double>(space.bytes)), space.ranges, space.ranges == 1 ? "range" : "ranges",
        totals.damage == 0 ? "deleted objects" : "deleted objects, or of what is damaged", largest);
  }

  void show_bar(const check::Totals& so_far) {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    const double rate = seconds > 0 ? static_cast<double>(so_far.data_bytes) / seconds : 0;
    const double left = file_bytes_ > so_far.data_bytes && rate > 0
                            ? static_cast<double>(file_bytes_ - so_far.data_bytes) / rate
                            : 0;
    bar_.show(fmt::format("{}: {} objects, {} of {}, {}/s, {:.0f} s left", source_, so_far.objects,
                          bytes_text(static_cast<double>(so_far.data_bytes)),
                          bytes_text(static_cast<double>(file_bytes_)), bytes_text(rate), left));
  }

  const FsckCommand& command_;
  AdviceOnce& advice_;
  const std::string source_;
  const std::uint64_t file_bytes_;
  ProgressLine bar_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point written_;
};

int complain(const std::string& source, const Error& error) {
  return print_error(source, error.text(), kFsckCouldNotRun, "fsck.h5");
}

void add_totals(const check::Totals& more, check::Totals& sum) {
  sum.objects += more.objects;
  sum.attributes += more.attributes;
  sum.chunks += more.chunks;
  sum.data_bytes += more.data_bytes;
  sum.unprotected_bytes += more.unprotected_bytes;
  sum.checksums += more.checksums;
  sum.damage += more.damage;
  sum.notes += more.notes;
  sum.unchecked += more.unchecked;
  sum.unaccounted.bytes += more.unaccounted.bytes;
  sum.unaccounted.ranges += more.unaccounted.ranges;
}

// Prints as notes what salvage did for each object; a file for which it did something is damaged.
void tell_of_salvage(Printer& printer, const salvage::Report& report) {
  const auto note = [&](const std::string& path, std::string text) {
    printer.found({check::Severity::Note, path, Error(ErrorCode::InvalidValue, std::move(text))});
  };
  if (!report.unreadable.empty())
    note("", "salvage: cannot be read, and was passed over: " + unreadable_text(report.unreadable));
  if (!report.changed && report.findings.empty()) return;
  if (!report.superblock.empty()) note("", "salvage: found by " + report.superblock);
  for (const salvage::Finding& finding : report.findings)
    note(finding.name.empty() || report.lost_and_found.empty()
             ? ""
             : fmt::format("/{}/{}", report.lost_and_found, finding.name),
         fmt::format("salvage: object at {:#x}: {}", finding.address, finding.json()));
}

// The work of salvage for each file that was opened. Threads: any.
class SalvageReports {
 public:
  void add(const salvage::Report& report) {
    const MutexLock lock(mutex_);
    all_.push_back(report);
  }
  std::vector<salvage::Report> take_all() {
    const MutexLock lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  Mutex mutex_;
  std::vector<salvage::Report> all_ H5_GUARDED_BY(mutex_);
};

SalvageUse use_of_salvage(const FsckCommand& command, unsigned threads, SalvageReports& reports) {
  if (!command.salvage) return {};
  return {.mode = SalvageMode::Errors,
          .threads = threads,
          .far = command.salvage_far,
          .force = false,
          .lazy = false,
          .progress = false,
          .told = [&reports](const std::string&, const salvage::Report& report) { reports.add(report); },
          .go_on = [] { return !g_interrupted.load(); }};
}

// Checks sources one after the other.
class Checker {
 public:
  Checker(const FsckCommand& command, const MountOptions& options)
      : command_(command),
        options_(options),
        join_(options.join),
        threads_(command.threads > 0 ? command.threads : std::max(1U, std::thread::hardware_concurrency())),
        workers_(std::make_shared<cache::WorkerPool>(threads_)) {
    options_.join.reset();
  }

  // Checks a file, or all files of a directory and prints their totals. Returns the exit code.
  int check(const std::string& source) {
    const std::string path = remote::shown_url(source);
    auto sources = open_sources({{source}}, options_, use_of_salvage(command_, threads_, salvaging_));
    if (!has_files_below(source)) {
      if (!sources) return check_file(path, {}, fail(std::move(sources).error()));
      return check_file(path, {}, std::move(sources->files));
    }
    if (!sources) return complain(path, sources.error());
    sum_ = {};
    files_ = 0;
    const int code = check_below(*sources->many, path, {});
    Printer(command_, advice_, path, 0).summarise(sum_, files_);
    return code;
  }

  // Whether the sources can be joined, if the options say how. Returns the exit code.
  int check_join(const std::vector<std::string>& sources) {
    if (!join_) return kFsckClean;
    const auto opened = open_sources({sources}, options_, {});
    if (!opened) return complain(sources.front(), opened.error());
    if (!opened->many) return complain(sources.front(), {ErrorCode::InvalidValue, "join= is for many files"});
    const auto plan = plan_of(*opened, *join_, workers_);
    Printer printer(command_, advice_, "joined", 0);
    int code = kFsckClean;
    for_each_not_joined(plan, [&](const std::string& path, const Error& error) {
      code = kFsckDamaged;
      printer.found({check::Severity::Damage, path, error});
    });
    return code;
  }

  // Holds references against the files that they are of. Returns the exit code.
  int check_references(const std::string& path) {
    constexpr std::uint64_t kCacheBytes = 64U << 20;
    Printer printer(command_, advice_, path, 0);
    int code = kFsckClean;
    std::shared_ptr<tree::Tree> tree;
    const auto open = [&](const std::string& source,
                          bool some_served) -> Result<std::shared_ptr<tree::Tree>> {
      H5_ASSIGN(auto sources, open_sources({{source}}, options_, {}));
      if (!sources.files) return fail({ErrorCode::InvalidValue, "references of a directory"});
      tree::TreeOptions options;
      if (some_served) options.references.others = tree::ReferenceOptions::Others::Served;
      H5_ASSIGN(tree,
                tree::Tree::make({std::make_shared<cache::BlockCache>(kCacheBytes), workers_, sources.files},
                                 options));
      return tree;
    };
    const auto found = [&](const std::string& array, const Error& error, bool wrong) {
      if (wrong) code |= kFsckDamaged;
      printer.found({wrong ? check::Severity::Damage : check::Severity::Note, array, error});
    };
    const auto totals = front::check_references(path, {open, found});
    if (!totals) return complain(path, totals.error());
    printer.summarise_references(*totals);
    return code;
  }

 private:
  int check_below(const tree::ForestDirectory& directory,
                  const std::string& path,  // NOLINT(misc-no-recursion)
                  const std::string& in_mount) {
    const auto listed = directory.list();
    if (!listed) return complain(path, listed.error());
    int code = kFsckClean;
    for (const auto& [name, type] : listed->items) {
      if (g_interrupted.load()) break;
      const std::string place = path + (path.ends_with('/') ? "" : "/") + name;
      const auto entry = directory.find_entry(name);
      if (!entry && entry.error().code() == ErrorCode::NotFound) continue;  // it was removed
      if (!entry) {
        code |= complain(place, entry.error());
        continue;
      }
      if (entry->kind == tree::ForestEntry::Kind::Hdf5)
        code |= check_file(place, in_mount + name + "/", directory.open(name));
      if (entry->kind != tree::ForestEntry::Kind::Directory) continue;
      const auto entered = directory.enter(name);
      code |=
          entered ? check_below(**entered, place, in_mount + name + "/") : complain(place, entered.error());
    }
    return code;
  }

  // A file that cannot be opened as HDF5 is damaged; one that cannot be read was not checked.
  int check_file(const std::string& source, const std::string& in_mount,
                 Result<std::shared_ptr<object::FileSet>> files) {
    constexpr std::uint64_t kCacheBytes = 64U << 20;
    ++files_;
    if (!files) {
      if (cannot_be_read(files.error())) {
        ++sum_.unchecked;
        return complain(source, files.error());
      }
      ++sum_.damage;
      Printer(command_, advice_, source, 0).found({check::Severity::Damage, "", files.error()});
      return kFsckDamaged;
    }
    const dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(kCacheBytes), workers_,
                                               *std::move(files)};
    Printer printer(command_, advice_, source,
                    environment.files->main()->snapshot()->source()->stored_bytes());
    const std::vector<salvage::Report> reports = salvaging_.take_all();
    for (const salvage::Report& report : reports) tell_of_salvage(printer, report);
    const bool salvaged = std::ranges::any_of(reports, &salvage::Report::changed);
    check::Totals totals = check::check_file(environment, {.quick = command_.quick}, printer);
    if (command_.checksums && !g_interrupted.load())
      if (const Status written = print_checksums(environment, in_mount, printer, totals); !written)
        return complain(source, written.error());
    printer.summarise(totals);
    add_totals(totals, sum_);
    return (totals.damage > 0 || salvaged ? kFsckDamaged : 0) | (totals.unchecked > 0 ? kFsckCouldNotRun : 0);
  }

  // If something cannot be read for its checksum, that is damage, unless the check has already found some.
  Status print_checksums(const dataset::ReadEnvironment& environment, const std::string& in_mount,
                         Printer& printer, check::Totals& totals) const {
    tree::TreeOptions options;
    options.logs_failed_reads = false;
    H5_ASSIGN(const auto tree, tree::Tree::make(environment, options));
    front::Output out(STDOUT_FILENO);
    const bool listed = totals.damage > 0;
    const auto failed = [&](std::string_view path, const Error& error) {
      if (listed || g_interrupted.load()) return;
      ++totals.damage;
      printer.found({check::Severity::Damage, "/" + std::string(path), error});
    };
    const auto show = [&](std::uint64_t bytes) { (void)printer.go_on({.data_bytes = bytes}); };
    const Status done = front::write_checksums(
        {tree, out, failed},
        {.threads = threads_, .prefix = in_mount, .stop = &g_interrupted, .progress = show});
    if (!done && g_interrupted.load()) return {};
    return done;
  }

  const FsckCommand& command_;
  MountOptions options_;  // of each file by itself
  const std::optional<join::Options> join_;
  const unsigned threads_;
  const std::shared_ptr<cache::WorkerPool> workers_;
  SalvageReports salvaging_;
  AdviceOnce advice_;
  check::Totals sum_;  // of a directory's files
  std::uint64_t files_ = 0;
};

}  // namespace

int run_fsck(int count, const char* const* words) {
  std::optional<std::string> said;
  const auto command = parse_fsck_arguments(count, words, said);
  if (!command) {
    fmt::print(stderr, "fsck.h5: {}\n", command.error().text());
    return kFsckUsage;
  }
  if (said) {
    std::fputs(said->c_str(), stdout);
    return kFsckClean;
  }
  auto options = parse_mount_options(command->options, false);
  std::vector<Error> missing;
  const auto sources = options ? expand_source_words(command->sources, missing)
                               : Result<std::vector<std::string>>(fail(options.error()));
  if (!sources) {
    fmt::print(stderr, "fsck.h5: {}\n", sources.error().text());
    return sources.error().code() == ErrorCode::InvalidValue ? kFsckUsage : kFsckCouldNotRun;
  }
  if (options->log_level) set_log_level(*options->log_level);
  set_salvage_mode(command->salvage ? SalvageMode::Errors : SalvageMode::Off);
  options->force = true;
  options->swmr = Swmr::Off;
  for (const Error& error : missing) fmt::print(stderr, "fsck.h5: {}\n", error.text());
  int code = missing.empty() ? kFsckClean : kFsckCouldNotRun;
  if (command->policy) return std::max(run_policy(*command, *options, *sources), code);
  cancel_on_signals();
  Checker checker(*command, *options);
  for (const std::string& source : *sources) {
    code |= command->references ? checker.check_references(source) : checker.check(source);
    if (g_interrupted.load()) return code | kFsckCancelled;
  }
  code |= command->references ? 0 : checker.check_join(*sources);
  if ((code & kFsckDamaged) != 0 && !command->salvage && !command->references && !command->quiet &&
      !command->json)
    fmt::print(stderr, "fsck.h5: --salvage tells what can still be known of what is damaged\n");
  if (const int why = g_output_error.load(); why != 0) {
    fmt::print(stderr, "fsck.h5: what was found could not be written to standard output: {}\n",
               std::strerror(why));
    code |= kFsckCouldNotRun;
  }
  return code;
}

}  // namespace h5mount::cli

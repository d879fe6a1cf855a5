#include "policy_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "h5mount/base/job_queue.h"
#include "h5mount/base/log.h"
#include "h5mount/check/verdict.h"
#include "h5mount/remote/url.h"
#include "h5mount/text/json_writer.h"
#include "open/open_source.h"
#include "open/remote_files.h"
#include "words/exit_codes.h"

namespace h5mount::cli {
namespace {

using check::Verdict;
using check::VerdictCode;
using Open = std::function<Result<std::shared_ptr<object::FileSet>>()>;

struct JudgedSource {
  Verdict verdict;
  std::string trouble = {};  // why the source could not be read
};

// `why`: the error of opening a source.
JudgedSource not_opened(const Error& why) {
  JudgedSource out{check::verdict_of_unopened(why)};
  if (out.verdict.code == VerdictCode::CouldNotRun) out.trouble = why.text();
  return out;
}

JudgedSource judge_source(const Open& open, const check::Policy& policy, bool quick) {
  const auto files = open();
  if (!files) return not_opened(files.error());
  return {check::judge_file((*files)->main(), policy, {.quick = quick})};
}

void write_value(const check::VerdictValue& value, text::JsonWriter& json) {
  if (const auto* const number = std::get_if<std::uint64_t>(&value))
    json.value(*number);
  else if (const auto* const real = std::get_if<double>(&value); real != nullptr && std::isfinite(*real))
    json.raw(fmt::format("{}", *real));
  else if (const auto* const text = std::get_if<std::string>(&value))
    json.value(*text);
  else
    json.value(nullptr);
}

// Verdicts in the order of their sources, while later sources are being judged.
class Verdicts {
 public:
  Verdicts(const FsckCommand& command, check::Policy policy)
      : command_(command),
        policy_(std::make_shared<const check::Policy>(std::move(policy))),
        threads_(command.threads > 0 ? command.threads : std::max(1U, std::thread::hardware_concurrency())),
        jobs_({.name = "h5-policy", .threads = threads_, .limit = JobQueue::kUnlimited}) {}

  void add(std::string source, Open open) {
    constexpr std::size_t kAhead = 16;  // of each thread, so that none waits for a slow one
    auto job = std::make_shared<std::packaged_task<JudgedSource()>>(
        [open = std::move(open), policy = policy_, quick = command_.quick] {
          try {
            return judge_source(open, *policy, quick);
          } catch (const std::exception& exception) {
            return not_opened({ErrorCode::Internal, fmt::format("internal error: {}", exception.what())});
          }
        });
    waiting_.push_back({std::move(source), job->get_future()});
    jobs_.submit([job = std::move(job)] { (*job)(); });
    while (waiting_.size() > kAhead * threads_ ||
           (!waiting_.empty() &&
            waiting_.front().judged.wait_for(std::chrono::seconds(0)) == std::future_status::ready))
      print_next();
  }
  // A source of which nothing can be judged.
  void add(std::string source, const Error& why) {
    add(std::move(source), [why]() -> Result<std::shared_ptr<object::FileSet>> { return fail(why); });
  }

  // Prints the rest. Returns the code of all.
  VerdictCode finish() {
    while (!waiting_.empty()) print_next();
    return code_;
  }

 private:
  struct Waiting {
    std::string source;
    std::future<JudgedSource> judged;
  };

  void print_next() {
    const std::string source = std::move(waiting_.front().source);
    const JudgedSource judged = waiting_.front().judged.get();
    waiting_.pop_front();
    code_ = check::worse(code_, judged.verdict.code);
    if (!judged.trouble.empty()) print_error(source, judged.trouble, 0, "fsck.h5");
    if (command_.quiet && judged.verdict.code == VerdictCode::Accepted) return;
    if (command_.json)
      print(as_json(source, judged.verdict));
    else if (judged.trouble.empty())
      print(as_text(source, judged.verdict));
  }

  static std::string as_text(const std::string& source, const Verdict& verdict) {
    std::string out = fmt::format("{}: {}\n", escape_for_log(source), verdict.decision());
    for (const check::VerdictFinding& finding : verdict.findings)
      out += fmt::format("  {}\n", escape_for_log(finding.text()));
    if (verdict.left_out > 0) out += fmt::format("  and {} more\n", verdict.left_out);
    return out;
  }

  std::string as_json(const std::string& source, const Verdict& verdict) const {
    constexpr int kSchemaVersion = 1;
    std::string out;
    text::JsonWriter json(out);
    json.begin_object().member("schema_version", kSchemaVersion).member("source", source);
    json.member("policy", policy_->name).member("decision", verdict.decision());
    json.key("findings").begin_array();
    for (const check::VerdictFinding& finding : verdict.findings) {
      json.begin_object().member("kind", verdict_kind_name(finding.kind)).member("place", finding.place);
      write_value(finding.value, json.key("value"));
      write_value(finding.limit, json.key("limit"));
      json.end_object();
    }
    json.end_array().end_object();
    return out + '\n';
  }

  // Flushed at once: a later source may take long.
  void print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
    if (code_ != VerdictCode::CouldNotRun)
      fmt::print(stderr, "fsck.h5: verdicts could not be written to standard output: {}\n",
                 std::strerror(errno));
    code_ = VerdictCode::CouldNotRun;
  }

  const FsckCommand& command_;
  const std::shared_ptr<const check::Policy> policy_;
  const unsigned threads_;
  std::deque<Waiting> waiting_;
  VerdictCode code_ = VerdictCode::Accepted;
  JobQueue jobs_;  // ends first
};

// All HDF5 files below a directory, by name.
void add_files_below(const tree::ForestDirectoryPtr& top, const std::string& path, Verdicts& verdicts) {
  struct Level {
    tree::ForestDirectoryPtr directory;
    std::string path;
    std::vector<tree::ForestDirectory::Item> items;
    std::size_t next = 0;
  };
  std::vector<Level> levels;
  const auto enter = [&](const tree::ForestDirectoryPtr& directory, const std::string& place) {
    auto listed = directory->list();
    if (!listed) return verdicts.add(place, listed.error());
    levels.push_back({directory, place + (place.ends_with('/') ? "" : "/"), std::move(listed->items)});
  };
  enter(top, path);
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.items.size()) {
      levels.pop_back();
      continue;
    }
    const auto directory = level.directory;
    const std::string name = level.items[level.next++].name, place = level.path + name;
    const auto entry = directory->find_entry(name);
    if (!entry) {
      if (entry.error().code() != ErrorCode::NotFound) verdicts.add(place, entry.error());  // else removed
    } else if (entry->kind == tree::ForestEntry::Kind::Hdf5) {
      verdicts.add(place, [directory, name] { return directory->open(name); });
    } else if (entry->kind == tree::ForestEntry::Kind::Directory) {
      const auto entered = directory->enter(name);
      entered ? enter(*entered, place) : verdicts.add(place, entered.error());
    }
  }
}

void add_source(const std::string& source, const MountOptions& options, Verdicts& verdicts) {
  const std::string shown = remote::shown_url(source);
  if (!has_files_below(source)) {
    if (const Status ready = prepare_urls({source}, options.remote); !ready)
      return verdicts.add(shown, ready.error());
    return verdicts.add(shown, [source, options] { return open_source(source, options); });
  }
  const auto opened = open_sources({{source}}, options, {});
  if (!opened) return verdicts.add(shown, opened.error());
  add_files_below(opened->many, shown, verdicts);
}

}  // namespace

int run_policy(const FsckCommand& command, MountOptions options, const std::vector<std::string>& sources) {
  auto policy = check::read_policy(*command.policy);
  if (!policy) {
    fmt::print(stderr, "fsck.h5: {}\n", policy.error().text());
    return static_cast<int>(VerdictCode::CouldNotRun);
  }
  // What a file names is not opened, and what is said of it is in its verdict.
  options.external = object::ExternalPolicy::None;
  options.external_directories.clear();
  options.completes_sets = false;
  options.salvage = SalvageMode::Off;
  options.policy.reset();
  options.join.reset();
  Verdicts verdicts(command, *std::move(policy));
  for (const std::string& source : sources) add_source(source, options, verdicts);
  return static_cast<int>(verdicts.finish());
}

}  // namespace h5mount::cli

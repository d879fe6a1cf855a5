#include "check_whole_file.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "h5mount/cache/worker_pool.h"
#include "h5mount/check/check.h"
#include "h5mount/check/verdict.h"
#include "support/sanitized.h"

namespace h5mount::test {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

class Watcher final : public check::Report {
 public:
  Watcher(CheckReport& out, double seconds) : out_(out), seconds_(seconds) {}

  void found(const check::Finding& finding) override {
    note_call();
    switch (finding.severity) {
      case check::Severity::Damage:
        ++out_.damage;
        break;
      case check::Severity::Note:
        ++out_.notes;
        break;
      case check::Severity::Unchecked:
        ++out_.unchecked;
        break;
    }
    const std::string text = finding.error.text();
    if (text.empty()) out_.violations.push_back(finding.path + ": an error without words");
    if (finding.error.code() == ErrorCode::Internal)
      out_.violations.push_back(finding.path + ": internal error: " + text);
  }

  bool go_on(const check::Totals&) override {
    note_call();
    out_.complete = since(began_) < seconds_;
    return out_.complete;
  }

  void note_call() {
    out_.longest_wait = std::max(out_.longest_wait, since(last_call_));
    last_call_ = Clock::now();
  }

 private:
  CheckReport& out_;
  double seconds_;
  Clock::time_point began_ = Clock::now(), last_call_ = began_;
};

// Shared by all checks of a process, as starting threads is slow.
std::shared_ptr<cache::WorkerPool> workers() {
  static const auto pool = std::make_shared<cache::WorkerPool>(2);
  return pool;
}

// A verdict ends within its bound, whatever the policy, and says what it is for; what is trusted is no less
// than what is not.
void judge(const object::OpenedFilePtr& file, bool quick, std::vector<std::string>& violations) {
  constexpr double kMostSeconds = 6;
  const auto refuses = [&](const check::Policy& policy) {
    const std::clock_t began = std::clock();
    const check::Verdict verdict = check::judge_file(file, policy, {.quick = quick});
    const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    if (!kSanitized && seconds > kMostSeconds) violations.emplace_back("the verdict takes too long");
    auto worst = check::VerdictCode::Accepted;
    for (const check::VerdictFinding& finding : verdict.findings) {
      worst = check::worse(worst, finding.code);
      if (finding.place.empty()) violations.push_back("no place of " + finding.text());
    }
    if (worst != verdict.code) violations.emplace_back("the verdict is not that of its findings");
    if (verdict.refused() && verdict.findings.empty()) violations.emplace_back("refused for nothing");
    return verdict.refused();
  };
  const bool untrusted = refuses(check::untrusted_policy());
  if (refuses(check::trusted_policy()) && !untrusted)
    violations.emplace_back("`trusted` refuses what `untrusted` accepts");
}

}  // namespace

CheckReport check_whole_file(std::shared_ptr<io::ByteSource> source, double seconds) {
  CheckReport report;
  const std::uint64_t size = source->size();
  auto files = object::FileSet::open(std::move(source), metadata::MetadataOptions{.force = true});
  if (!files) {
    if (!check::verdict_of_unopened(files.error()).refused())
      report.violations.push_back("accepted though it does not open: " + files.error().text());
    return report;
  }
  report.opened = true;
  report.complete = true;
  const dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(32U << 20), workers(),
                                             *std::move(files)};
  Watcher watcher(report, seconds);
  const check::Totals totals = check::check_file(environment, {}, watcher);
  watcher.note_call();
  // Of many of a kind only some are listed.
  if (totals.damage < report.damage || totals.notes < report.notes || totals.unchecked < report.unchecked)
    report.violations.emplace_back("the totals are less than the findings");
  if (totals.unaccounted.bytes > size)
    report.violations.emplace_back("more bytes unaccounted for than the file has");
  for (const bool quick : {true, false}) judge(environment.files->main(), quick, report.violations);
  return report;
}

}  // namespace h5mount::test

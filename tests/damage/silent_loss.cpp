// Counts what damage takes away in silence: each file is cut short and changed by a bit in each kind of
// structure, read whole after each, and held against the intact file.
//   silent_loss [--jobs N] [--instances N] [--flips N] [--most-bytes N] [--most-entries N]
//               [--show] FILE...
// What no checksum covers is counted by structure; loss behind a checksum, or by a cut, makes the status 1.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "damage/damage_cases.h"
#include "damage/file_state.h"
#include "h5mount/base/log.h"
#include "support/corpus.h"

namespace {

using namespace h5mount;
using namespace h5mount::test;

struct Settings {
  std::size_t jobs = 2, instances = 2, flips = 8, most_bytes = 4U << 20, most_entries = 2'000;
  bool show = false;
  std::vector<std::string> files;
};

Settings parse(int count, char** words) {
  Settings out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto number = [&] {
      return static_cast<std::size_t>(std::strtoull(i + 1 < count ? words[++i] : "0", nullptr, 0));
    };
    if (word == "--jobs")
      out.jobs = number();
    else if (word == "--instances")
      out.instances = number();
    else if (word == "--flips")
      out.flips = number();
    else if (word == "--most-bytes")
      out.most_bytes = number();
    else if (word == "--most-entries")
      out.most_entries = number();
    else if (word == "--show")
      out.show = true;
    else
      out.files.push_back(word);
  }
  return out;
}

// Lines "count<tab>cause" on `out`, which the parent sums up.
class Counter {
 public:
  void add(const std::string& cause) { ++counts_[cause]; }
  void write(std::FILE* out) const {
    for (const auto& [cause, count] : counts_) std::fprintf(out, "%lu\t%s\n", count, cause.c_str());
  }

 private:
  std::map<std::string, std::uint64_t> counts_;
};

void examine(const Settings& settings, const std::string& name, Counter& counter) {
  const std::vector<std::byte> sound = read_whole_file(name);
  if (sound.size() > settings.most_bytes) return counter.add("files left out as too large");
  const FileState intact = read_file_state(io::make_memory_source(sound));
  if (intact.entries.size() > settings.most_entries) return counter.add("files left out as too large");
  if (!intact.opened || !intact.complete) return counter.add("files left out as they cannot be read whole");
  counter.add("files");
  if (!intact.errors.empty()) {
    counter.add("files that give errors when intact");
    if (settings.show) std::printf("intact %s: %s\n", name.c_str(), intact.errors.begin()->c_str());
  }
  std::vector<DamageCase> cases = cuts_of(sound);
  const auto flips = flips_of(sound, intact.headers, settings.instances, settings.flips);
  cases.insert(cases.end(), flips.begin(), flips.end());
  for (const DamageCase& one : cases) {
    const FileState damaged = read_file_state(io::make_memory_source(one.apply(sound)));
    const std::string kind = one.flip == 0 ? "cut" : one.checksummed ? "checksummed" : "unchecked";
    counter.add("cases: " + kind);
    const SilentLoss loss = silent_loss(intact, damaged);
    if (loss.loss == Loss::None) continue;
    const bool bad = one.flip == 0 || one.checksummed;
    counter.add((bad ? "BAD: " : "silent: ") + one.structure + ": " + loss_name(loss.loss));
    if (bad || settings.show)
      std::printf("%s %s: %s: %s: %s\n", bad ? "BAD" : "silent", name.c_str(), one.text().c_str(),
                  loss_name(loss.loss), loss.what.c_str());
    std::fflush(stdout);
  }
}

int work(const Settings& settings, std::size_t job, const std::string& results) {
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return 1;
  Counter counter;
  for (std::size_t i = job; i < settings.files.size(); i += settings.jobs)
    examine(settings, settings.files[i], counter);
  std::FILE* out = std::fopen(results.c_str(), "w");
  if (out == nullptr) return 1;
  counter.write(out);
  std::fclose(out);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const Settings settings = parse(count, words);
  const std::string place = "/tmp/silent-loss-" + std::to_string(::getpid()) + "-";
  std::vector<pid_t> children;
  for (std::size_t job = 0; job < settings.jobs; ++job) {
    const pid_t child = ::fork();
    if (child == 0) return work(settings, job, place + std::to_string(job));
    children.push_back(child);
  }
  std::map<std::string, std::uint64_t> totals;
  bool failed = false;
  for (std::size_t job = 0; job < settings.jobs; ++job) {
    int status = 0;
    ::waitpid(children[job], &status, 0);
    failed = failed || status != 0;
    std::ifstream in(place + std::to_string(job));
    std::string line;
    while (std::getline(in, line)) {
      const std::string cause = line.substr(line.find('\t') + 1);
      totals[cause] += std::strtoull(line.c_str(), nullptr, 10);
      failed = failed || cause.starts_with("BAD");
    }
    ::unlink((place + std::to_string(job)).c_str());
  }
  for (const auto& [cause, number] : totals) std::printf("%8lu  %s\n", number, cause.c_str());
  return failed ? 1 : 0;
}

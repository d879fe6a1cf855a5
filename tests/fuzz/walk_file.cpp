// Walks files, optionally with seeded damage, and reports what it found: for long runs without a fuzzer, and
// to reproduce one finding.
//   walk_file [--mutations N] [--seed S] [--no-checksums] [--keep PATH] [--slow SECONDS]
//             [--nodes N] [--check] FILE...
// --nodes: the most files and directories that are visited of each input.
// --check: each is checked, and judged by policies, as by fsck.h5, instead of walked.
// --keep: each input is written there before it is walked, so that a crash leaves it.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check_whole_file.h"
#include "h5mount/base/checksum.h"
#include "h5mount/base/log.h"
#include "memory_peak.h"
#include "mutator.h"
#include "support/corpus.h"
#include "whole_file.h"

namespace {

using namespace h5mount;
using namespace h5mount::test;

struct Settings {
  std::uint64_t mutations = 0, seed = 1, nodes = WalkBounds().nodes;
  std::string keep;
  bool check = false;
  double slow = 2;
  std::vector<std::string> files;
};

Settings parse(int count, char** words) {
  Settings out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (word == "--mutations")
      out.mutations = std::strtoull(value, nullptr, 0), ++i;
    else if (word == "--seed")
      out.seed = std::strtoull(value, nullptr, 0), ++i;
    else if (word == "--nodes")
      out.nodes = std::strtoull(value, nullptr, 0), ++i;
    else if (word == "--keep")
      out.keep = value, ++i;
    else if (word == "--slow")
      out.slow = std::strtod(value, nullptr), ++i;
    else if (word == "--check")
      out.check = true;
    else if (word == "--no-checksums")
      set_metadata_checksums_enabled(false);
    else
      out.files.push_back(word);
  }
  return out;
}

bool check(const Settings& settings, const std::string& name, const std::vector<std::byte>& bytes) {
  const CheckReport r = check_whole_file(io::make_memory_source(bytes), 10);
  const std::uint64_t peak = memory_peak() >> 20;
  if (r.violations.empty() && r.longest_wait <= settings.slow && peak <= 600) return true;
  std::printf("BAD %s: peak %lu MiB, slowest %.2f s\n", name.c_str(), peak, r.longest_wait);
  for (const std::string& violation : r.violations) std::printf("  violation: %s\n", violation.c_str());
  std::fflush(stdout);
  return false;
}

bool walk(const Settings& settings, const std::string& name, const std::vector<std::byte>& bytes, bool show) {
  if (!settings.keep.empty()) {
    std::ofstream out(settings.keep, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  reset_memory_peak();
  if (settings.check) return check(settings, name, bytes);
  const WalkReport r = walk_whole_file(
      io::make_memory_source(bytes), {.nodes = settings.nodes, .bytes_per_file = 512U << 10, .seconds = 10});
  const std::uint64_t peak = memory_peak() >> 20;
  const bool bad = !r.violations.empty() || r.slowest_seconds > settings.slow || peak > 600;
  if (show || bad) {
    std::printf(
        "%s%s: %lu nodes, %lu files, %lu bytes, %lu xattrs, %lu errors, peak %lu MiB, slowest %.2f s "
        "(%s)%s\n",
        bad ? "BAD " : "", name.c_str(), r.nodes, r.files, r.bytes, r.xattrs, r.errors, peak,
        r.slowest_seconds, r.slowest.c_str(), r.complete ? "" : ", cut short");
    for (const std::string& violation : r.violations) std::printf("  violation: %s\n", violation.c_str());
    std::fflush(stdout);
  }
  return !bad;
}

}  // namespace

int main(int count, char** words) {
  const Settings settings = parse(count, words);
  set_log_level(LogLevel::Error);
  std::uint64_t done = 0, bad = 0;
  for (const std::string& name : settings.files) {
    const std::vector<std::byte> valid = read_whole_file(name);
    if (settings.mutations == 0) bad += !walk(settings, name, valid, true), ++done;
    for (std::uint64_t i = 0; i < settings.mutations; ++i, ++done) {
      std::vector<std::byte> bytes = valid;
      Mutator(settings.seed * 1'000'003 + i).mutate(bytes);
      if (metadata_checksums_enabled() && i % 2 == 0)
        fix_checksums(valid, bytes);  // otherwise damaged structures are rejected by their checksum
      bad += !walk(settings, name + " mutation " + std::to_string(i), bytes, false);
    }
  }
  std::printf("%lu walked, %lu bad\n", done, bad);
  return bad == 0 ? 0 : 1;
}

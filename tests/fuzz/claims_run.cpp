// Long runs over small files that claim much, without a fuzzer: claims_run FIRST COUNT [DIRECTORY] visits
// files number FIRST and on, writes those that are over a bound to the directory, and says now and then how
// far it is.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "claiming_file.h"
#include "claims_visit.h"
#include "h5mount/base/log.h"
#include "h5mount/base/malloc_limits.h"

int main(int count, char** words) {
  using namespace h5mount;
  if (count < 3) {
    std::fprintf(stderr, "usage: claims_run FIRST COUNT [DIRECTORY]\n");
    return 2;
  }
  limit_malloc();  // as the program does
  set_log_level(LogLevel::Error);
  const std::uint64_t first = std::strtoull(words[1], nullptr, 10),
                      files = std::strtoull(words[2], nullptr, 10);
  std::uint64_t requests = 0, found = 0, memory = 0;
  double slowest = 0;
  std::string slow, large;
  for (std::uint64_t seed = first; seed < first + files; ++seed) {
    const std::vector<std::byte> file = test::make_claiming_file(test::random_choices(seed));
    const test::ClaimsReport report = test::visit_claims(file, {}, seed % 8 == 0);
    requests += report.requests;
    if (report.slowest_seconds > slowest)
      slowest = report.slowest_seconds, slow = report.slowest.substr(0, 100);
    if (report.memory_above_cache > memory)
      memory = report.memory_above_cache, large = report.largest.substr(0, 100);
    for (const std::string& violation : report.violations)
      std::printf("FOUND seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  violation.substr(0, 300).c_str());
    if (!report.violations.empty()) {
      ++found;
      if (count > 3)
        std::ofstream(std::string(words[3]) + "/claims-" + std::to_string(seed) + ".h5", std::ios::binary)
            .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    }
    if ((seed - first + 1) % 100 == 0 || seed + 1 == first + files) {
      std::printf(
          "%llu files, %llu requests, %llu over a bound; slowest %.2f s (%s), most memory %llu MiB (%s)\n",
          static_cast<unsigned long long>(seed - first + 1), static_cast<unsigned long long>(requests),
          static_cast<unsigned long long>(found), slowest, slow.c_str(),
          static_cast<unsigned long long>(memory >> 20), large.c_str());
      std::fflush(stdout);
    }
  }
  return found == 0 ? 0 : 1;
}

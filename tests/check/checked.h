// Checks files in memory, and collects what is found.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "h5mount/base/checksum.h"
#include "h5mount/check/check.h"
#include "support/h5py_file.h"

namespace h5mount::test {

class Collected final : public check::Report {
 public:
  void found(const check::Finding& finding) override { findings.push_back(finding); }
  bool go_on(const check::Totals&) override { return !stop; }

  // "path: error", those of one severity.
  std::vector<std::string> of(check::Severity severity) const {
    std::vector<std::string> out;
    for (const check::Finding& finding : findings)
      if (finding.severity == severity) out.push_back(finding.path + ": " + finding.error.text());
    return out;
  }

  std::vector<check::Finding> findings;
  bool stop = false;
};

inline check::Totals check_source(std::shared_ptr<io::ByteSource> source, Collected& report,
                                  bool quick = false, check::FieldReport* fields = nullptr) {
  auto files = object::FileSet::open(std::move(source), metadata::MetadataOptions{});
  if (!files) {
    report.findings.push_back({check::Severity::Damage, "", files.error()});
    return {};
  }
  const dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(8U << 20),
                                             std::make_shared<cache::WorkerPool>(2), *std::move(files)};
  return check::check_file(environment, {.quick = quick, .fields = fields}, report);
}

inline check::Totals check_bytes(std::vector<std::byte> bytes, Collected& report, bool quick = false,
                                 check::FieldReport* fields = nullptr) {
  return check_source(io::make_memory_source(std::move(bytes)), report, quick, fields);
}

inline constexpr const char* kSmall = R"(
f.create_dataset('g/checked', data=np.arange(1000), chunks=(100,), compression='gzip', fletcher32=True)
f.create_dataset('g/plain', data=np.arange(1000, dtype='u1'))
f['g'].attrs['words'] = ['one', 'two']
f['text'] = ['alpha', 'beta']
f['again'] = f['g/plain']
f['loop'] = f['g']
)";

inline constexpr const char* kDeleted = R"(
f.create_dataset('kept', data=np.arange(10000, dtype='u1'))
f.create_dataset('lost', data=np.arange(100000) % 251, dtype='u1')
f['last'] = np.arange(10000, dtype='u1')
f.close()
f = h5py.File(sys.argv[1], 'r+')
del f['lost']
)";

// The end of a checksummed structure at `at`; 0 where there is none.
inline std::size_t end_of_structure(const std::vector<std::byte>& bytes, std::size_t at) {
  constexpr std::size_t kMin = 8, kMax = 4096;
  for (std::size_t length = kMin; length < kMax && at + length + 4 <= bytes.size(); ++length)
    if (lookup3_checksum(ByteSpan(bytes).subspan(at, length)) ==
        load_le<std::uint32_t>(bytes.data() + at + length))
      return at + length + 4;
  return 0;
}

}  // namespace h5mount::test

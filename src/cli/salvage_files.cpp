#include "salvage_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "h5mount/base/log.h"
#include "h5mount/metadata/prepared_source.h"

namespace h5mount::cli {
namespace {

namespace fs = std::filesystem;

// The flags with which a process opened a descriptor: "flags:\t0100002".
bool opened_for_writing(const fs::path& process, const std::string& descriptor) {
  std::ifstream info(process / "fdinfo" / descriptor);
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("flags:")) {
      const unsigned long flags = std::strtoul(line.c_str() + 6, nullptr, 8);
      return (flags & O_ACCMODE) != O_RDONLY;
    }
  return false;
}

// A process that has that file open for writing, as far as this user may see; 0: none.
long writer_of(const struct stat& file) {
  std::error_code none;
  for (const auto& process : fs::directory_iterator("/proc", none)) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    for (const auto& descriptor : fs::directory_iterator(process.path() / "fd", none)) {
      struct stat st = {};
      if (::stat(descriptor.path().c_str(), &st) != 0) continue;
      if (st.st_dev != file.st_dev || st.st_ino != file.st_ino) continue;
      if (opened_for_writing(process.path(), descriptor.path().filename())) return std::stol(name);
    }
  }
  return 0;
}

Status check_no_writer(const io::ByteSource& source) {
  for (const std::string& path : source.watchable()) {
    struct stat st = {};
    if (::stat(path.c_str(), &st) != 0) continue;
    if (const long process = writer_of(st); process != 0)
      return fail(
          Error(ErrorCode::AccessDenied,
                fmt::format("{} is open for writing by process {}: what it has not written yet is not "
                            "lost; the option force salvages it all the same",
                            path, process)));
  }
  return {};
}

class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : wanted_(wanted && ::isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::uint64_t swept, std::uint64_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (!wanted_ || all == 0 || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "\r\033[Ksalvage: {} % swept", swept * 100 / all);
  }

 private:
  const bool wanted_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Result<std::shared_ptr<io::ByteSource>> salvaged(const SalvageUse& use,
                                                 const std::shared_ptr<io::ByteSource>& source) {
  if (!use.force) H5_TRY(check_no_writer(*source));
  ProgressLine line(use.progress);
  salvage::Options options;
  options.fill = use.mode == SalvageMode::Fill;
  options.threads = use.threads;
  options.progress = [&](std::uint64_t swept, std::uint64_t all) {
    line.show(swept, all);
    return !use.go_on || use.go_on();
  };
  H5_ASSIGN(salvage::Salvaged out, salvage::salvage_source(source, options));
  salvage_counters().swept += out.report.swept;
  salvage_counters().found += out.report.findings.size();
  if (use.told) use.told(source->name(), out.report);
  return std::move(out.source);
}

}  // namespace

SalvageCounters& salvage_counters() {
  static SalvageCounters counters;
  return counters;
}

void use_salvage(const SalvageUse& use) {
  if (use.mode == SalvageMode::Off) return;
  metadata::prepare_sources(
      [use](const std::shared_ptr<io::ByteSource>& source) { return salvaged(use, source); });
}

Error with_salvage_hint(const Error& error) {
  if (!salvage::may_help(error)) return error;
  return error.with_detail("the option salvage shows what can still be known of a damaged file");
}

}  // namespace h5mount::cli

#include "salvage_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "h5mount/base/log.h"
#include "progress_line.h"

namespace h5mount::cli {
namespace {

namespace fs = std::filesystem;

// Whether a process opened the descriptor for writing: its fdinfo has a line "flags:\t0100002".
bool opened_for_writing(const fs::path& process, const std::string& descriptor) {
  std::ifstream info(process / "fdinfo" / descriptor);
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("flags:")) {
      const unsigned long flags = std::strtoul(line.c_str() + 6, nullptr, 8);
      return (flags & O_ACCMODE) != O_RDONLY;
    }
  return false;
}

// Asks no server, which may hang, about files other than the one sought.
bool is_same_file(const fs::path& descriptor, const struct stat& file) {
  struct statx found = {};
  if (::statx(AT_FDCWD, descriptor.c_str(), AT_STATX_DONT_SYNC, STATX_INO, &found) != 0) return false;
  return found.stx_ino == file.st_ino && makedev(found.stx_dev_major, found.stx_dev_minor) == file.st_dev;
}

// Visits entries until `visit` returns false. A directory of /proc may be gone before its end, as its
// process.
template <class Visit>
void for_each_entry(const fs::path& directory, const Visit& visit) {
  std::error_code code;
  for (auto at = fs::directory_iterator(directory, code); !code && at != fs::directory_iterator();
       at.increment(code))
    if (!visit(at->path())) return;
}

// A process that has the file open for writing, as far as this user can see; 0: none.
long writer_of(const struct stat& file) {
  long writer = 0;
  for_each_entry("/proc", [&](const fs::path& process) {
    const std::string name = process.filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) return true;
    for_each_entry(process / "fd", [&](const fs::path& descriptor) {
      if (is_same_file(descriptor, file) && opened_for_writing(process, descriptor.filename()))
        writer = std::stol(name);
      return writer == 0;
    });
    return writer == 0;
  });
  return writer;
}

Status check_no_writer(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    struct stat st = {};
    if (::stat(path.c_str(), &st) != 0) continue;
    if (const long process = writer_of(st); process != 0)
      return fail(io_error(
          EBUSY, fmt::format("{} is open for writing by process {} (what it has not written yet is not "
                             "lost; the option force salvages it all the same)",
                             path, process)));
  }
  return {};
}

Status check_may_fetch(const SalvageUse& use, const io::ByteSource& source) {
  if (use.far || !source.far()) return {};
  return fail(
      Error(ErrorCode::AccessDenied,
            fmt::format("{} is not salvaged: all of it would be fetched, {} bytes; salvage=far does that",
                        source.name(), source.size())));
}

void tell_of_unreadable(const std::string& name, const std::vector<ByteRange>& ranges) {
  if (ranges.empty()) return;
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.end - range.begin;
  salvage_counters().unreadable += bytes;
  log(LogLevel::Warning, "{}: {} bytes were passed over, as they cannot be read: {}", name, bytes,
      unreadable_text(ranges));
}

Result<std::shared_ptr<io::ByteSource>> salvaged(const SalvageUse& use,
                                                 const std::shared_ptr<io::ByteSource>& source) {
  H5_TRY(check_may_fetch(use, *source));
  if (!use.force) H5_TRY(check_no_writer(source->state().watchable()));
  ProgressLine line(use.progress);
  salvage::Options options;
  options.fill = use.mode == SalvageMode::Fill;
  options.threads = use.threads;
  std::uint64_t counted = 0;
  options.progress = [&](std::uint64_t swept, std::uint64_t all) {
    const std::uint64_t before = std::exchange(counted, swept);
    salvage_counters().swept += swept - (before <= swept ? before : 0);  // else another sweep has begun
    if (all > 0 && line.due()) line.show(fmt::format("salvage: {} % swept", swept * 100 / all));
    return !use.go_on || use.go_on();
  };
  H5_ASSIGN(salvage::Salvaged out, salvage::salvage_source(source, options));
  salvage_counters().found += out.report.findings.size();
  tell_of_unreadable(source->name(), out.report.unreadable);
  if (use.told) use.told(source->name(), out.report);
  return std::move(out.source);
}

class SalvagingOpener final : public object::SourceOpener {
 public:
  SalvagingOpener(std::shared_ptr<object::SourceOpener> inner, SalvageUse use)
      : inner_(std::move(inner)), use_(std::move(use)) {}

  Result<object::FoundSource> find_main(const std::string& name) override {
    H5_ASSIGN(auto found, or_writer_of(name, inner_->find_main(name)));
    found.open = [this, name,
                  open = std::move(found.open)]() mutable -> Result<std::shared_ptr<io::ByteSource>> {
      H5_ASSIGN(auto source, or_writer_of(name, open()));
      if (!use_.lazy || !salvage::opens_plainly(source)) return salvaged(use_, source);
      main_ = source;
      return source;
    };
    return found;
  }

  Result<object::FoundSource> find_named(const object::OpenedFile& from, std::string_view name,
                                         object::NameUse use) const override {
    H5_ASSIGN(auto found, inner_->find_named(from, name, use));
    if (use == object::NameUse::RawData) return found;
    found.open = [use = use_,
                  open = std::move(found.open)]() mutable -> Result<std::shared_ptr<io::ByteSource>> {
      H5_ASSIGN(const auto source, open());
      const bool may = check_may_fetch(use, *source).has_value();
      if (!may && salvage::opens_plainly(source)) return source;
      return salvaged(use, source);
    };
    return found;
  }

  const object::ExternalAccess& access() const override { return inner_->access(); }

  bool may_salvage_main() const override { return main_ != nullptr; }
  bool salvage_fills() const override { return use_.mode == SalvageMode::Fill; }
  Result<std::shared_ptr<io::ByteSource>> salvage_main(const std::function<bool()>& go_on) const override {
    if (!main_) return nullptr;
    SalvageUse use = use_;
    use.go_on = go_on;
    H5_ASSIGN(auto out, salvaged(use, main_));
    if (out == main_) return nullptr;
    return out;
  }

 private:
  // A writer that holds a lock is named as one that does not.
  template <class T>
  Result<T> or_writer_of(const std::string& name, Result<T> opened) const {
    const bool locked = !opened && opened.error().system_errno() == EBUSY;
    if (locked && !use_.force) H5_TRY(check_no_writer({name}));
    return opened;
  }

  const std::shared_ptr<object::SourceOpener> inner_;
  const SalvageUse use_;
  std::shared_ptr<io::ByteSource> main_;  // that was opened as it is
};

}  // namespace

std::string unreadable_text(std::span<const ByteRange> ranges) {
  constexpr std::size_t kMostNamed = 16;
  std::string out;
  for (const ByteRange& range : ranges.first(std::min(ranges.size(), kMostNamed)))
    out += fmt::format("{}[{:#x}, {:#x})", out.empty() ? "" : ", ", range.begin, range.end);
  if (ranges.size() > kMostNamed) out += fmt::format(" and {} more", ranges.size() - kMostNamed);
  return out;
}

SalvageCounters& salvage_counters() {
  static SalvageCounters counters;
  return counters;
}

std::shared_ptr<object::SourceOpener> make_salvaging_opener(std::shared_ptr<object::SourceOpener> inner,
                                                            const SalvageUse& use) {
  if (use.mode == SalvageMode::Off) return inner;
  return std::make_shared<SalvagingOpener>(std::move(inner), use);
}

}  // namespace h5mount::cli

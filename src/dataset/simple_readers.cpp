#include "simple_readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "h5mount/base/limits.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/structures.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::dataset {
namespace {

// Reads storage that was never allocated: every byte is the fill value.
class UnallocatedReader : public DatasetReader {
 public:
  explicit UnallocatedReader(object::DatasetDescription d)
      : DatasetReader(std::move(d)), fill_(description().fill, description().element_size) {}
  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess, Pieces& out) const override {
    if (offset < size()) fill_.append(offset, std::min(length, size() - offset), out);
    return {};
  }
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget&) const override {
    H5_TRY(check_inside(offset, out.size()));
    fill_.write(offset, out);
    return {};
  }
  std::optional<std::uint64_t> storage_bytes_known() const override { return 0; }
  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override {
    return DatasetReader::find_data(fill_.is_zero() ? size() : offset, budget);
  }
  Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const override {
    H5_ASSIGN(const std::uint64_t end, DatasetReader::find_hole(offset, budget));
    return fill_.is_zero() ? offset : end;
  }
  Result<WrittenRun> written_run(std::uint64_t, RequestBudget&) const override {
    return WrittenRun{size(), false};
  }

 private:
  FillPattern fill_;
};

class CompactReader final : public DatasetReader {
 public:
  explicit CompactReader(object::DatasetDescription d)
      : DatasetReader(std::move(d)),
        bytes_(std::make_shared<const std::vector<std::byte>>(description().layout.compact_data)) {}
  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess, Pieces& out) const override {
    if (offset >= size()) return {};
    const auto n = static_cast<std::size_t>(std::min(length, size() - offset));
    out.add(ByteSpan(*bytes_).subspan(static_cast<std::size_t>(offset), n), bytes_);
    return {};
  }
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget&) const override {
    H5_TRY(check_inside(offset, out.size()));
    std::ranges::copy(ByteSpan(*bytes_).subspan(static_cast<std::size_t>(offset), out.size()), out.begin());
    return {};
  }
  std::optional<std::uint64_t> storage_bytes_known() const override { return bytes_->size(); }

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

// The kernel's requests are smaller. A reader that asks for so much at once, from the front on, will read
// all.
constexpr std::uint64_t kWholeRequest = 4U << 20;

// Serves the file's own pages if the file is mapped: no cache and no copy in this process.
class ContiguousReader final : public DatasetReader {
 public:
  ContiguousReader(const object::OpenedFilePtr& file, object::DatasetDescription d)
      : DatasetReader(std::move(d)),
        source_(file->followed->source()),
        address_(description().layout.address) {}

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override {
    if (offset >= size() || length == 0) return {};
    const std::uint64_t n = std::min(length, size() - offset);
    if (out.add_mapped(*source_, address_ + offset, n, source_)) return {};
    if (access.pattern != nullptr && source_->far()) ask_ahead(offset, n, access.pattern->announced());
    return DatasetReader::read(offset, n, access, out);
  }
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget&) const override {
    H5_TRY(check_inside(offset, out.size()));
    if (Status read = noted_read(source_->read_at(address_ + offset, out)); !read)
      return fail(read.error().within(fmt::format("data of dataset at {:#x}", description().address)));
    return {};
  }
  std::optional<StoredRun> stored_run(std::uint64_t offset) const override {
    if (offset >= size()) return std::nullopt;
    return StoredRun{source_, address_ + offset, size() - offset};
  }

 private:
  // A reader of the whole has as much as may be under way asked for at once, and from then on always as much
  // ahead of it, to the end of the data. A far source finds other forward readers itself, and has to guess
  // how far they go.
  void ask_ahead(std::uint64_t offset, std::uint64_t length, ReadPattern::Announced& announced) const {
    ByteRange range{};
    {
      const MutexLock lock(announced.mutex);
      AheadWindow& ahead = announced.ahead;
      if (offset == 0 && length >= kWholeRequest) ahead = {0, AheadWindow::kMostBytes};
      if (offset > ahead.until) ahead.window = 0;  // it went elsewhere
      if (ahead.window == 0) return;
      range = ahead.advance(offset, AheadWindow::kMostBytes, true);
    }
    range.end = std::min(range.end, size());
    if (range.begin >= range.end) return;
    range = {address_ + range.begin, address_ + range.end};
    source_->will_read({&range, 1});
  }

  std::shared_ptr<const io::ByteSource> source_;
  std::uint64_t address_;
};

// Reads external raw files, one after another. As in libhdf5, bytes beyond a raw file's end read as zeros.
class ExternalReader final : public DatasetReader {
 public:
  ExternalReader(const ReadEnvironment& environment, object::OpenedFilePtr file, object::DatasetDescription d)
      : DatasetReader(std::move(d)), files_(environment.files), file_(std::move(file)) {
    std::uint64_t start = 0;
    for (const object::ExternalSegment& segment : description().external) {
      const std::uint64_t n = std::min(segment.size, size() - start);
      if (n > 0) parts_.push_back({start, n, &segment});
      start += n;
    }
    end_ = start;
  }

  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override {
    H5_TRY(check_inside(offset, out.size()));
    auto first = std::ranges::upper_bound(parts_, offset, {}, &Part::start);
    if (first != parts_.begin()) --first;
    for (const Part& part : std::span(first, parts_.end())) {
      if (out.empty()) break;
      if (offset >= part.start + part.length) continue;
      H5_TRY(budget.spend(limits::kStepsPerSourceRead));
      const std::uint64_t within = offset - part.start;
      const std::size_t n =
          static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), part.length - within));
      H5_TRY(read_part(part, within, out.first(n)));
      out = out.subspan(n);
      offset += n;
    }
    if (!out.empty())
      return fail(Error(ErrorCode::OutOfRange, "ExternalDataFiles", "size", description().address)
                      .with_found(end_)
                      .with_expected(size())
                      .with_detail("the segments hold less than the dataset"));
    return {};
  }

  std::optional<StoredRun> stored_place(std::uint64_t offset) const override {
    const auto after = std::ranges::upper_bound(parts_, offset, {}, &Part::start);
    if (after == parts_.begin()) return std::nullopt;
    const Part& part = *std::prev(after);
    if (offset - part.start >= part.length) return std::nullopt;
    const auto source = raw_file(part.segment->file);
    const auto at = checked_add(part.segment->offset, offset - part.start);
    if (!source || !at || *at >= (*source)->size()) return std::nullopt;
    return StoredRun{*source, *at, std::min(part.length - (offset - part.start), (*source)->size() - *at)};
  }

  NamedSources named_sources(std::size_t most, RequestBudget&) const override {
    NamedSources out;
    std::set<std::string_view> named;
    for (const Part& part : parts_) {
      if (!named.insert(part.segment->file).second) continue;
      if (out.list.size() < most)
        out.list.push_back(named_source(part.segment->file));
      else
        ++out.left_out;
    }
    return out;
  }

 private:
  struct Part {
    std::uint64_t start, length;
    const object::ExternalSegment* segment;
  };

  NamedFile named_source(const std::string& name) const {
    const auto opened = files_->open_raw(file_, name);
    if (opened) return {.file = name};
    return NamedFile::of(name, {}, opened.error());
  }

  // Reads part of a raw file; an error names the file.
  Status read_part(const Part& part, std::uint64_t within, MutableByteSpan out) const {
    Status done = read_file(part, within, out);
    if (done) return done;
    return fail(done.error().within(fmt::format("bytes from {} on of external raw file {}",
                                                part.segment->offset + within, part.segment->file)));
  }

  Status read_file(const Part& part, std::uint64_t within, MutableByteSpan out) const {
    H5_ASSIGN(const auto source, raw_file(part.segment->file));
    H5_TRY(check_unchanged(part.segment->file, *source));
    const auto at = checked_add(part.segment->offset, within);
    const std::uint64_t have =
        at && *at < source->size() ? std::min<std::uint64_t>(out.size(), source->size() - *at) : 0;
    if (have > 0) H5_TRY(noted_read(source->read_at(*at, out.first(static_cast<std::size_t>(have)))));
    std::ranges::fill(out.subspan(static_cast<std::size_t>(have)), std::byte{0});
    return check_unchanged(part.segment->file, *source);
  }

  // The raw file of that name. It is looked up again at most once per check interval, not for each piece of a
  // request.
  Result<std::shared_ptr<io::ByteSource>> raw_file(const std::string& name) const {
    const auto now = std::chrono::steady_clock::now();
    {
      const MutexLock lock(mutex_);
      if (const auto known = raw_files_.find(name); known != raw_files_.end() && now < known->second.until)
        return known->second.source;
    }
    auto opened = files_->open_raw(file_, name);
    const MutexLock lock(mutex_);
    if (opened)
      raw_files_.insert_or_assign(name, RawFile{*opened, now + kRawFileLasts});
    else
      raw_files_.erase(name);
    return opened;
  }

  // Fails with Stale if a raw file changed after this reader first read from it. Raw files of a followed file
  // may change as the file does.
  Status check_unchanged(const std::string& name, io::ByteSource& source) const {
    if (file_->followed->following()) return {};
    std::optional<io::SourceStamp> first;
    {
      const MutexLock lock(mutex_);
      if (const auto known = first_stamps_.find(name); known != first_stamps_.end()) first = known->second;
    }
    H5_ASSIGN(const io::SourceStamp now, first ? source.state().stamp() : io::settled_stamp(source.state()));
    const MutexLock lock(mutex_);
    io::SourceStamp& seen = first_stamps_.try_emplace(name, now).first->second;
    if (!io::same_bytes(seen, now))
      return fail(Error(ErrorCode::Stale, source.name() + " changed while it was mounted"));
    seen = now;
    return {};
  }

  std::shared_ptr<object::FileSet> files_;
  object::OpenedFilePtr file_;
  std::vector<Part> parts_;
  std::uint64_t end_ = 0;
  mutable Mutex mutex_;
  mutable std::map<std::string, io::SourceStamp> first_stamps_ H5_GUARDED_BY(mutex_);
  // Both maps have at most one entry a segment. The descriptors are closed when other files need them.
  struct RawFile {
    std::shared_ptr<io::ByteSource> source;
    std::chrono::steady_clock::time_point until;
  };
  static constexpr std::chrono::milliseconds kRawFileLasts{50};
  mutable std::map<std::string, RawFile> raw_files_ H5_GUARDED_BY(mutex_);
};

class FailingReader final : public UnallocatedReader {
 public:
  FailingReader(object::DatasetDescription d, Error problem)
      : UnallocatedReader(std::move(d)), problem_(std::move(problem)) {}
  Status read(std::uint64_t, std::uint64_t, ReadAccess, Pieces&) const override { return fail(problem_); }
  Status read_into(std::uint64_t, MutableByteSpan, RequestBudget&) const override { return fail(problem_); }
  std::optional<Error> problem() const override { return problem_; }

 private:
  Error problem_;
};

}  // namespace

ReaderResult open_compact_reader(object::DatasetDescription d) {
  if (d.layout.compact_data.size() < d.image_bytes) {
    Error problem = Error(ErrorCode::Truncated, structures::kDataLayout, "size", d.address)
                        .with_found(d.layout.compact_data.size())
                        .with_expected(d.image_bytes);
    return open_failing_reader(std::move(d), std::move(problem));
  }
  return std::make_shared<CompactReader>(std::move(d));
}

ReaderResult open_contiguous_reader(const object::OpenedFilePtr& file, object::DatasetDescription d) {
  if (d.layout.address == format::kUndefinedAddress) return open_unallocated_reader(std::move(d));
  std::optional<Error> problem;
  if (d.layout.has_size && d.layout.size < d.image_bytes)
    problem = Error(ErrorCode::InvalidValue, structures::kDataLayout, "size", d.address)
                  .with_found(d.layout.size)
                  .with_expected(d.image_bytes);
  else if (!checked_add(d.layout.address, d.image_bytes))
    problem = Error(ErrorCode::OutOfRange, structures::kDataLayout, "address", d.address)
                  .with_found(d.layout.address);
  if (problem) return open_failing_reader(std::move(d), *std::move(problem));
  return std::make_shared<ContiguousReader>(file, std::move(d));
}

ReaderResult open_external_reader(const ReadEnvironment& environment, const object::OpenedFilePtr& file,
                                  object::DatasetDescription d) {
  return std::make_shared<ExternalReader>(environment, file, std::move(d));
}

ReaderResult open_unallocated_reader(object::DatasetDescription d) {
  return std::make_shared<UnallocatedReader>(std::move(d));
}

ReaderResult open_failing_reader(object::DatasetDescription d, Error problem) {
  return std::make_shared<FailingReader>(std::move(d), std::move(problem));
}

}  // namespace h5mount::dataset

#include "file_body.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace h5mount::serve {
namespace {

// Copies bytes of the file; returns 0 at its end. Reads that the caller makes later may be of another
// version.
Result<std::size_t> read_file(tree::OpenNode& file, std::uint64_t offset, MutableByteSpan out,
                              RequestWork& work) {
  dataset::Pieces pieces;
  H5_TRY(file.read(offset, out.size(), pieces, work.budget()));
  const auto count = static_cast<std::size_t>(pieces.total());
  H5_TRY(dataset::copy_pieces(pieces.list(), out.first(count)));
  if (pieces.kernel_only() || file.direct()) H5_TRY(file.revalidate());
  return count;
}

class FileBody final : public Body {
 public:
  FileBody(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<tree::OpenNode> file,
           std::vector<FilePart> parts, std::string end)
      : snapshot_(std::move(snapshot)), file_(std::move(file)), parts_(std::move(parts)) {
    parts_.push_back({std::move(end), {}});
    for (const FilePart& part : parts_) size_ += part.before.size() + (part.range.end - part.range.begin);
  }
  std::optional<std::uint64_t> size() const override { return size_; }

  Result<std::size_t> read(MutableByteSpan out, RequestWork& work) override {
    std::size_t filled = 0;
    while (filled < out.size() && part_ < parts_.size() && (filled == 0 || !work.job_is_old())) {
      const FilePart& part = parts_[part_];
      const MutableByteSpan rest = out.subspan(filled);
      if (text_given_ < part.before.size()) {
        const std::size_t count = std::min(rest.size(), part.before.size() - text_given_);
        std::memcpy(rest.data(), part.before.data() + text_given_, count);
        text_given_ += count;
        filled += count;
        continue;
      }
      const std::uint64_t offset = part.range.begin + range_given_;
      if (offset >= part.range.end) {
        ++part_;
        text_given_ = 0;
        range_given_ = 0;
        continue;
      }
      const auto most =
          static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), part.range.end - offset));
      const auto count = read_file(*file_, offset, rest.first(most), work);
      if (!count && filled > 0) return filled;  // the next read returns the error
      if (!count) return fail(count.error());
      if (*count == 0) return fail(Error(ErrorCode::Stale, "the file became shorter while it was read"));
      range_given_ += *count;
      filled += *count;
    }
    return filled;
  }

  ByteSpan stored() const override {
    const auto run = next_run();
    return run ? run->source->mapped(run->offset, run->length) : ByteSpan();
  }
  void skip(std::uint64_t bytes) override { range_given_ += bytes; }
  Status revalidate() const override { return file_->revalidate(); }

  Result<std::size_t> read_at_once(MutableByteSpan out, RequestWork& work) override {
    const auto run = next_run();
    if (!run) return read(out, work);
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), run->length));
    H5_ASSIGN(const std::size_t count, run->source->read_cached(run->offset, out.first(most)));
    if (count > 0) H5_TRY(revalidate());
    skip(count);
    return count;
  }

 private:
  // The place where the next bytes of the file are stored, up to the end of their range.
  std::optional<dataset::StoredRun> next_run() const {
    if (part_ == parts_.size() || text_given_ < parts_[part_].before.size()) return std::nullopt;
    const Range range = parts_[part_].range;
    const std::uint64_t offset = range.begin + range_given_;
    auto run = offset < range.end ? file_->stored_run(offset) : std::nullopt;
    if (run) run->length = std::min(run->length, range.end - offset);
    return run;
  }

  const std::shared_ptr<const Snapshot> snapshot_;
  const std::shared_ptr<tree::OpenNode> file_;
  std::vector<FilePart> parts_;
  std::uint64_t size_ = 0;
  std::size_t part_ = 0, text_given_ = 0;
  std::uint64_t range_given_ = 0;
};

class StreamBody final : public Body {
 public:
  StreamBody(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<tree::OpenNode> file)
      : snapshot_(std::move(snapshot)), file_(std::move(file)) {}
  std::optional<std::uint64_t> size() const override { return std::nullopt; }
  Result<std::size_t> read(MutableByteSpan out, RequestWork& work) override {
    H5_ASSIGN(const std::size_t count, read_file(*file_, offset_, out, work));
    offset_ += count;
    return count;
  }

 private:
  const std::shared_ptr<const Snapshot> snapshot_;
  const std::shared_ptr<tree::OpenNode> file_;
  std::uint64_t offset_ = 0;
};

}  // namespace

BodyPtr make_file_body(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<tree::OpenNode> file,
                       std::vector<FilePart> parts, std::string end) {
  return std::make_unique<FileBody>(std::move(snapshot), std::move(file), std::move(parts), std::move(end));
}

BodyPtr make_stream_body(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<tree::OpenNode> file) {
  return std::make_unique<StreamBody>(std::move(snapshot), std::move(file));
}

}  // namespace h5mount::serve

// A file of a forest that is shown as it is. Each read is a request, as nothing reports when it is written.
// A reader that wants the bytes of one version calls `revalidate` after each. Threads: any.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "../core/open_files.h"
#include "h5mount/object/source_directory.h"

namespace h5mount::tree {

class PlainFile final : public OpenWithoutHoles {
 public:
  PlainFile(std::shared_ptr<io::ByteSource> source, const io::SourceStamp& opened)
      : source_(std::move(source)), opened_(opened) {}
  static Result<std::shared_ptr<OpenNode>> make(std::shared_ptr<io::ByteSource> source) {
    H5_ASSIGN(const io::SourceStamp opened, source->state().stamp());
    return std::make_shared<PlainFile>(std::move(source), opened);
  }

  bool keeps_pages() const override { return false; }
  bool direct() const override { return true; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out, RequestBudget&) override {
    H5_TRY(source_->state().refresh());
    const std::uint64_t end = source_->size();
    if (offset >= end) return {};
    const auto bytes = std::make_shared<std::vector<std::byte>>(
        static_cast<std::size_t>(std::min({length, end - offset, kMaxBytes})));
    H5_TRY(source_->read_at(offset, *bytes));
    out.add(*bytes, bytes);
    return {};
  }

  Status revalidate() override {
    H5_ASSIGN(const io::SourceStamp now, source_->state().stamp());
    if (io::same_bytes(opened_, now)) return {};
    return fail({ErrorCode::Stale, "the file was written after it was opened"});
  }

  std::optional<dataset::StoredRun> stored_run(std::uint64_t offset) const override {
    const std::uint64_t end = source_->size();
    if (offset >= end) return std::nullopt;
    return dataset::StoredRun{source_, offset, end - offset};
  }

 private:
  static constexpr std::uint64_t kMaxBytes = 1U << 20;
  std::uint64_t size() const override { return source_->size(); }

  const std::shared_ptr<io::ByteSource> source_;
  const io::SourceStamp opened_;
};

}  // namespace h5mount::tree

// A file of a forest that is shown as it is. Each read is a request, as nothing reports when it is written.
// Threads: any.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "../core/open_files.h"
#include "h5mount/object/source_directory.h"

namespace h5mount::tree {

class PlainFile final : public OpenWithoutHoles {
 public:
  explicit PlainFile(std::shared_ptr<io::ByteSource> source) : source_(std::move(source)) {}

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

 private:
  static constexpr std::uint64_t kMaxBytes = 1U << 20;
  std::uint64_t size() const override { return source_->size(); }

  const std::shared_ptr<io::ByteSource> source_;
};

}  // namespace h5mount::tree

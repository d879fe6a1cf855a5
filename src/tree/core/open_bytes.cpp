#include "followed_bytes.h"

#include "h5mount/io/remarks.h"
#include "h5mount/metadata/torn_retry.h"
#include "open_nodes.h"

namespace h5mount::tree {

namespace {

constexpr std::uint64_t kMaxCopied = 64U << 10;

// Pieces of so few bytes are copied, as that costs less than a second check; pieces that cannot be copied are
// left unchanged.
dataset::Pieces copied_where_small(dataset::Pieces pieces) {
  if (pieces.total() == 0 || pieces.total() > kMaxCopied || !pieces.kernel_only()) return pieces;
  auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(pieces.total()));
  if (!dataset::copy_pieces(pieces.list(), block->bytes())) return pieces;
  dataset::Pieces copied;
  copied.add(block->bytes(), block);
  return copied;
}

// Whether salvage says that some bytes of the dataset are gone.
bool are_lost(const FollowedData& data) {
  const io::Remarks* const remarks = io::remarks_of(data.followed().source().get());
  return remarks != nullptr && remarks->lacks_bytes(data.address());
}

class OpenBytes : public OpenNode {
 public:
  OpenBytes(NodePtr keep, FollowedBytes& bytes, FollowedBytes::StatePtr opened)
      : keep_(std::move(keep)),
        bytes_(bytes),
        data_(bytes.data()),
        followed_(data_.followed()),
        opened_(std::move(opened)),
        is_virtual_(data_.is_virtual()),
        lacks_bytes_(bytes.own_file() && are_lost(data_)) {
    data_.context().open_nodes->add(keep_);
  }
  ~OpenBytes() override { data_.context().open_nodes->remove(keep_); }

  // The kernel caches whole pages, of which each lacks the bytes beside a lost one.
  bool direct() const override { return lacks_bytes_; }
  bool lacks_bytes() const override { return lacks_bytes_; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
              RequestBudget& budget) override {
    allow(budget);
    dataset::Pieces pieces;
    Status done = read_once(offset, length, pieces, budget);
    if (done || done.error().code() != ErrorCode::Interrupted) bytes_.note_read(offset, length, done);
    if (!done && done.error().code() == ErrorCode::Stale) drop_all_pages();
    H5_TRY(std::move(done));
    out.append(std::move(pieces));
    return {};
  }

  Status revalidate() override {
    Status same = followed_.confirm_unchanged();
    if (same) same = pattern_.confirm_mapped();
    if (!same) drop_all_pages();
    return same;
  }

  std::optional<dataset::StoredRun> stored_run(std::uint64_t offset) const override {
    return opened_->image == nullptr || grows() ? std::nullopt : opened_->image->stored_run(offset);
  }

  std::optional<FixedImage> fixed_image() const override {
    if (opened_->image == nullptr || !bytes_.own_file() || grows()) return std::nullopt;
    return FixedImage{opened_->shown, data_.context().environment, [keep = keep_, &data = data_] {
                        return !data.grows() && data.followed().confirm_unchanged().has_value();
                      }};
  }

  Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget& budget) override {
    return seek(offset, &view::ComputedFile::find_data, budget);
  }
  Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget& budget) override {
    return seek(offset, &view::ComputedFile::find_hole, budget);
  }

 private:
  void allow(RequestBudget& budget) const { budget.allow_for(followed_.source()->stored_bytes()); }
  bool grows() const { return followed_.following() || is_virtual_; }

  // Reads bytes of the file as it was opened, or of one state of a growing file. Pieces that the kernel has
  // yet to copy (`kernel_only`, more than kMaxCopied bytes) are checked afterwards: see OpenNode::revalidate.
  Status read_once(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out, RequestBudget& budget) {
    if (!grows()) {
      H5_TRY(followed_.revalidate());
      dataset::Pieces pieces;
      H5_TRY(opened_->read(offset, length, {&pattern_, budget}, pieces));
      pieces = copied_where_small(std::move(pieces));
      H5_TRY(followed_.confirm_unchanged());
      if (!grows()) {
        out = std::move(pieces);
        return {};
      }
    }
    const auto attempt = [&](const auto&) -> Status {
      H5_ASSIGN(const FollowedBytes::StatePtr state, bytes_.newest(budget));
      dataset::Pieces pieces;
      H5_TRY(state->read(offset, length, {&pattern_, budget}, pieces));
      H5_TRY(followed_.confirm_unchanged());
      H5_TRY(check_not_shorter(offset, length, pieces.total()));
      data_.note_missing_sources();
      if (bytes_.superseded(*state)) drop_pages({offset, offset + length});
      out = std::move(pieces);
      return {};
    };
    if (data_.repeats_attempts()) return attempt(nullptr);
    return metadata::retry_torn(followed_, "dataset", budget, attempt);
  }

  // Files that are joined go too. The kernel shows zeros for bytes that it was told of and does not get.
  Status check_not_shorter(std::uint64_t offset, std::uint64_t length, std::uint64_t got) const {
    if (!data_.context().options.joined) return {};
    const std::uint64_t told = bytes_.believed_size();
    if (offset >= told || got >= std::min(length, told - offset)) return {};
    return fail({ErrorCode::Stale, "it has become shorter"});
  }

  // While the file grows, a held handle refers to the newest state.
  template <class Find>
  Result<std::uint64_t> seek(std::uint64_t offset, Find find, RequestBudget& budget) {
    allow(budget);
    FollowedBytes::StatePtr state = opened_;
    if (grows()) {
      H5_ASSIGN(state, bytes_.newest(budget));
    }
    if (offset >= state->file->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    auto found = ((*state->file).*find)(offset, budget);
    H5_TRY(followed_.confirm_unchanged());
    return found;
  }

  // A page may contain bytes copied while the file was being written: all are dropped, once.
  void drop_all_pages() {
    if (!dropped_pages_.exchange(true)) drop_pages(dataset::kWholeImage);
  }
  // The kernel drops a page after running reads of it have ended.
  void drop_pages(dataset::ByteRange range) {
    if (const auto kernel = data_.context().open_nodes->kernel()) kernel->invalidate(keep_->id(), {range});
  }

  const NodePtr keep_;
  FollowedBytes& bytes_;
  FollowedData& data_;
  metadata::FollowedFile& followed_;
  const FollowedBytes::StatePtr opened_;
  const bool is_virtual_;
  const bool lacks_bytes_;
  dataset::ReadPattern pattern_;
  std::atomic<bool> dropped_pages_ = false;
};

}  // namespace

Result<std::shared_ptr<OpenNode>> open_bytes(NodePtr node, FollowedBytes& bytes, RequestBudget& budget) {
  auto opened = bytes.newest(budget);
  if (!opened) {
    if (opened.error().code() != ErrorCode::Interrupted) bytes.data().note_failure(0, opened.error());
    return fail(std::move(opened).error());
  }
  bytes.data().note_missing_sources();
  NodeStat ignored;
  bytes.publish(ignored, node->id(), budget);
  return std::make_shared<OpenBytes>(std::move(node), bytes, *std::move(opened));
}

}  // namespace h5mount::tree

#include <atomic>

#include "../views.h"
#include "chunk_image.h"
#include "h5mount/base/once_value.h"
#include "h5mount/dataset/stored_chunks.h"
#include "stored_codec.h"

namespace h5mount::view {

namespace {

using dataset::StoredChunks;

// Those of `range`, with `head` before them.
class StoredBytes final : public ComputedFile {
 public:
  StoredBytes(std::shared_ptr<const ChunkImage> chunk, std::uint64_t number, const StoredChunks& chunks,
              std::string head, ByteRange range, bool verify)
      : chunk_(std::move(chunk)),
        number_(number),
        chunks_(chunks),
        head_(std::make_shared<const std::string>(std::move(head))),
        range_(range),
        verified_(!verify) {}

  std::uint64_t size() const override { return head_->size() + range_.end - range_.begin; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess,
              dataset::Pieces& out) const override {
    if (offset >= size()) return {};
    length = std::min(length, size() - offset);
    if (!verified_.load(std::memory_order_relaxed)) {
      H5_TRY(chunks_.verify_stored(number_));
      verified_.store(true, std::memory_order_relaxed);
    }
    if (offset < head_->size()) {
      const std::uint64_t part = std::min(length, head_->size() - offset);
      add_text(head_, offset, part, out);
      offset += part;
      length -= part;
    }
    if (length == 0) return {};
    return chunks_.read_stored(number_, range_.begin + offset - head_->size(), length, out);
  }

 private:
  std::shared_ptr<const ChunkImage> chunk_;
  std::uint64_t number_;        // among those of the file
  const StoredChunks& chunks_;  // kept by the chunk's dataset
  std::shared_ptr<const std::string> head_;
  ByteRange range_;
  mutable std::atomic<bool> verified_;
};

// The elements of a chunk in a frame of the codec; for a chunk that was never written or is padded, or to
// which a filter was not applied.
class FramedElements final : public ComputedFile {
 public:
  FramedElements(std::shared_ptr<const ChunkImage> chunk, const StoredCodec& codec, std::uint64_t size)
      : chunk_(std::move(chunk)), codec_(codec), size_(size) {}

  std::uint64_t size() const override { return size_; }

  // Makes the frame, as the size of a compressed one cannot be known otherwise.
  Status measure(RequestBudget& budget) {
    constexpr std::uint64_t kStepsPerByte = 100;
    H5_TRY(budget.spend(kStepsPerByte * chunk_->size()));
    H5_ASSIGN(const auto frame, frame_.get([&] { return make(budget); }, budget));
    size_ = frame->size();
    return {};
  }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const override {
    H5_ASSIGN(const std::shared_ptr<const std::string> frame,
              frame_.get([&] { return make(access.budget); }, access.budget));
    add_text(frame, offset, length, out);
    return {};
  }

 private:
  Result<std::shared_ptr<const std::string>> make(RequestBudget& budget) const {
    std::vector<std::byte> elements(static_cast<std::size_t>(chunk_->size()));
    H5_TRY(chunk_->read_into(0, elements, budget));
    shuffle_bytes(codec_.shuffle, elements);
    auto out = std::make_shared<std::string>();
    H5_TRY(append_frame(codec_.compressor, codec_.item_bytes, elements, *out));
    return std::shared_ptr<const std::string>(std::move(out));
  }

  std::shared_ptr<const ChunkImage> chunk_;
  StoredCodec codec_;
  std::uint64_t size_;
  mutable OnceValue<std::shared_ptr<const std::string>> frame_;
};

}  // namespace

Result<ComputedFilePtr> make_stored_chunk(std::shared_ptr<const ChunkImage> chunk, const StoredCodec& codec,
                                          RequestBudget& budget) {
  const StoredChunks* chunks = dataset::stored_chunks_of(chunk->dataset());
  const std::uint64_t elements = chunk->size();
  const bool plain = codec.compressor == StoredCompressor::None && codec.shuffle == 0;
  // The chunks of a joined dataset may be stored nowhere.
  if (chunks == nullptr && plain && !codec.fletcher32) return show_as_stored(std::move(chunk));
  if (chunks == nullptr) return fail({ErrorCode::Internal, "a codec of a dataset without chunks"});
  const std::optional<std::uint64_t> number = chunk->stored_number();
  StoredChunks::Stored stored;
  if (number) {
    H5_ASSIGN(stored, chunks->find_stored(*number));
  }
  auto part = stored_part(codec, stored, elements);
  if (part)
    return std::make_shared<const StoredBytes>(std::move(chunk), *number, *chunks, std::move(part->head),
                                               part->range, codec.fletcher32);
  if (plain) return show_as_stored(std::move(chunk));
  H5_ASSIGN(const std::uint64_t size, frame_size(codec.compressor, elements));
  const auto framed = std::make_shared<FramedElements>(std::move(chunk), codec, size);
  if (codec.compressor == StoredCompressor::Bzip2) H5_TRY(framed->measure(budget));
  return framed;
}

}  // namespace h5mount::view

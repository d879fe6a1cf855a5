#include "h5mount/metadata/shared_messages.h"

#include <algorithm>

namespace h5mount::metadata {
namespace {

// Bit n of an index' flags is message type n, contrary to the specification's table (a file with all kinds
// shared holds 0x182a there: dataspace, datatype, fill value, pipeline, attribute are 1, 3, 5, 11, 12). Both
// fill value messages share one index.
std::uint32_t type_bit(format::MessageType type) {
  const auto number = type == format::MessageType::FillValueOld ? format::MessageType::FillValue : type;
  return std::uint32_t{1} << static_cast<unsigned>(number);
}

}  // namespace

SharedMessages::SharedMessages(const FileMetadata& file, std::vector<format::SharedMessageIndex> indexes)
    : file_(file), indexes_(std::move(indexes)), heaps_(indexes_.size()) {}

Result<std::unique_ptr<SharedMessages>> SharedMessages::load(
    const FileMetadata& file, const format::SharedMessageTableMessage& message) {
  constexpr std::string_view kName = "SharedMessageTable";
  H5_ASSIGN(const MetadataBlock block,
            file.read(message.table_address,
                      format::shared_message_table_bytes(message.index_count, file.sizes()), kName));
  format::Cursor cursor = block.cursor(kName);
  H5_ASSIGN(auto indexes, format::decode_shared_message_table(cursor, message.index_count));
  return std::unique_ptr<SharedMessages>(new SharedMessages(file, std::move(indexes)));
}

std::unique_ptr<SharedMessages> SharedMessages::read_through(const FileMetadata& file) const {
  return std::unique_ptr<SharedMessages>(new SharedMessages(file, indexes_));
}

Result<std::shared_ptr<const FractalHeap>> SharedMessages::heap(std::size_t index) const {
  {
    const MutexLock lock(mutex_);
    if (heaps_[index]) return heaps_[index];
  }
  // The heap gets a non-owning pointer: the file owns this table, which owns the heap.
  const FileMetadataPtr unowned(FileMetadataPtr(), &file_);
  H5_ASSIGN(auto opened, FractalHeap::open(unowned, indexes_[index].heap_address));
  const MutexLock lock(mutex_);
  if (!heaps_[index]) heaps_[index] = std::move(opened);
  return heaps_[index];
}

Result<FractalHeap::Object> SharedMessages::read(format::MessageType type, std::uint64_t heap_id) const {
  const std::uint32_t bit = type_bit(type);
  const auto found =
      std::ranges::find_if(indexes_, [&](const auto& i) { return (i.message_types & bit) != 0; });
  if (found == indexes_.end())
    return fail(Error(ErrorCode::OutOfRange, "no index of shared messages holds this type of message"));
  H5_ASSIGN(const auto opened, heap(static_cast<std::size_t>(found - indexes_.begin())));
  std::array<std::byte, 8> id{};
  std::memcpy(id.data(), &heap_id, id.size());
  return opened->read(id);
}

}  // namespace h5mount::metadata

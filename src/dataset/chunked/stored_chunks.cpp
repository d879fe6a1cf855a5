#include "h5mount/dataset/stored_chunks.h"

#include "chunked_reader.h"
#include "h5mount/base/structures.h"

namespace h5mount::dataset {

const StoredChunks* stored_chunks_of(const DatasetReader& reader) {
  return dynamic_cast<const StoredChunks*>(&reader);
}

namespace {

StoredChunks::Stored stored_as(const ChunkStore& store, std::uint64_t chunk,
                               const chunk::ChunkRecord& record) {
  if (!record.allocated()) return {};
  const bool filtered = !store.filtered() || (record.filter_mask == 0 && !store.stored_plain(chunk, record));
  return {record.stored_size, filtered, record.address, store.shared_source()};
}

}  // namespace

Status ChunkedReader::find_stored_run(std::uint64_t first, std::span<Stored> out) const {
  const ChunkStore& store = blocks_->store();
  if (!range_within(first, out.size(), blocks_->plan().chunk_count()))
    return fail(Error(ErrorCode::OutOfRange, "Dataset", "chunk", first));
  std::vector<chunk::ChunkRecord> records(out.size());
  H5_TRY(store.find_run(first, records));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = stored_as(store, first + i, records[i]);
  return {};
}

Status ChunkedReader::read_stored(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                                  Pieces& out) const {
  const ChunkStore& store = blocks_->store();
  H5_ASSIGN(const chunk::ChunkRecord record, store.find(chunk));
  if (!record.allocated() || !range_within(offset, length, record.stored_size))
    return fail(Error(ErrorCode::OutOfRange, structures::kChunk, "stored_size", chunk).with_found(offset));
  if (blocks_->growth() != nullptr) (void)blocks_->chunk_key(chunk);  // records that it is published
  return store.append_stored(chunk, record, offset, length, out);
}

Status ChunkedReader::verify_stored(std::uint64_t chunk) const {
  H5_TRY(blocks_->chunk_block(chunk, Unbounded()));
  return {};
}

}  // namespace h5mount::dataset

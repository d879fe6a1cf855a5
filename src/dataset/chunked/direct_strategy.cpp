// Unfiltered chunks are served as the file's own pages: no cache and no copy in this process.
#include <unordered_map>

#include "h5mount/base/momentary.h"
#include "read_strategy.h"

namespace h5mount::dataset {
namespace {

class DirectStrategy final : public ReadStrategy {
 public:
  explicit DirectStrategy(ChunkedBlocksPtr blocks) : blocks_(std::move(blocks)) {}

  Status read(std::uint64_t offset, std::uint64_t length, Pieces& out, RequestBudget&) const override {
    std::unordered_map<std::uint64_t, chunk::ChunkRecord> records;
    Status status;
    blocks_->plan().for_each_image_run(offset, length,
                                       [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
                                         auto found = records.find(chunk);
                                         if (found == records.end()) {
                                           auto record = blocks_->store().find(chunk);
                                           if (!record)
                                             return status = fail(std::move(record).error()), false;
                                           found = records.emplace(chunk, std::move(*record)).first;
                                           if (blocks_->growth() != nullptr)
                                             (void)blocks_->chunk_key(chunk);  // records that it is published
                                         }
                                         status = append_run({chunk, at, bytes}, found->second, offset, out);
                                         offset += bytes;
                                         return status.has_value();
                                       });
    return status;
  }

 private:
  struct Run {
    std::uint64_t chunk, at, bytes;
  };

  Status append_run(const Run& run, const chunk::ChunkRecord& record, std::uint64_t image_offset,
                    Pieces& out) const {
    const ChunkStore& store = blocks_->store();
    if (!record.allocated()) {
      store.fill().append(image_offset, run.bytes, out);
      return {};
    }
    const io::ByteSource& source = store.source();
    if (out.add_mapped(source, record.address + run.at, run.bytes)) return {};
    auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(run.bytes));
    if (Status read = noted_read(source.read_at(record.address + run.at, block->bytes())); !read)
      return fail(store.located(read.error(), run.chunk, &record));
    out.add(block->bytes(), block);
    return {};
  }

  ChunkedBlocksPtr blocks_;
};

}  // namespace

ReadStrategyPtr make_direct_strategy(ChunkedBlocksPtr blocks) {
  return std::make_shared<const DirectStrategy>(std::move(blocks));
}

}  // namespace h5mount::dataset

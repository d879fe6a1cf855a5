// Small chunked datasets in memory, written without libhdf5 and without the reader's arithmetic, together
// with the expected image, assembled element by element.
#pragma once

#include <functional>
#include <random>
#include <set>
#include <string>

#include "chunk/index_builder.h"
#include "h5mount/dataset/open_dataset.h"

namespace h5mount::test {

struct DatasetShape {
  Coordinates dims, chunk_dims;
  std::uint32_t element_size = 1;
  bool filtered = false;             // shuffle, then deflate; some chunks skip either (filter mask)
  bool edges_unfiltered = false;     // chunks that exceed the extent are stored unfiltered
  std::vector<std::byte> fill = {};  // one element, or none: zeros
  unsigned missing_percent = 0;      // percentage of chunks; at least one is written
  format::ChunkIndexKind index = format::ChunkIndexKind::BTree1;
  bool mapped = false;  // the source offers its memory to the kernel
};

std::string text_of(const DatasetShape& shape);
inline void PrintTo(const DatasetShape& shape, std::ostream* out) {
  *out << text_of(shape);
}

class MemoryDataset {
 public:
  MemoryDataset(const DatasetShape& shape, unsigned seed);

  // Whether the chunk is stored deflated: then `damage` makes its checksum wrong.
  bool deflated(std::uint64_t chunk) const { return deflated_.contains(chunk); }
  void damage(std::uint64_t chunk);

  // All environments of a dataset count together.
  const Counters& counters() const { return *counters_; }
  dataset::ReadEnvironment environment(std::size_t cache_bytes, unsigned threads = 2) const;
  // Opens the current bytes. `on_read` (may be null) is called before each read of them with its length.
  using OnRead = std::function<void(std::size_t)>;
  object::OpenedFilePtr open_file(OnRead on_read = nullptr) const;
  std::shared_ptr<const dataset::DatasetReader> open_reader(const dataset::ReadEnvironment& environment,
                                                            OnRead on_read = nullptr) const;
  // The same on a source that has the same bytes.
  std::shared_ptr<const dataset::DatasetReader> open_reader_of(const dataset::ReadEnvironment& environment,
                                                               std::shared_ptr<io::ByteSource> source) const;

  const DatasetShape& shape() const { return shape_; }
  const object::DatasetDescription& description() const { return description_; }
  const std::vector<std::byte>& image() const { return image_; }
  std::uint64_t chunk_count() const { return chunk_count_; }
  std::uint64_t end_of_chunks() const { return end_of_chunks_; }  // in the file: the index follows
  bool written(std::uint64_t chunk) const { return !missing_.contains(chunk); }
  std::uint64_t written_count() const { return chunk_count_ - missing_.size(); }
  std::uint64_t chunk_of(std::uint64_t image_byte) const;  // by the definition
  bool touches_damage(std::uint64_t offset, std::uint64_t length) const;

 private:
  void write_chunk(std::uint64_t chunk, std::mt19937& random);

  DatasetShape shape_;
  std::shared_ptr<Counters> counters_ = std::make_shared<Counters>();
  Coordinates grid_;
  std::uint64_t chunk_count_ = 1, chunk_bytes_ = 1, end_of_chunks_ = 0;
  object::DatasetDescription description_;
  std::vector<std::byte> image_, bytes_;
  std::map<Coordinates, chunk::ChunkRecord> records_;
  std::set<std::uint64_t> missing_, deflated_, damaged_;
};

// Runs `submit` while the only worker is busy; on return, the jobs that it queued are done.
void with_busy_worker(cache::WorkerPool& workers, const std::function<void()>& submit);

// Shapes of ranks 1 to 4, with chunks that divide the extent and chunks that do not.
DatasetShape random_shape(std::mt19937& random, std::uint64_t max_elements);

}  // namespace h5mount::test

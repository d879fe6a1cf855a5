#include "memory_dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <latch>
#include <sstream>

#include "metadata/memory_file.h"

namespace h5mount::test {
namespace {

constexpr std::uint16_t kDeflate = 1, kShuffle = 2;
constexpr std::uint32_t kSkipShuffle = 1, kSkipDeflate = 2;

// The k-th bytes of all elements together, for each k.
std::vector<std::byte> shuffled(const std::vector<std::byte>& plain, std::size_t element) {
  std::vector<std::byte> out;
  for (std::size_t k = 0; k < element; ++k)
    for (std::size_t i = k; i < plain.size(); i += element) out.push_back(plain[i]);
  return out;
}

// A zlib stream of stored blocks (RFC 1950, RFC 1951 3.2.4).
std::vector<std::byte> zlib_stream(const std::vector<std::byte>& plain) {
  constexpr std::size_t kMaxStored = 65535;
  Writer out;
  out.uint(0x78, 1);
  out.uint(0x01, 1);
  std::uint32_t low = 1, high = 0;
  for (std::size_t at = 0;; at += kMaxStored) {
    const std::size_t n = std::min(kMaxStored, plain.size() - at);
    out.uint(at + n == plain.size() ? 1 : 0, 1);
    out.uint(n, 2);
    out.uint(~n & 0xFFFF, 2);
    for (std::size_t i = at; i < at + n; ++i) {
      out.bytes.push_back(plain[i]);
      low = (low + std::to_integer<std::uint32_t>(plain[i])) % 65521;
      high = (high + low) % 65521;
    }
    if (at + n == plain.size()) break;
  }
  for (int shift = 24; shift >= 0; shift -= 8) out.uint((high << 16 | low) >> shift & 0xFF, 1);
  return out.bytes;
}

// A source that tells of each read.
class ObservedSource final : public io::ByteSource {
 public:
  ObservedSource(std::shared_ptr<io::ByteSource> inner, MemoryDataset::OnRead on_read)
      : inner_(std::move(inner)), on_read_(std::move(on_read)) {}
  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    on_read_(out.size());
    return inner_->read_at(offset, out);
  }
  std::uint64_t size() const override { return inner_->size(); }
  std::string name() const override { return inner_->name(); }

 private:
  std::shared_ptr<io::ByteSource> inner_;
  MemoryDataset::OnRead on_read_;
};

// A source whose bytes may be passed to the kernel, as those of a mapped file.
class MappedSource final : public io::ByteSource {
 public:
  explicit MappedSource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    if (!range_within(offset, out.size(), bytes_.size()))
      return fail(Error(ErrorCode::Truncated, "MappedSource", "bytes", offset));
    std::ranges::copy(ByteSpan(bytes_).subspan(offset, out.size()), out.begin());
    return {};
  }
  std::uint64_t size() const override { return bytes_.size(); }
  ByteSpan mapped(std::uint64_t offset, std::uint64_t length) const override {
    return range_within(offset, length, bytes_.size()) ? ByteSpan(bytes_).subspan(offset, length)
                                                       : ByteSpan();
  }
  std::string name() const override { return "mapped"; }

 private:
  std::vector<std::byte> bytes_;
};

object::OpenedFilePtr file_of(std::shared_ptr<io::ByteSource> source) {
  return std::make_shared<object::OpenedFile>(
      object::OpenedFile{.followed = std::make_shared<metadata::FollowedFile>(
                             std::make_shared<MemoryFile>(std::move(source), format::FileSizes{8, 8}))});
}

}  // namespace

std::string text_of(const DatasetShape& shape) {
  std::ostringstream out;
  for (const std::uint64_t d : shape.dims) out << d << ' ';
  out << "in chunks of ";
  for (const std::uint64_t d : shape.chunk_dims) out << d << ' ';
  out << "elements of " << shape.element_size << (shape.filtered ? ", filtered" : "")
      << (shape.edges_unfiltered ? " but edges" : "") << ", " << shape.missing_percent
      << " % missing, fill of " << shape.fill.size() << ", index " << static_cast<int>(shape.index)
      << (shape.mapped ? ", mapped" : "");
  return out.str();
}

MemoryDataset::MemoryDataset(const DatasetShape& shape, unsigned seed) : shape_(shape) {
  std::mt19937 random(seed);
  std::uint64_t elements = 1;
  chunk_bytes_ = shape.element_size;
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    grid_.push_back((shape.dims[i] + shape.chunk_dims[i] - 1) / shape.chunk_dims[i]);
    chunk_count_ *= grid_.back();
    chunk_bytes_ *= shape.chunk_dims[i];
    elements *= shape.dims[i];
  }
  for (std::uint64_t chunk = 1; chunk < chunk_count_; ++chunk)
    if (random() % 100 < shape.missing_percent) missing_.insert(chunk);
  for (std::uint64_t i = 0; i < elements; ++i)
    for (std::size_t k = 0; k < shape.element_size; ++k) {
      const auto data = static_cast<std::byte>(random());
      const std::byte fill = shape.fill.empty() ? std::byte{0} : shape.fill[k];
      image_.push_back(written(chunk_of(image_.size())) ? data : fill);
    }
  bytes_.resize(64);
  for (std::uint64_t chunk = 0; chunk < chunk_count_; ++chunk)
    if (written(chunk)) write_chunk(chunk, random);

  IndexCase index{.name = "dataset", .kind = shape.index, .grid = grid_, .max_grid = grid_};
  if (shape.index == format::ChunkIndexKind::ExtensibleArray) index.max_grid[0] = format::kUnlimited;
  index.filtered = shape.filtered;
  index.dims = shape.dims;
  index.chunk_dims = shape.chunk_dims;
  index.element_size = shape.element_size;
  index.records = records_;
  end_of_chunks_ = bytes_.size();
  index.data = std::move(bytes_);
  BuiltIndex built = build_index(index);
  bytes_ = std::move(built.bytes);

  description_.address = 48;
  description_.space.kind = format::DataspaceKind::Simple;
  description_.space.dims = shape.dims;
  description_.space.max_dims = built.geometry.max_dims;
  description_.layout = built.layout;
  description_.layout.partial_chunks_unfiltered = shape.edges_unfiltered;
  if (!shape.fill.empty()) description_.fill = {.defined = true, .value = shape.fill};
  if (shape.filtered)
    description_.pipeline.filters = {{kShuffle, 0, "shuffle", {shape.element_size}},
                                     {kDeflate, 0, "deflate", {6}}};
  description_.element_size = shape.element_size;
  description_.image_bytes = image_.size();
}

std::uint64_t MemoryDataset::chunk_of(std::uint64_t image_byte) const {
  std::uint64_t element = image_byte / shape_.element_size, chunk = 0, scale = 1;
  for (std::size_t i = shape_.dims.size(); i-- > 0; element /= shape_.dims[i], scale *= grid_[i])
    chunk += element % shape_.dims[i] / shape_.chunk_dims[i] * scale;
  return chunk;
}

void MemoryDataset::write_chunk(std::uint64_t chunk, std::mt19937& random) {
  const std::size_t rank = shape_.dims.size(), e = shape_.element_size;
  Coordinates scaled(rank);
  bool edge = false;
  for (std::uint64_t i = rank, left = chunk; i-- > 0; left /= grid_[i]) {
    scaled[i] = left % grid_[i];
    edge = edge || (scaled[i] + 1) * shape_.chunk_dims[i] > shape_.dims[i];
  }
  std::vector<std::byte> plain;
  for (std::uint64_t at = 0; at * e < chunk_bytes_; ++at) {
    std::uint64_t left = at, element = 0, scale = 1;
    bool inside = true;
    for (std::size_t i = rank; i-- > 0; left /= shape_.chunk_dims[i], scale *= shape_.dims[i]) {
      const std::uint64_t x = scaled[i] * shape_.chunk_dims[i] + left % shape_.chunk_dims[i];
      inside = inside && x < shape_.dims[i];
      element += x * scale;
    }
    for (std::size_t k = 0; k < e; ++k) plain.push_back(inside ? image_[element * e + k] : std::byte{0xEE});
  }
  chunk::ChunkRecord record;
  std::vector<std::byte> stored = plain;
  if (shape_.filtered && !(edge && shape_.edges_unfiltered)) {
    record.filter_mask = random() % 4 == 0 ? random() % 4 : 0;
    if ((record.filter_mask & kSkipShuffle) == 0) stored = shuffled(stored, e);
    if ((record.filter_mask & kSkipDeflate) == 0) {
      stored = zlib_stream(stored);
      deflated_.insert(chunk);
    }
  }
  if (random() % 3 == 0)
    bytes_.resize(bytes_.size() + random() % 40, std::byte{0xDD});  // chunks need not be adjacent
  record.address = bytes_.size();
  record.stored_size = stored.size();
  bytes_.insert(bytes_.end(), stored.begin(), stored.end());
  records_[scaled] = record;
}

void MemoryDataset::damage(std::uint64_t chunk) {
  Coordinates scaled(grid_.size());
  for (std::uint64_t i = grid_.size(), left = chunk; i-- > 0; left /= grid_[i]) scaled[i] = left % grid_[i];
  const chunk::ChunkRecord& record = records_.at(scaled);
  ASSERT_TRUE(deflated(chunk)) << "nothing in other chunks can be wrong";
  bytes_[record.address + record.stored_size - 1] ^= std::byte{1};  // in the Adler-32
  damaged_.insert(chunk);
}

bool MemoryDataset::touches_damage(std::uint64_t offset, std::uint64_t length) const {
  for (std::uint64_t at = offset; at < offset + length; ++at)
    if (damaged_.contains(chunk_of(at))) return true;
  return false;
}

dataset::ReadEnvironment MemoryDataset::environment(std::size_t cache_bytes, unsigned threads) const {
  return {std::make_shared<cache::BlockCache>(cache_bytes), std::make_shared<cache::WorkerPool>(threads),
          nullptr, nullptr, counters_};
}

object::OpenedFilePtr MemoryDataset::open_file(OnRead on_read) const {
  std::shared_ptr<io::ByteSource> source;
  if (shape_.mapped)
    source = std::make_shared<MappedSource>(bytes_);
  else
    source = io::make_memory_source(bytes_);
  if (on_read) source = std::make_shared<ObservedSource>(std::move(source), std::move(on_read));
  return file_of(std::move(source));
}

std::shared_ptr<const dataset::DatasetReader> MemoryDataset::open_reader_of(
    const dataset::ReadEnvironment& environment, std::shared_ptr<io::ByteSource> source) const {
  auto reader = dataset::open_dataset(environment, file_of(std::move(source)), description_);
  EXPECT_TRUE(reader) << reader.error().text();
  return reader ? *reader : nullptr;
}

std::shared_ptr<const dataset::DatasetReader> MemoryDataset::open_reader(
    const dataset::ReadEnvironment& environment, OnRead on_read) const {
  auto reader = dataset::open_dataset(environment, open_file(std::move(on_read)), description_);
  EXPECT_TRUE(reader) << reader.error().text();
  return reader ? *reader : nullptr;
}

void with_busy_worker(cache::WorkerPool& workers, const std::function<void()>& submit) {
  ASSERT_EQ(workers.threads(), 1U);
  std::latch begin(1), done(1);
  workers.submit([&] { begin.wait(); });
  submit();
  workers.submit([&] { done.count_down(); });
  begin.count_down();
  done.wait();
}

DatasetShape random_shape(std::mt19937& random, std::uint64_t max_elements) {
  DatasetShape shape;
  const std::size_t rank = 1 + random() % 4;
  const auto most = static_cast<std::uint64_t>(
      std::pow(static_cast<double>(max_elements), 1.0 / static_cast<double>(rank)));
  for (std::size_t i = 0; i < rank; ++i) {
    shape.dims.push_back(1 + random() % std::max<std::uint64_t>(1, most));
    switch (random() % 4) {
      case 0:
        shape.chunk_dims.push_back(shape.dims.back());
        break;
      case 1:
        shape.chunk_dims.push_back(1);
        break;
      case 2:
        shape.chunk_dims.push_back(1 + shape.dims.back() / 2);
        break;
      default:
        shape.chunk_dims.push_back(1 + random() % (shape.dims.back() + 2));
        break;
    }
  }
  shape.element_size = std::array<std::uint32_t, 4>{1, 2, 3, 8}[random() % 4];
  shape.filtered = random() % 2 == 0;
  shape.edges_unfiltered = shape.filtered && random() % 3 == 0;
  shape.missing_percent = random() % 2 == 0 ? 30 : 0;
  if (random() % 2 == 0)
    for (std::uint32_t k = 0; k < shape.element_size; ++k)
      shape.fill.push_back(static_cast<std::byte>(1 + random() % 255));
  shape.index =
      std::array{format::ChunkIndexKind::BTree1, format::ChunkIndexKind::FixedArray,
                 format::ChunkIndexKind::ExtensibleArray, format::ChunkIndexKind::BTree2}[random() % 4];
  shape.mapped = random() % 2 == 0;
  return shape;
}

}  // namespace h5mount::test

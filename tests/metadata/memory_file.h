// Metadata from memory for tests: no superblock is needed, reads are counted, and a writer of little-endian
// fields can change one of them and recompute the checksum.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/base/checksum.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::test {

class MemoryFile : public metadata::FileMetadata {
 public:
  MemoryFile(std::vector<std::byte> bytes, format::FileSizes sizes)
      : MemoryFile(io::make_memory_source(std::move(bytes)), sizes) {}
  MemoryFile(std::shared_ptr<io::ByteSource> source, format::FileSizes sizes) : source_(std::move(source)) {
    superblock_.sizes = sizes;
  }

  const format::Superblock& superblock() const override { return superblock_; }
  format::FileSizes sizes() const override { return superblock_.sizes; }
  std::uint64_t base_address() const override { return 0; }
  std::uint64_t root_address() const override { return 0; }
  const std::shared_ptr<io::ByteSource>& source() const override { return source_; }
  const metadata::SharedMessages* shared_messages() const override { return nullptr; }
  std::uint64_t reads() const { return reads_; }

  Result<metadata::MetadataBlock> read(std::uint64_t address, std::uint64_t length,
                                       std::string_view structure, metadata::Among) const override {
    ++reads_;
    if (address >= source_->size()) return fail(Error(ErrorCode::OutOfRange, structure, "address", address));
    if (length > source_->size() - address)
      return fail(Error(ErrorCode::Truncated, structure, "size", address));
    std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    H5_TRY(source_->read_at(address, bytes));
    return metadata::MetadataBlock(std::move(bytes), address, sizes());
  }
  Result<metadata::MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                             std::string_view structure,
                                             metadata::Among among) const override {
    const std::uint64_t left = address < source_->size() ? source_->size() - address : 0;
    return read(address, std::min(length, left), structure, among);
  }

 private:
  std::shared_ptr<io::ByteSource> source_;
  format::Superblock superblock_;
  mutable std::atomic<std::uint64_t> reads_{0};
};

// Writes structures one after another. `mark` records the position of a field, for `lie`.
class Writer {
 public:
  explicit Writer(format::FileSizes file_sizes = {}) : sizes(file_sizes) {}

  std::uint64_t here() const { return bytes.size(); }
  void text(std::string_view value) {
    for (const char c : value) bytes.push_back(static_cast<std::byte>(c));
  }
  void uint(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void address(std::uint64_t value) { uint(value, sizes.offsets); }
  void length(std::uint64_t value) { uint(value, sizes.lengths); }
  void zeros(std::size_t count) { bytes.resize(bytes.size() + count); }
  void mark(const std::string& field) { marks[field] = here(); }

  // Writes the checksum of the bytes from `start` to here, and records it for `lie`.
  void checksum_from(std::uint64_t start) {
    sums[here()] = start;
    uint(lookup3_checksum(ByteSpan(bytes).subspan(start)), 4);
  }

  void patch(std::uint64_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
  // Overwrites a marked field with another value and recomputes the checksum over it.
  void lie(const std::string& field, std::uint64_t value, std::size_t width) {
    const std::uint64_t at = marks.at(field);
    patch(at, value, width);
    const auto sum = sums.lower_bound(at);
    if (sum == sums.end() || sum->second > at) return;
    patch(sum->first, lookup3_checksum(ByteSpan(bytes).subspan(sum->second, sum->first - sum->second)), 4);
  }

  std::shared_ptr<const MemoryFile> file() const { return std::make_shared<MemoryFile>(bytes, sizes); }

  format::FileSizes sizes;
  std::vector<std::byte> bytes;
  std::map<std::string, std::uint64_t> marks;
  std::map<std::uint64_t, std::uint64_t> sums;  // position of a checksum, and of the first byte it covers
};

}  // namespace h5mount::test

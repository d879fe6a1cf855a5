// A file's metadata from memory: no superblock, base address 0, and a count of the reads made.
#pragma once

#include <atomic>
#include <stdexcept>
#include <utility>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::test {

class BytesSource final : public ByteSource {
 public:
  explicit BytesSource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
      return fail(Error(ErrorCode::Truncated, "test bytes end"));
    std::ranges::copy(ByteSpan(bytes_).subspan(offset, out.size()), out.begin());
    return {};
  }
  std::uint64_t size() const override { return bytes_.size(); }
  std::string name() const override { return "bytes"; }

 private:
  std::vector<std::byte> bytes_;
};

class FakeFile final : public FileMetadata {
 public:
  FakeFile(std::vector<std::byte> bytes, FileSizes sizes)
      : source_(std::make_shared<BytesSource>(std::move(bytes))), sizes_(sizes) {}

  const Superblock& superblock() const override { throw std::logic_error("no superblock here"); }
  FileSizes sizes() const override { return sizes_; }
  std::uint64_t base_address() const override { return 0; }
  std::uint64_t root_address() const override { return 0; }
  const std::shared_ptr<ByteSource>& addresses() const override { return source_; }
  const SharedMessages* shared_messages() const override { return nullptr; }
  std::uint64_t source_reads() const override { return reads_; }

  Result<MetadataBlock> read(std::uint64_t address, std::uint64_t length,
                             std::string_view structure) const override {
    ++reads_;
    if (address >= source_->size()) return fail(Error(ErrorCode::OutOfRange, structure, "address", address));
    if (length > source_->size() - address)
      return fail(Error(ErrorCode::Truncated, structure, "size", address));
    std::vector<std::byte> bytes(length);
    H5_TRY(source_->read_at(address, bytes));
    return MetadataBlock(std::move(bytes), address);
  }
  Result<MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                   std::string_view structure) const override {
    const std::uint64_t left = address < source_->size() ? source_->size() - address : 0;
    return read(address, std::min(length, left), structure);
  }

 private:
  std::shared_ptr<ByteSource> source_;
  FileSizes sizes_;
  mutable std::atomic<std::uint64_t> reads_{0};
};

}  // namespace h5mount::test

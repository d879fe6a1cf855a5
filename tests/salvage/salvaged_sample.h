// A sample file, and what salvage and the ordinary readers make of it once it is damaged.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/checksum.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/object/object.h"
#include "h5mount/object/resolve_path.h"
#include "h5mount/salvage/salvage.h"
#include "support/h5py_file.h"

namespace h5mount::salvage {

inline constexpr const char* kScript =
    "import numpy as np\n"
    "g = f.create_group('g')\n"
    "f['plain'] = np.arange(300, dtype='i4')\n"
    "g.create_dataset('fixed', data=np.arange(4000), chunks=(100,), compression=1)\n"
    "f.create_dataset('growing', data=np.arange(4000), chunks=(10,), maxshape=(None,))\n"
    "f.create_dataset('both', data=np.arange(3600).reshape(60, 60), chunks=(4, 4), maxshape=(None, None))\n";

inline Salvaged salvaged(std::vector<std::byte> bytes, bool fill = false) {
  auto out =
      salvage_source(io::make_memory_source(std::move(bytes)), {.fill = fill, .threads = 2, .progress = {}});
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out ? *std::move(out) : Salvaged{};
}

// The chunks of the dataset at `path` that can be read, of those that it has.
struct Chunks {
  std::size_t all = 0, readable = 0;
};
inline Result<Chunks> chunks_at(const io::ByteSource& made, const std::shared_ptr<io::ByteSource>& source,
                                std::string_view path) {
  H5_ASSIGN(const auto file, metadata::FileMetadata::open(source, {}));
  H5_ASSIGN(const std::uint64_t address, object::resolve_path(file, file->root_address(), path));
  H5_ASSIGN(const auto object, object::open_object(*file, address));
  H5_ASSIGN(const auto description, object::describe_dataset(*file, object));
  H5_ASSIGN(const auto geometry, chunk::ChunkGeometry::make(description.space, description.layout,
                                                            !description.pipeline.filters.empty()));
  H5_ASSIGN(const auto index, chunk::open_chunk_index(file, description.layout, geometry));
  Chunks out;
  H5_TRY(index->for_each([&](std::span<const std::uint64_t>, const chunk::ChunkRecord& record) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(record.stored_size));
    ++out.all;
    out.readable += made.read_at(record.address, bytes).has_value() ? 1 : 0;
    return true;
  }));
  return out;
}

inline void expect_chunks(const Salvaged& shown, std::string_view path, std::size_t all,
                          std::size_t readable) {
  const auto chunks = chunks_at(*shown.source, shown.source, path);
  ASSERT_TRUE(chunks) << path << ": " << chunks.error().text();
  EXPECT_EQ(chunks->all, all) << path;
  EXPECT_EQ(chunks->readable, readable) << path;
}

// Visits the chunks of the dataset at `path`; the bytes may be changed meanwhile.
inline void for_each_chunk(
    const std::vector<std::byte>& bytes, std::string_view path,
    const std::function<void(std::uint64_t number, const chunk::ChunkRecord&)>& visit) {
  const auto file = metadata::FileMetadata::open(io::make_memory_source(bytes), {});
  ASSERT_TRUE(file);
  const auto address = object::resolve_path(*file, (*file)->root_address(), path);
  ASSERT_TRUE(address);
  const auto object = object::open_object(**file, *address);
  ASSERT_TRUE(object);
  const auto description = object::describe_dataset(**file, *object);
  ASSERT_TRUE(description);
  const auto geometry = chunk::ChunkGeometry::make(description->space, description->layout,
                                                   !description->pipeline.filters.empty());
  const auto index = chunk::open_chunk_index(*file, description->layout, *geometry);
  ASSERT_TRUE(index);
  ASSERT_TRUE(
      (*index)->for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
        visit(scaled[0], record);
        return true;
      }));
}

// Overwrites the structure, as another program would.
inline void overwrite(std::vector<std::byte>& bytes, std::size_t at, std::size_t count = 24) {
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, std::byte{0xA5});
}

inline object::DatasetDescription described(const std::shared_ptr<io::ByteSource>& source,
                                            std::string_view path) {
  const auto file = metadata::FileMetadata::open(source, {}).value();
  const std::uint64_t address = object::resolve_path(file, file->root_address(), path).value();
  return object::describe_dataset(*file, object::open_object(*file, address).value()).value();
}

// Where the bytes of the contiguous dataset begin.
inline std::uint64_t data_address_of(const std::vector<std::byte>& bytes, std::string_view path) {
  return described(io::make_memory_source(bytes), path).layout.address;
}

inline std::uint64_t address_of(const std::vector<std::byte>& bytes, std::string_view path) {
  const auto file = metadata::FileMetadata::open(io::make_memory_source(bytes), {});
  const auto address = file ? object::resolve_path(*file, (*file)->root_address(), path) : fail(file.error());
  EXPECT_TRUE(address) << path;
  return address.value_or(0);
}

// Changes the bytes of a version 2 object header, and its checksum.
template <class Change>
void change_header(std::vector<std::byte>& bytes, std::uint64_t address, const Change& change) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(address);
  format::Cursor cursor(ByteSpan(begin, bytes.end()), address, "ObjectHeader", {});
  const auto prefix = format::decode_object_header_prefix(cursor);
  ASSERT_TRUE(prefix);
  const std::size_t length = prefix->prefix_bytes + static_cast<std::size_t>(prefix->chunk0_bytes);
  change(MutableByteSpan(begin, length));
  const std::uint32_t sum = lookup3_checksum(ByteSpan(begin, length));
  std::memcpy(&*begin + length, &sum, sizeof sum);
}

inline void replace_in(MutableByteSpan bytes, std::string_view old, std::string_view with) {
  const auto found = std::ranges::search(bytes, as_bytes(old));
  ASSERT_FALSE(found.empty());
  std::ranges::copy(as_bytes(with), found.begin());
}

class SalvageTest : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::byte> sample() const { return test::written_with_h5py(kScript, GetParam()); }
};

// What files of one version have: the old one no checksums, and groups with trees; the latest one checksums
// of all structures, arrays of chunks, and links in the headers of groups.
class OldFormatTest : public testing::Test {
 protected:
  static std::vector<std::byte> sample() { return test::written_with_h5py(kScript, "earliest"); }
};
class LatestFormatTest : public testing::Test {
 protected:
  static std::vector<std::byte> sample() { return test::written_with_h5py(kScript, "latest"); }
};

}  // namespace h5mount::salvage

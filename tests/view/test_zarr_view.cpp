// Arrays of Zarr stores (https://zarr-specs.readthedocs.io, versions 2 and 3): metadata, and the chunks'
// files.
#include <gtest/gtest.h>

#include "arrays.h"
#include "h5mount/dataset/padded_dataset.h"
#include "h5mount/view/netcdf.h"
#include "h5mount/view/zarr.h"

namespace h5mount::test {
namespace {

using view::ZarrArray;
using view::ZarrEncoding;

ZarrArray array_of(std::string_view path, ZarrEncoding encoding) {
  return ZarrArray::of(arrays().description(path), encoding).value();
}

void expect_chunk(std::string_view path, ZarrEncoding encoding, std::string_view name,
                  const std::string& wanted) {
  SCOPED_TRACE(std::string(path) + "/" + std::string(name));
  const auto number = array_of(path, encoding).chunk_number(name);
  ASSERT_TRUE(number);
  auto chunk = view::derive_zarr_chunk(*number, encoding)->open(arrays().reader(path));
  ASSERT_TRUE(chunk) << chunk.error().text();
  expect_file(*arrays().make(view::zarr_chunk_view(encoding), *std::move(chunk)), wanted);
}

// Where a file states no fill value netCDF-C gives netCDF's own (https://docs.unidata.ucar.edu/netcdf-c,
// "netcdf.h": NC_FILL_…), in the byte order of the type.
TEST(NetcdfFill, IsTheFilesOrNetcdfsOwn) {
  const auto fill = [](const char* path) {
    const std::vector<std::byte> element = view::netcdf_fill_element(arrays().description(path));
    return std::string(reinterpret_cast<const char*>(element.data()), element.size());
  };
  EXPECT_EQ(fill("edges"), number(0x8001, 2));  // -32767
  EXPECT_EQ(fill("packed"), number(0xFFFF, 2));
  EXPECT_EQ(fill("contiguous"), number(0x80000001, 4, Order::Big));
  EXPECT_EQ(fill("big_endian"), number(0x479E000000000000, 8, Order::Big));
  EXPECT_EQ(fill("unwritten"), number(0x3FC00000, 4));  // 1.5, as the file has it
  EXPECT_EQ(fill("strings"), std::string(16, '\0'));
}

constexpr ZarrEncoding kEncodings[] = {ZarrEncoding::Plain, ZarrEncoding::Stored, ZarrEncoding::Version3};

TEST(ZarrArray, MetadataOfVersion2) {
  const auto metadata = [](const char* path, const char* fill = "0") {
    return array_of(path, ZarrEncoding::Plain).metadata(fill);
  };
  EXPECT_EQ(metadata("edges"),
            R"({"zarr_format":2,"shape":[5,7],"chunks":[2,3],"dtype":"<i2","compressor":null,"fill_value":0,)"
            R"("order":"C","filters":null})");
  EXPECT_EQ(metadata("contiguous", "null"),
            R"({"zarr_format":2,"shape":[2,3],"chunks":[2,3],"dtype":"<i4","compressor":null,)"
            R"("fill_value":null,"order":"C","filters":null})");
  EXPECT_EQ(metadata("scalar"),
            R"({"zarr_format":2,"shape":[],"chunks":[],"dtype":"<f8","compressor":null,"fill_value":0,)"
            R"("order":"C","filters":null})");
  EXPECT_EQ(metadata("items"),
            R"({"zarr_format":2,"shape":[2,2],"chunks":[2,2],"dtype":"|i1","compressor":null,"fill_value":0,)"
            R"("order":"C","filters":null})");
  EXPECT_EQ(
      metadata("padded", "\"AAAAAAAA\""),
      R"({"zarr_format":2,"shape":[3],"chunks":[2],"dtype":[["a","<i2"],["b","<u4"]],"compressor":null,)"
      R"("fill_value":"AAAAAAAA","order":"C","filters":null})");
  EXPECT_EQ(metadata("strings", "\"\""),
            R"({"zarr_format":2,"shape":[3],"chunks":[2],"dtype":"|O","compressor":null,"fill_value":"",)"
            R"("order":"C","filters":[{"id":"vlen-utf8"}]})");
  EXPECT_EQ(metadata("none"),
            R"({"zarr_format":2,"shape":[0,2],"chunks":[1,2],"dtype":"<i4","compressor":null,"fill_value":0,)"
            R"("order":"C","filters":null})");
}

// A level says nothing of how to decode.
TEST(ZarrArray, MetadataOfStoredChunks) {
  EXPECT_EQ(array_of("packed", ZarrEncoding::Stored).metadata("0"),
            R"({"zarr_format":2,"shape":[4,5],"chunks":[2,4],"dtype":"<u2",)"
            R"("compressor":{"id":"zlib","level":6},"fill_value":0,"order":"C",)"
            R"("filters":[{"id":"shuffle","elementsize":2}]})");
  // What Zarr has no codec for is decoded.
  EXPECT_EQ(array_of("edges", ZarrEncoding::Stored).metadata("0"),
            array_of("edges", ZarrEncoding::Plain).metadata("0"));
}

TEST(ZarrArray, MetadataOfVersion3) {
  const auto metadata = [](const char* path, const char* fill) {
    return array_of(path, ZarrEncoding::Version3).version3_metadata(fill, "[null]", "{}");
  };
  const auto wanted = [](const std::string& shape, const std::string& type, const std::string& chunks,
                         const std::string& fill, const std::string& codec) {
    return R"({"zarr_format":3,"node_type":"array","shape":)" + shape + R"(,"data_type":)" + type +
           R"(,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" + chunks +
           R"(}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"."}},"fill_value":)" +
           fill + R"(,"codecs":[)" + codec + R"(],"attributes":{},"dimension_names":[null]})";
  };
  const std::string little = R"({"name":"bytes","configuration":{"endian":"little"}})";
  const std::string big = R"({"name":"bytes","configuration":{"endian":"big"}})";
  EXPECT_EQ(metadata("edges", "0"), wanted("[5,7]", "\"int16\"", "[2,3]", "0", little));
  EXPECT_EQ(metadata("big_endian", "0.0"), wanted("[4]", "\"float64\"", "[3]", "0.0", big));
  EXPECT_EQ(metadata("items", "0"), wanted("[2,2]", "\"int8\"", "[2,2]", "0", R"({"name":"bytes"})"));
  EXPECT_EQ(metadata("strings", "\"\""),
            wanted("[3]", "\"string\"", "[2]", "\"\"", R"({"name":"vlen-utf8","configuration":{}})"));
  EXPECT_EQ(metadata("padded", "{}"),
            wanted("[3]",
                   R"({"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},)"
                   R"({"name":"b","data_type":"uint32"}]}})",
                   "[2]", "{}", little));
}

TEST(ZarrArray, FillValuesOfVersion3) {
  const auto fill = [](const char* path) {
    return view::zarr3_fill_value(arrays().description(path), {{}, Unbounded()}).value();
  };
  EXPECT_EQ(fill("edges"), "0");
  EXPECT_EQ(fill("unwritten"), "1.5");
  EXPECT_EQ(fill("scalar"), "0.0");
  EXPECT_EQ(fill("complex"), "[0.0,0.0]");
  EXPECT_EQ(fill("padded"), R"({"a":0,"b":0})");
  EXPECT_EQ(fill("strings"), "\"\"");
}

TEST(ZarrArray, EveryChunkHasItsNameAndNothingElseHas) {
  for (const ZarrEncoding encoding : kEncodings)
    for (const char* path : {"edges", "packed", "big_endian", "scalar", "items", "cube", "none"}) {
      SCOPED_TRACE(path);
      const ZarrArray array = array_of(path, encoding);
      for (std::uint64_t i = 0; i < array.chunk_count(); ++i)
        EXPECT_EQ(array.chunk_number(array.chunk_name(i)), i) << array.chunk_name(i);
    }
  const ZarrArray edges = array_of("edges", ZarrEncoding::Plain);
  EXPECT_EQ(edges.chunk_count(), 9U);
  EXPECT_EQ(edges.chunk_name(5), "1.2");
  EXPECT_EQ(array_of("edges", ZarrEncoding::Version3).chunk_name(5), "c.1.2");
  EXPECT_EQ(array_of("scalar", ZarrEncoding::Plain).chunk_name(0), "0");
  EXPECT_EQ(array_of("scalar", ZarrEncoding::Version3).chunk_name(0), "c");
  EXPECT_EQ(array_of("none", ZarrEncoding::Plain).chunk_count(), 0U);
  for (const char* name : {"3.0", "0.3", "a.0", "", ".", "-1.0"})
    EXPECT_FALSE(edges.chunk_number(name)) << name;
}

// What lies beyond the array's end is zero.
TEST(ZarrChunks, AreCutFromTheArray) {
  for (std::uint64_t row = 0; row < 3; ++row)
    for (std::uint64_t column = 0; column < 3; ++column) {
      std::string wanted;
      for (std::uint64_t i = 2 * row; i < 2 * row + 2; ++i)
        for (std::uint64_t j = 3 * column; j < 3 * column + 3; ++j)
          wanted += number(i < 5 && j < 7 ? 7 * i + j : 0, 2);
      const std::string name = std::to_string(row) + "." + std::to_string(column);
      expect_chunk("edges", ZarrEncoding::Plain, name, wanted);
      expect_chunk("edges", ZarrEncoding::Stored, name, wanted);
      expect_chunk("edges", ZarrEncoding::Version3, "c." + name, wanted);
    }
}

TEST(ZarrChunks, OfAnyStorage) {
  const std::string contiguous = numbers({0, 1, 2, 3, 4, 5}, 4, Order::Big);
  expect_chunk("contiguous", ZarrEncoding::Stored, "0.0", contiguous);
  expect_chunk("contiguous", ZarrEncoding::Version3, "c.0.0", contiguous);
  expect_chunk("scalar", ZarrEncoding::Plain, "0", number(0x4004000000000000, 8));
  expect_chunk("scalar", ZarrEncoding::Version3, "c", number(0x4004000000000000, 8));
  expect_chunk("unwritten", ZarrEncoding::Plain, "0", numbers({0x3FC00000, 0x3FC00000}, 4));
  expect_chunk("unwritten", ZarrEncoding::Plain, "1", numbers({0x3FC00000, 0}, 4));
  expect_chunk("items", ZarrEncoding::Plain, "0.0", "\1\2\3\4");
  expect_chunk("sums", ZarrEncoding::Plain, "1", numbers({4, 5, 0, 0}, 4));
}

// netCDF-C 4.9.0 takes big-endian elements for little-endian ones, without an error.
TEST(ZarrChunks, OfThePlainStoreAreLittleEndian) {
  expect_chunk("contiguous", ZarrEncoding::Plain, "0.0", numbers({0, 1, 2, 3, 4, 5}, 4));
  expect_chunk("big_endian", ZarrEncoding::Plain, "0",
               numbers({0, 0x3FF0000000000000, 0x4000000000000000}, 8));
  for (const char* path : {"contiguous", "big_endian", "padded"}) {
    EXPECT_EQ(array_of(path, ZarrEncoding::Plain).metadata("0").find('>'), std::string::npos) << path;
    EXPECT_NE(array_of(path, ZarrEncoding::Stored).metadata("0").find('>'), std::string::npos) << path;
  }
}

TEST(ZarrChunks, CompoundsHaveNoPadding) {
  expect_chunk("padded", ZarrEncoding::Stored, "0",
               number(1, 2) + number(4, 4, Order::Big) + number(0xFFFE, 2) + number(5, 4, Order::Big));
  expect_chunk("padded", ZarrEncoding::Stored, "1",
               number(3, 2) + number(6, 4, Order::Big) + std::string(6, '\0'));
  expect_chunk("padded", ZarrEncoding::Plain, "0",
               number(1, 2) + number(4, 4) + number(0xFFFE, 2) + number(5, 4));
  // In a struct of version 3 all numbers have one byte order.
  expect_chunk("padded", ZarrEncoding::Version3, "c.0",
               number(1, 2) + number(4, 4) + number(0xFFFE, 2) + number(5, 4));
}

// vlen-utf8: the number of strings, then each with its length.
TEST(ZarrChunks, StringsOfAnyLength) {
  const std::string first = number(2, 4) + number(1, 4) + "a" + number(0, 4);
  const std::string second = number(2, 4) + number(5, 4) + "\u00e4\u20ac" + number(0, 4);
  expect_chunk("strings", ZarrEncoding::Plain, "0", first);
  expect_chunk("strings", ZarrEncoding::Plain, "1", second);
  expect_chunk("strings", ZarrEncoding::Version3, "c.1", second);
}

TEST(ZarrChunks, StoredOnesAreTheBytesInTheFile) {
  for (const char* name : {"0.0", "0.1", "1.0", "1.1"}) {
    const auto stored = arrays().open("", std::string("packed_") + name);
    expect_chunk("packed", ZarrEncoding::Stored, name, all_of(*stored));
  }
  expect_chunk("packed", ZarrEncoding::Plain, "1.1", numbers({14, 0, 0, 0, 19, 0, 0, 0}, 2));
}

// A dataset of 4 by 5 in chunks of 2 by 4 that is shown as 5 by 9: a chunk whose elements are all there is
// the one in the file, any other has the element of the padding, and zeros beyond the array.
TEST(ZarrChunks, OfAPaddedDataset) {
  const auto padded = [] {
    auto description = dataset::PaddedDataset::describe(arrays().description("packed"), {5, 9});
    return std::make_shared<const dataset::PaddedDataset>(arrays().reader("packed"), *std::move(description),
                                                          std::vector{std::byte{0x34}, std::byte{0x12}});
  };
  const auto chunk_of = [&](ZarrEncoding encoding, std::uint64_t number) {
    auto chunk = view::derive_zarr_chunk(number, encoding)->open(padded());
    EXPECT_TRUE(chunk);
    return all_of(*arrays().make(view::zarr_chunk_view(encoding), *std::move(chunk)));
  };
  const std::uint64_t fill = 0x1234;
  const std::string edge = numbers({4, fill, fill, fill, 9, fill, fill, fill}, 2);
  EXPECT_EQ(chunk_of(ZarrEncoding::Plain, 0), numbers({0, 1, 2, 3, 5, 6, 7, 8}, 2));
  EXPECT_EQ(chunk_of(ZarrEncoding::Plain, 1), edge);
  EXPECT_EQ(chunk_of(ZarrEncoding::Plain, 2), numbers({fill, 0, 0, 0, fill, 0, 0, 0}, 2));
  EXPECT_EQ(chunk_of(ZarrEncoding::Plain, 6), numbers({fill, fill, fill, fill, 0, 0, 0, 0}, 2));
  EXPECT_EQ(chunk_of(ZarrEncoding::Version3, 1), edge);
  const auto in_file = [](const char* name) {
    return all_of(*arrays().open("", std::string("packed_") + name));
  };
  EXPECT_EQ(chunk_of(ZarrEncoding::Stored, 0), in_file("0.0"));
  EXPECT_EQ(chunk_of(ZarrEncoding::Stored, 3), in_file("1.0"));
  EXPECT_NE(chunk_of(ZarrEncoding::Stored, 1), in_file("0.1"));
  EXPECT_FALSE(view::derive_zarr_chunk(9, ZarrEncoding::Plain)->open(padded()));
}

TEST(ZarrChunks, ThereAreNoOthers) {
  for (const ZarrEncoding encoding : kEncodings)
    EXPECT_FALSE(view::derive_zarr_chunk(9, encoding)->open(arrays().reader("edges")));
}

}  // namespace
}  // namespace h5mount::test

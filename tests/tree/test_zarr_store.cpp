// Zarr stores of a file: which objects they have, by what names, and the texts of their metadata.
#include <gtest/gtest.h>

#include "shown_tree.h"

namespace h5mount::test {
namespace {

using Lines = std::vector<std::string>;

const ShownTree& links() {
  static const ShownTree tree(written_by_program("tree/fixtures/links.py"));
  return tree;
}
const ShownTree& dimensions() {
  static const ShownTree tree(written_by_program("tree/fixtures/dimensions.py"));
  return tree;
}

const ShownTree& variables() {
  static const ShownTree tree(written_by_program("tree/fixtures/variables.py"));
  return tree;
}

// The names in a directory itself.
Lines names_in(const ShownTree& tree, std::string_view directory) {
  Lines out;
  for (const std::string& line : tree.below(directory))
    if (line.find('/') >= line.size() - 1 || line.find(" -> ") != std::string::npos) out.push_back(line);
  return out;
}

TEST(ZarrStore, ItsDirectoriesAreGroupsAndArrays) {
  EXPECT_EQ(dimensions().below(".h5/plain.zarr"),
            (Lines{".zattrs", ".zgroup", ".zmetadata", "g/", "g/.zattrs", "g/.zgroup", "g/w/", "g/w/.zarray",
                   "g/w/.zattrs", "g/w/0", "v/", "v/.zarray", "v/.zattrs", "v/0.0", "x/", "x/.zarray",
                   "x/.zattrs", "x/0"}))
      << "`y` is a dimension without values";
  EXPECT_EQ(dimensions().below(".h5/v3.zarr"),
            (Lines{"zarr.json", "g/", "g/zarr.json", "g/w/", "g/w/zarr.json", "g/w/c.0", "v/", "v/zarr.json",
                   "v/c.0.0", "x/", "x/zarr.json", "x/c.0"}));
}

TEST(ZarrStore, LinksToArraysAreArraysAndLinksToGroupsAreLinks) {
  const Lines all = links().below(".h5/plain.zarr");
  const auto has = [&](const std::string& line) { return std::ranges::find(all, line) != all.end(); };
  for (const char* line : {"again/", "g -> again", "soft_group -> g", "again/up -> ..", "soft/",
                           "soft/.zarray", "same/0", "again/soft_up/0", "cube/0.0.0"})
    EXPECT_TRUE(has(line)) << line;
  for (const char* line : {"dangling", "loop", "other", "type", "again/empty"})
    EXPECT_EQ(std::ranges::find_if(all, [&](const std::string& other) { return other.starts_with(line); }),
              all.end())
        << line;
  EXPECT_EQ(links().text(".h5/plain.zarr/soft/0"), std::string("\0\0\0\0\1\0\0\0", 8));
}

// What the version of Zarr reserves has its first character encoded; other names are those of files.
TEST(ZarrStore, ReservedNamesAreEncoded) {
  EXPECT_EQ(names_in(links(), ".h5/plain.zarr/names"),
            (Lines{".zattrs", ".zgroup", "%255C/", "%2Ezarray/", "__hidden/", "a.b/", "back%5Cslash/",
                   "zarr.json/"}));
  EXPECT_EQ(names_in(links(), ".h5/v3.zarr/names"), (Lines{"zarr.json", "%255C/", ".zarray/", "%5F_hidden/",
                                                           "a.b/", "back%5Cslash/", "%7Aarr.json/"}));
  for (const char* name : {"%5C", "back\\slash", "%7Aarr.json", "%2Ezattrs", ".zarray"})
    EXPECT_EQ(links().refusal(".h5/plain.zarr/names", name), ErrorCode::NotFound) << name;
  for (const char* name : {"__hidden", "%2Ezarray", "%61.b"})
    EXPECT_EQ(links().refusal(".h5/v3.zarr/names", name), ErrorCode::NotFound) << name;
}

TEST(ZarrStore, HasNoOtherChunks) {
  for (const char* name : {"0", "0.1", "1.0", "0.0.0", "00.0", "0.", "c.0.0", ".zgroup", "zarr.json"})
    EXPECT_EQ(dimensions().refusal(".h5/plain.zarr/v", name), ErrorCode::NotFound) << name;
  for (const char* name : {"c", "c.0", "0.0", "c.0.1", "c/0/0", ".zarray"})
    EXPECT_EQ(dimensions().refusal(".h5/v3.zarr/v", name), ErrorCode::NotFound) << name;
}

constexpr const char* kArrayV =
    R"({"zarr_format":2,"shape":[2,3],"chunks":[2,3],"dtype":"<i2","compressor":null,"fill_value":null,)"
    R"("order":"C","filters":null})";
constexpr const char* kArrayX =
    R"({"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<f8","compressor":null,"fill_value":null,)"
    R"("order":"C","filters":null})";
constexpr const char* kArrayW =
    R"({"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i2","compressor":null,"fill_value":null,)"
    R"("order":"C","filters":null})";

// The attributes of scales are netCDF's own; the others are the user's. `w` has no scale: netCDF-C counts its
// dimension after those of the scales.
TEST(ZarrStore, TextsOfVersion2) {
  const auto text = [](const std::string& name) { return dimensions().text(".h5/plain.zarr/" + name); };
  const std::string v = R"({"scale_factor":0.5,"_ARRAY_DIMENSIONS":["x","y"]})";
  const std::string x = R"({"units":"m","_ARRAY_DIMENSIONS":["x"]})";
  const std::string w = R"({"_ARRAY_DIMENSIONS":["phony_dim_2"]})";
  const std::string group = R"({"zarr_format":2})", root = R"({"title":"small"})";
  EXPECT_EQ(text(".zgroup"), group);
  EXPECT_EQ(text(".zattrs"), root);
  EXPECT_EQ(text("g/.zattrs"), "{}");
  EXPECT_EQ(text("v/.zarray"), kArrayV);
  EXPECT_EQ(text("x/.zarray"), kArrayX);
  EXPECT_EQ(text("g/w/.zarray"), kArrayW);
  EXPECT_EQ(text("v/.zattrs"), v);
  EXPECT_EQ(text("x/.zattrs"), x);
  EXPECT_EQ(text("g/w/.zattrs"), w);
  EXPECT_EQ(text(".zmetadata"),
            R"({"zarr_consolidated_format":1,"metadata":{".zgroup":)" + group + R"(,".zattrs":)" + root +
                R"(,"v/.zarray":)" + kArrayV + R"(,"v/.zattrs":)" + v + R"(,"x/.zarray":)" + kArrayX +
                R"(,"x/.zattrs":)" + x + R"(,"g/.zgroup":)" + group + R"(,"g/.zattrs":{},"g/w/.zarray":)" +
                kArrayW + R"(,"g/w/.zattrs":)" + w + "}}");
}

// The dimensions of an array in each of the three stores.
void expect_dimensions(const std::string& array, const std::string& names) {
  for (const std::string store : {".h5/plain.zarr/", ".h5/stored.zarr/"})
    EXPECT_NE(variables().text(store + array + "/.zattrs").find(R"("_ARRAY_DIMENSIONS":)" + names),
              std::string::npos)
        << variables().text(store + array + "/.zattrs");
  EXPECT_NE(variables().text(".h5/v3.zarr/" + array + "/zarr.json").find(R"("dimension_names":)" + names),
            std::string::npos)
      << array;
}

TEST(ZarrVariables, NumbersLeadToTheDimensionsOfACoordinate) {
  expect_dimensions("site", R"(["site","len"])");
}

TEST(ZarrVariables, EachGroupHasItsOwnNamesForAScale) {
  expect_dimensions("other", R"(["other"])");
  expect_dimensions("a/again", R"(["again"])");
  expect_dimensions("a/b/v", R"(["again"])");
  expect_dimensions("c/v", R"(["other"])");
  expect_dimensions("d/soft", R"(["soft"])");
  expect_dimensions("d/v", R"(["soft"])");
  const std::string all = variables().text(".h5/plain.zarr/.zmetadata");
  for (const char* part : {R"("a/again/.zattrs":{"_ARRAY_DIMENSIONS":["again"]})",
                           R"("other/.zattrs":{"_ARRAY_DIMENSIONS":["other"]})",
                           R"("d/v/.zattrs":{"_ARRAY_DIMENSIONS":["soft"]})"})
    EXPECT_NE(all.find(part), std::string::npos) << part;
}

TEST(ZarrVariables, AreAsLongAsAnUnlimitedDimension) {
  expect_dimensions("part", R"(["rec"])");
  for (const std::string name : {"all", "part"})
    EXPECT_NE(variables().text(".h5/plain.zarr/" + name + "/.zarray").find(R"("shape":[5],"chunks":[2])"),
              std::string::npos);
  EXPECT_EQ(names_in(variables(), ".h5/v3.zarr/part"), (Lines{"zarr.json", "c.0", "c.1", "c.2"}));
  const std::string fill("\xFD\xFF", 2), zeros(2, '\0');
  EXPECT_EQ(variables().text(".h5/plain.zarr/part/0"), std::string("\0\0\1\0", 4));
  EXPECT_EQ(variables().text(".h5/plain.zarr/part/1"), fill + fill);
  EXPECT_EQ(variables().text(".h5/stored.zarr/part/2"), fill + zeros);
  EXPECT_EQ(variables().text("part"), std::string("\0\0\1\0", 4));
}

TEST(ZarrVariables, StayShortOfADimensionThatNoFileCanHold) {
  EXPECT_NE(variables().text(".h5/plain.zarr/wide/.zarray").find(R"("shape":[2])"), std::string::npos);
  EXPECT_NE(variables().text(".h5/plain.zarr/wide/.zattrs").find("phony_dim_"), std::string::npos);
}

// What readers take for missing anyway is not in the strict stores, and what else is no number is a string.
TEST(ZarrVariables, TheStoredOnesHaveStrictAttributes) {
  const auto text = [](const char* store, const char* array, const char* file) {
    return variables().text(std::string(".h5/") + store + "/" + array + "/" + file);
  };
  EXPECT_TRUE(
      text("stored.zarr", "floats", ".zattrs")
          .starts_with(
              R"({"missing_value":[-1.0],"only":"NaN","range":[-1e999,1e999],"valid":"Infinity","_ARRAY)"))
      << text("stored.zarr", "floats", ".zattrs");
  EXPECT_NE(text("stored.zarr", "floats", ".zarray").find(R"("fill_value":"NaN")"), std::string::npos);
  EXPECT_TRUE(text("stored.zarr", "floats_missing", ".zattrs").starts_with(R"({"_ARRAY_DIMENSIONS")"));
  EXPECT_TRUE(text("stored.zarr", "whole", ".zattrs").starts_with(R"({"missing_value":"NaN","_ARRAY)"));
  EXPECT_NE(text("stored.zarr", "whole", ".zarray").find(R"("fill_value":7)"), std::string::npos);
  // As netCDF-C reads them.
  EXPECT_TRUE(
      text("plain.zarr", "floats", ".zattrs")
          .starts_with(
              R"({"_FillValue":NaN,"missing_value":[NaN,-1.0],"only":"NaN","range":[-Infinity,Infinity],)"
              R"("valid":Infinity,"_ARRAY)"))
      << text("plain.zarr", "floats", ".zattrs");
}

std::string array3(const std::string& shape, const std::string& type, const std::string& fill,
                   const std::string& attributes, const std::string& names) {
  return R"({"zarr_format":3,"node_type":"array","shape":)" + shape + R"(,"data_type":")" + type +
         R"(","chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" + shape +
         R"(}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"."}},"fill_value":)" +
         fill + R"(,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":)" +
         attributes + R"(,"dimension_names":)" + names + "}";
}

TEST(ZarrStore, TextsOfVersion3) {
  const auto text = [](const std::string& name) { return dimensions().text(".h5/v3.zarr/" + name); };
  const std::string v = array3("[2,3]", "int16", "0", R"({"scale_factor":0.5})", R"(["x","y"])");
  const std::string x = array3("[2]", "float64", "0.0", R"({"units":"m"})", R"(["x"])");
  const std::string w = array3("[2]", "int16", "0", "{}", R"(["phony_dim_2"])");
  const std::string consolidated =
      R"("consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{)";
  EXPECT_EQ(text("v/zarr.json"), v);
  EXPECT_EQ(text("x/zarr.json"), x);
  EXPECT_EQ(text("g/w/zarr.json"), w);
  EXPECT_EQ(text("g/zarr.json"), R"({"zarr_format":3,"node_type":"group","attributes":{}})");
  EXPECT_EQ(text("zarr.json"), R"({"zarr_format":3,"node_type":"group","attributes":{"title":"small"},)" +
                                   consolidated + R"("v":)" + v + R"(,"x":)" + x +
                                   R"(,"g":{"zarr_format":3,"node_type":"group","attributes":{},)" +
                                   consolidated + R"(}}},"g/w":)" + w + "}}}");
}

}  // namespace
}  // namespace h5mount::test

// Groups and attribute lists with damaged storage: readable entries are listed, missing ones are reported as
// an error.
#include <gtest/gtest.h>

#include <set>

#include "h5mount/object/object.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

// 200 links and 200 attributes: v2 B-trees of two levels, several leaves each.
constexpr const char* kDense = R"(
g = f.create_group('g')
for i in range(200):
    g['link_%03d' % i] = h5py.SoftLink('/nowhere/%d' % i)
a = f.create_group('a')
b = f.create_group('b', track_order=True)
for i in range(200):
    a.attrs['attribute_%03d' % i] = i
    b['link_%03d' % i] = h5py.SoftLink('/nowhere/%d' % i)
    b.attrs['attribute_%03d' % i] = i
)";

std::string name_of(std::string_view prefix, int i) {
  const std::string digits = std::to_string(1000 + i);
  return std::string(prefix) + digits.substr(1);
}

metadata::FileMetadataPtr open_bytes(std::vector<std::byte> bytes) {
  const auto file = metadata::FileMetadata::open(io::make_memory_source(std::move(bytes)), {});
  EXPECT_TRUE(file) << file.error().text();
  return file ? *file : nullptr;
}

object::Object object_at(const metadata::FileMetadataPtr& file, std::string_view path) {
  const auto address = object::resolve_path(file, file->root_address(), path);
  EXPECT_TRUE(address) << address.error().text();
  const auto object = object::open_object(*file, address.value_or(0));
  EXPECT_TRUE(object) << object.error().text();
  return object.value_or(object::Object{});
}

// The v2 B-trees of links have type 5 in their nodes, those of attributes type 8 (by name) and 9 (by order).
std::vector<std::size_t> leaves_of(const std::vector<std::byte>& bytes, std::uint8_t type) {
  std::vector<std::size_t> leaves = places_of(bytes, "BTLF");
  std::erase_if(leaves, [&](std::size_t at) { return bytes[at + 5] != std::byte{type}; });
  return leaves;
}

struct Names {
  std::size_t found = 0, absent = 0, failed = 0;
};

class DenseDamage : public testing::TestWithParam<bool> {
 protected:
  static const std::vector<std::byte>& valid() {
    static const std::vector<std::byte> bytes = written_with_h5py(kDense);
    return bytes;
  }

  Names look_up_links(const metadata::FileMetadataPtr& file) {
    const auto group = object::Group::open(file, object_at(file, "/g"));
    EXPECT_TRUE(group);
    Names names;
    for (int i = 0; group && i < 200; ++i) count((*group)->find(name_of("link_", i)), names);
    return names;
  }
  Names look_up_attributes(const metadata::FileMetadataPtr& file) {
    const object::Object object = object_at(file, "/a");
    Names names;
    for (int i = 0; i < 200; ++i)
      count(object::find_attribute(*file, object, name_of("attribute_", i)), names);
    return names;
  }

 private:
  template <class T>
  static void count(const Result<T>& result, Names& names) {
    if (result)
      ++names.found;
    else
      ++(result.error().code() == ErrorCode::NotFound ? names.absent : names.failed);
  }
};

// With the heap damaged as well, a lookup of a name in an internal node continues into the next leaf.
INSTANTIATE_TEST_SUITE_P(Heap, DenseDamage, testing::Bool(),
                         [](const auto& info) { return info.param ? "Damaged" : "Sound"; });

TEST_P(DenseDamage, ALookupBesideADamagedLeafIsFoundOrAnError) {
  auto bytes = valid();
  for (const std::uint8_t type : {5, 8}) {
    const auto leaves = leaves_of(bytes, type);
    ASSERT_GE(leaves.size(), 3U);
    for (std::size_t i = 1; i < leaves.size(); ++i) flip(bytes, leaves[i]);
  }
  if (GetParam())
    for (const std::size_t block : places_of(bytes, "FHDB")) flip(bytes, block, 30);
  const auto file = open_bytes(std::move(bytes));
  ASSERT_TRUE(file);
  for (const Names& names : {look_up_links(file), look_up_attributes(file)}) {
    EXPECT_EQ(names.absent, 0U);
    EXPECT_GT(names.failed, 0U);
    EXPECT_EQ(names.found + names.failed, 200U);
    EXPECT_EQ(names.found == 0, GetParam());
  }
}

// Entries missing from one index are listed from the other, where present; the damage is still reported.
TEST_P(DenseDamage, EntriesMissingFromOneIndexComeFromTheOther) {
  auto bytes = valid();
  for (const std::uint8_t type : {5, 8}) {
    const auto leaves = leaves_of(bytes, type);
    for (const std::size_t leaf : leaves) flip(bytes, leaf);
  }
  if (GetParam())
    for (const std::size_t header : places_of(bytes, "BTHD"))
      if (bytes[header + 5] == std::byte{5} || bytes[header + 5] == std::byte{8}) flip(bytes, header, 6);
  const auto file = open_bytes(std::move(bytes));
  ASSERT_TRUE(file);
  std::size_t links = 0, attributes = 0, reported = 0;
  const auto damaged = [&](const Error&) { ++reported; };
  const object::Object object = object_at(file, "/b");
  const auto group = object::Group::open(file, object);
  ASSERT_TRUE(group) << group.error().text();
  EXPECT_TRUE((*group)->for_each([&](const format::Link&) { return ++links > 0; }, damaged));
  EXPECT_GT(reported, 0U);
  EXPECT_EQ(links, 200U);
  EXPECT_TRUE((*group)->find("link_077"));
  reported = 0;
  EXPECT_TRUE(object::for_each_attribute(
      *file, object, [&](const object::Attribute&) { return ++attributes > 0; }, damaged));
  EXPECT_GT(reported, 0U);
  EXPECT_EQ(attributes, 200U);
  EXPECT_TRUE(object::find_attribute(*file, object, "attribute_077"));
}

}  // namespace
}  // namespace h5mount::test

// Made files by hand, as libhdf5 (h5py, h5dump), netCDF-C and this project's own readers see them.
#include <gtest/gtest.h>

#include <chrono>

#include "h5mount/dataset/open_dataset.h"
#include "h5mount/format/encode.h"
#include "h5mount/text/value_text.h"
#include "made/image_source.h"
#include "made_rig.h"
#include "support/h5py_file.h"

namespace h5mount::join {
namespace {

std::vector<std::byte> file_of(const std::vector<MadeObject>& objects) {
  auto made = make_file(objects, Unbounded());
  EXPECT_TRUE(made) << made.error().text();
  return made.value_or(std::vector<std::byte>());
}

// This project's own readers over a source.
class OwnReaders {
 public:
  explicit OwnReaders(std::shared_ptr<io::ByteSource> source) {
    auto files = object::FileSet::open(std::move(source), metadata::MetadataOptions{});
    EXPECT_TRUE(files) << files.error().text();
    environment_ = {std::make_shared<cache::BlockCache>(64U << 20), std::make_shared<cache::WorkerPool>(2),
                    files.value()};
    file_ = environment_.files->main()->snapshot();
  }

  object::Object object(const std::string& path) const {
    const auto address = object::resolve_path(file_, file_->root_address(), path);
    EXPECT_TRUE(address) << path << ": " << address.error().text();
    return object::open_object(*file_, address.value()).value();
  }
  std::string attribute(const std::string& path, const std::string& name) const {
    const auto found = object::find_attribute(*file_, object(path), name);
    if (!found) return found.error().text();
    Unbounded unbounded;
    const text::ValueContext context{{.file = file_}, unbounded};
    return text::value_text(*found->type, found->space, found->data, context, 1U << 24).value();
  }
  std::size_t attributes(const std::string& path) const {
    std::size_t count = 0;
    const auto visit = [&](const object::Attribute& one) {
      EXPECT_FALSE(one.damage) << one.name << ": " << one.damage->text();
      ++count;
      return true;
    };
    const auto damaged = [](const Error& e) { ADD_FAILURE() << e.text(); };
    EXPECT_TRUE(object::for_each_attribute(*file_, object(path), visit, damaged));
    return count;
  }
  std::size_t links(const std::string& path) const {
    std::size_t count = 0;
    const auto group = object::Group::open(file_, object(path)).value();
    const auto damaged = [](const Error& e) { ADD_FAILURE() << e.text(); };
    EXPECT_TRUE(group->for_each([&](const format::Link&) { return ++count, true; }, damaged));
    return count;
  }
  std::vector<std::byte> elements(const std::string& path) const {
    auto description = object::describe_dataset(*file_, object(path));
    EXPECT_TRUE(description) << description.error().text();
    const auto reader =
        dataset::open_dataset(environment_, environment_.files->main(), description.value()).value();
    std::vector<std::byte> out(reader->size());
    const Status read = reader->read_into(0, out, Unbounded());
    EXPECT_TRUE(read) << read.error().text();
    return out;
  }

 private:
  dataset::ReadEnvironment environment_;
  metadata::FileMetadataPtr file_;
};

std::shared_ptr<io::ByteSource> memory(std::vector<std::byte> bytes) {
  return io::make_memory_source(std::move(bytes));
}

void expect_python(const std::vector<std::byte>& made, const std::string& script) {
  EXPECT_EQ(said_by_python({{"made.h5", made}}, "f = h5py.File('made.h5', 'r')\n" + script), "");
}

TEST(MadeFile, AnEmptyRoot) {
  const auto made = file_of({made_group("")});
  EXPECT_EQ(OwnReaders(memory(made)).links(""), 0U);
  expect_python(made, "assert list(f) == [] and list(f.attrs) == []");
}

TEST(MadeFile, GroupsLinksAndElements) {
  MadeObject small = made_dataset("a/small", made_type("<i4"), {2, 3});
  small.elements = value_of<std::int32_t>({1, 2, 3, 4, 5, 6});
  MadeObject large = made_dataset("a/large", made_type("<f8"), {20'000});
  std::vector<double> numbers(20'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.5 * static_cast<double>(i);
  large.elements = value_of(numbers);
  MadeObject texts = made_dataset("texts", made_type("vlen"), {3});
  texts.elements = strings_of({"one", "", "drei ü"});
  MadeObject scalar = made_dataset("scalar", made_type("S7"), {});
  scalar.elements = text_of(std::string("abc\0\0\0\0", 7));
  MadeObject link = made_group("z");
  link.kind = MadeObject::Kind::SoftLink;
  link.target = "/a/small";
  MadeObject fills = made_dataset("fills", made_type("<i2"), {5});
  fills.fill = value_of<std::int16_t>({-7}).bytes;
  const auto made = file_of({made_group(""), made_group("a"), large, small, fills, scalar, texts, link});
  expect_python(made, R"(
assert sorted(f) == ['a', 'fills', 'scalar', 'texts', 'z'], list(f)
assert (f['z'][()] == np.arange(1, 7).reshape(2, 3)).all()
assert (f['a/large'][:] == np.arange(20000) * 0.5).all()
assert list(f['texts'].asstr()[:]) == ['one', '', 'drei ü']
assert f['scalar'][()] == b'abc'
assert (f['fills'][:] == -7).all()
subprocess.run(['h5dump', 'made.h5'], check=True, stdout=subprocess.DEVNULL)
)");
  const OwnReaders own(memory(made));
  EXPECT_EQ(own.elements("a/large"), value_of(numbers).bytes);
  EXPECT_EQ(own.elements("z"), small.elements->bytes);
  EXPECT_EQ(made, file_of({made_group(""), made_group("a"), large, small, fills, scalar, texts, link}));
}

TEST(MadeFile, ThousandsOfLinksAndAttributes) {
  MadeObject root = made_group("");
  for (int i = 0; i < 3'000; ++i)
    root.attributes.push_back(
        made_attribute("a" + std::to_string(i), made_type("<i4"), {}, value_of<std::int32_t>({i})));
  std::vector<MadeObject> objects{root, made_group("g")};
  for (int i = 0; i < 5'000; ++i) {
    objects.push_back(made_dataset("g/d" + std::to_string(i), made_type("<i4"), {1}));
    objects.back().elements = value_of<std::int32_t>({i});
  }
  const auto made = file_of(objects);
  expect_python(made, R"(
assert (len(f['g']), len(f.attrs)) == (5000, 3000), (len(f['g']), len(f.attrs))
assert all(f['g/d%d' % i][0] == i for i in range(0, 5000, 97))
assert {k: int(v) for k, v in f.attrs.items()} == {'a%d' % i: i for i in range(3000)}
)");
  const OwnReaders own(memory(made));
  EXPECT_EQ(own.links("g"), 5'000U);
  EXPECT_EQ(own.attributes(""), 3'000U);
  EXPECT_EQ(own.attribute("", "a2999"), "2999");
  EXPECT_EQ(own.elements("g/d4999"), value_of<std::int32_t>({4999}).bytes);
}

TEST(MadeFile, LargeAttributes) {
  MadeObject root = made_group("");
  std::vector<std::int32_t> numbers(1U << 18);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  root.attributes.push_back(made_attribute("large", made_type("<i4"), {numbers.size()}, value_of(numbers)));
  root.attributes.push_back(made_attribute("small", made_type("vlen"), {2}, strings_of({"ab", "c"})));
  root.attributes.push_back(made_attribute("ref", made_type("ref"), {2}, references_to({"d", "none"})));
  for (int i = 0; i < 3'000; ++i)
    root.attributes.push_back(
        made_attribute("n" + std::to_string(i), made_type("<i4"), {}, value_of<std::int32_t>({i})));
  MadeObject d = made_dataset("d", made_type("<i4"), {1});
  d.elements = value_of<std::int32_t>({5});
  const auto made = file_of({root, d});
  expect_python(made, R"(
assert len(f.attrs) == 3003
assert (f.attrs['large'] == np.arange(1 << 18)).all()
assert list(f.attrs['small']) == ['ab', 'c']
refs = f.attrs['ref']
assert f[refs[0]].name == '/d' and not refs[1]
assert all(f.attrs['n%d' % i] == i for i in range(3000))
assert sorted(f.attrs) == sorted(['large', 'small', 'ref'] + ['n%d' % i for i in range(3000)])
)");
  const OwnReaders own(memory(made));
  EXPECT_EQ(own.attributes(""), 3'003U);
  EXPECT_EQ(own.attribute("", "small"), R"(["ab","c"])");
  EXPECT_EQ(own.attribute("", "n2999"), "2999");
  EXPECT_TRUE(own.attribute("", "large").ends_with(",262143]"));
}

TEST(MadeFile, ManyStringsFillSeveralCollections) {
  std::vector<std::string> texts;
  for (int i = 0; i < 150'000; ++i) texts.push_back(std::string(static_cast<std::size_t>(i % 7), 'x'));
  texts[77] = std::string(3U << 20, 'y');
  MadeObject d = made_dataset("d", made_type("vlen"), {texts.size()});
  d.elements = strings_of(texts);
  const auto made = file_of({made_group(""), d});
  expect_python(made, R"(
d = f['d'][:]
assert len(d[77]) == 3 << 20
assert all(len(d[i]) == i % 7 for i in range(len(d)) if i != 77)
)");
}

// Two sources; the script makes them beside the made file.
TEST(MadeFile, VirtualDatasets) {
  MadeObject along = made_dataset("along", made_type("<i4"), {5, 3});
  along.dimension = 0;
  along.sources = {{"a.h5", "g/x", 0, 2}, {"b%.h5", "g/x", 3, 2}};
  along.fill = value_of<std::int32_t>({-1}).bytes;
  MadeObject across = made_dataset("across", made_type("<f8"), {2, 6});
  across.dimension = 1;
  across.sources = {{"a.h5", "g/x", 0, 3}, {"b%.h5", "g/x", 3, 3}};
  MadeObject added = made_dataset("added", made_type("<i4"), {2, 2, 3});
  added.dimension = 0;
  added.sources = {{"a.h5", "g/x", 0, 1, true}, {"b%.h5", "g/x", 1, 1, true}};
  MadeObject scalars = made_dataset("scalars", made_type("<i4"), {2});
  scalars.dimension = 0;
  scalars.sources = {{"a.h5", "s", 0, 1, true}, {"b%.h5", "s", 1, 1, true}};
  MadeObject whole = made_dataset("whole", made_type("<i4"), {2, 3});
  whole.sources = {{"a.h5", "g/x", 0, 0}};
  whole.sources[0].length = 1;
  const auto made = file_of({made_group(""), across, added, along, scalars, whole});
  expect_python(made, R"(
made_files.check_virtual(f)
)");
}

// A type, encoded and decoded again.
format::DatatypePtr again(const format::Datatype& type) {
  const auto bytes = format::encode_datatype(type).value();
  format::Cursor cursor(bytes, 0, "DatatypeMessage", {});
  auto out = format::decode_datatype(cursor);
  EXPECT_TRUE(out) << out.error().text();
  EXPECT_EQ(cursor.remaining(), 0U);
  EXPECT_EQ(format::encode_datatype(*out.value()).value(), bytes);
  return out.value();
}

// Classes that h5py does not write: libhdf5 1.10 has no class 11, and no references of version 1.12.
TEST(MadeFile, TypesOfRareClasses) {
  format::Datatype complex;
  complex.cls = format::DatatypeClass::Complex;
  complex.size = 16;
  complex.base = made_type(">f8");
  EXPECT_EQ(text::datatype_text(*again(complex)), text::datatype_text(complex));
  format::Datatype reference;
  reference.cls = format::DatatypeClass::Reference;
  reference.size = 18;
  reference.reference = format::ReferenceKind::Object2;
  const auto pair = compound_of({{"z", 8, std::make_shared<format::Datatype>(complex)},
                                 {"r", 30, std::make_shared<format::Datatype>(reference)}},
                                300);
  const auto pair_again = again(*pair);
  EXPECT_EQ(pair_again->version, 5);
  EXPECT_EQ(pair_again->size, 300U);
  EXPECT_EQ(pair_again->members[1].offset, 30U);
  EXPECT_EQ(pair_again->members[1].type->reference, format::ReferenceKind::Object2);
  format::Datatype opaque;
  opaque.cls = format::DatatypeClass::Opaque;
  opaque.size = 3;
  opaque.tag = std::string(300, 't');
  EXPECT_EQ(again(opaque)->tag, std::string(248, 't'));
  format::Datatype vax = *made_type("<f8");
  vax.order = format::ByteOrder::Vax;
  vax.high_pad = true;
  EXPECT_EQ(again(vax)->order, format::ByteOrder::Vax);
  EXPECT_TRUE(again(vax)->high_pad);
  format::Datatype time;
  time.cls = format::DatatypeClass::Time;
  time.size = 4;
  time.bit_precision = 32;
  EXPECT_EQ(again(time)->bit_precision, 32);
  format::Datatype narrow = *made_type("vlen");
  narrow.size = 12;  // as in a file with offsets of four bytes
  EXPECT_EQ(format::encode_datatype(narrow).error().code(), ErrorCode::UnsupportedFeature);
}

TEST(MadeFile, WhatCannotBeMadeIsRefused) {
  const auto code_of = [](const std::vector<MadeObject>& objects) {
    const auto made = make_file(objects, Unbounded());
    return made ? ErrorCode::Internal : made.error().code();
  };
  MadeObject many = made_group("");
  std::vector<format::CompoundMember> members;
  for (std::uint32_t i = 0; i < 4'000; ++i) members.push_back({std::string(20, 'm'), i, made_type("<u1")});
  many.attributes.push_back(made_attribute("a", compound_of(std::move(members), 4'000), {}, {}));
  many.attributes[0].value.bytes.resize(4'000);
  EXPECT_EQ(code_of({many}), ErrorCode::UnsupportedFeature);
  RequestBudget small(RequestBudget::Bounds{1'000, std::chrono::milliseconds(60'000)});
  MadeObject d = made_dataset("d", made_type("<u1"), {100'000});
  d.elements = MadeValue{std::vector<std::byte>(100'000), {}, {}};
  EXPECT_EQ(make_file({made_group(""), d}, small).error().code(), ErrorCode::BudgetExceeded);
  const auto one_place = [](std::string_view) { return std::uint64_t{0}; };
  EXPECT_FALSE(make_sparse_image({made_group(""), made_group("g")}, one_place, Unbounded()));
}

// 20,000 files of a variable.
TEST(MadeFile, ManySources) {
  MadeObject d = made_dataset("d", made_type("<i4"), {20'000, 4});
  d.dimension = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    d.sources.push_back({"directory/file-" + std::to_string(i) + ".nc", "group/d", i, 1});
  const auto began = std::chrono::steady_clock::now();
  const auto made = file_of({made_group(""), d});
  EXPECT_LT(made.size(), 4U << 20);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  expect_python(made, R"(
v = f['d'].virtual_sources()
assert len(v) == 20000 and v[17777].file_name == 'directory/file-17777.nc' and v[5].dset_name == '/group/d'
)");
}

TEST(MadeFile, PlacesBeyondFourGiBInVirtualDatasets) {
  const std::uint64_t far = std::uint64_t{5} << 32;
  MadeObject d = made_dataset("d", made_type("<i4"), {far + 2});
  d.dimension = 0;
  d.sources = {{"a.h5", "x", far, 2}};
  expect_python(file_of({made_group(""), d}), R"(
with h5py.File('a.h5', 'w') as s:
    s['x'] = np.array([7, 8], 'i4')
assert list(f['d'][-3:]) == [0, 7, 8], f['d'][-3:]
)");
}

}  // namespace
}  // namespace h5mount::join

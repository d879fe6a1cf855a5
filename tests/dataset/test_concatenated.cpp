// Datasets one behind the other along any dimension: every way to read them against images assembled element
// by element.
#include <future>
#include <random>

#include "concatenated_parts.h"
#include "h5mount/base/row_major.h"
#include "h5mount/metadata/global_heap.h"
#include "memory_dataset.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

using dataset::DatasetReaderPtr;
using dataset::float_type;
using dataset::integer_type;
using format::ByteOrder;

// A random whole: parts that are chunked or not, gaps, parts without places, and some that have more places
// than are shown.
struct RandomWhole {
  std::vector<std::uint64_t> dims;
  std::size_t dimension = 0;
  Bytes image;
  DatasetReaderPtr reader;
};

RandomWhole random_whole(std::mt19937& random) {
  RandomWhole out;
  const std::size_t rank = 1 + random() % 4, item = std::array{1, 2, 3, 8}[random() % 4];
  out.dimension = random() % rank;
  for (std::size_t i = 0; i < rank; ++i) out.dims.push_back(1 + random() % 7);
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Opaque;
  type->size = static_cast<std::uint32_t>(item);
  Bytes gap(random() % 2 == 0 ? item : 0, std::byte{0xAB});
  const auto parts = std::make_shared<TestParts>();
  std::vector<PartImage> images;
  for (std::size_t part = 0, count = 1 + random() % 9; part < count; ++part) {
    DatasetShape shape;
    shape.element_size = static_cast<std::uint32_t>(item);
    shape.dims = out.dims;
    const std::uint64_t shown = part > 0 && random() % 6 == 0 ? 0 : 1 + random() % 6;
    shape.dims[out.dimension] = std::max<std::uint64_t>(1, shown + (random() % 5 == 0 ? random() % 3 : 0));
    for (const std::uint64_t extent : shape.dims) shape.chunk_dims.push_back(1 + random() % extent);
    shape.filtered = random() % 2 == 0;
    shape.mapped = random() % 2 == 0;
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : shape.dims) elements *= extent;
    if (random() % 6 == 0) {
      Bytes fill(elements * item, std::byte{0});
      for (std::size_t i = 0; i < fill.size() && !gap.empty(); ++i) fill[i] = gap[i % item];
      images.push_back({fill, shape.dims[out.dimension], shown});
      parts->add(shown, [] { return dataset::OpenedPart{}; });
      continue;
    }
    const MemoryDataset made(shape, random());
    images.push_back({made.image(), shape.dims[out.dimension], shown});
    object::DatasetDescription d = made.description();
    d.type = type;
    const auto file = made.open_file();
    DatasetReaderPtr reader = *dataset::open_dataset(made.environment(8U << 20), file, d);
    if (random() % 3 == 0) reader = holding(type, shape.dims, made.image());
    parts->add(shown, [=] { return dataset::OpenedPart{reader, file}; });
  }
  if (parts->starts().back() == 0) return random_whole(random);
  out.dims[out.dimension] = parts->starts().back();
  out.image = joined_images(images, out.dims, out.dimension, item);
  auto whole = whole_of(parts, type, out.dims, out.dimension, gap);
  whole.description.layout.cls = format::LayoutClass::Chunked;
  for (const std::uint64_t extent : out.dims)
    whole.description.layout.chunk_dims.push_back(1 + random() % (extent + 1));
  out.reader = opened_whole(std::move(whole), 1 + random() % 4);
  return out;
}

// The elements of a chunk inside the extent.
Bytes chunk_of_image(const RandomWhole& whole, const std::vector<std::uint64_t>& origin) {
  const object::DatasetDescription& d = whole.reader->description();
  const auto& shape = d.layout.chunk_dims;
  const auto item = static_cast<std::size_t>(d.element_size);
  Bytes out;
  std::vector<std::uint64_t> at(shape.size());
  do {
    std::uint64_t element = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) element = element * whole.dims[i] + origin[i] + at[i];
    const auto from = whole.image.begin() + static_cast<std::ptrdiff_t>(element * item);
    out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(item));
  } while (next_row_major(at, shape));
  return out;
}

Bytes slice(const Bytes& all, std::uint64_t begin, std::uint64_t length) {
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return {from, from + static_cast<std::ptrdiff_t>(length)};
}

void expect_reads(const RandomWhole& whole, std::mt19937& random) {
  const dataset::DatasetReader& reader = *whole.reader;
  ASSERT_EQ(reader.size(), whole.image.size());
  ASSERT_EQ(all_of(reader), whole.image);
  dataset::ReadPattern pattern;
  ASSERT_EQ(all_of(reader, &pattern, 1 + random() % 64), whole.image);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t begin = random() % reader.size(), length = random() % (reader.size() - begin + 1);
    Bytes read(length);
    ASSERT_TRUE(reader.read_into(begin, read, Unbounded()));
    ASSERT_EQ(read, slice(whole.image, begin, length)) << begin;
    std::vector<dataset::ByteRun> runs;
    Bytes expected;
    for (std::uint64_t at = random() % 5; at < reader.size();) {
      const std::uint64_t bytes = std::min<std::uint64_t>(1 + random() % 20, reader.size() - at);
      runs.push_back({at, bytes});
      const Bytes run = slice(whole.image, at, bytes);
      expected.insert(expected.end(), run.begin(), run.end());
      at += bytes + random() % 30;
    }
    Bytes found(expected.size());
    ASSERT_TRUE(reader.read_runs(runs, found, Unbounded()));
    ASSERT_EQ(found, expected);
  }
}

void expect_chunks(const RandomWhole& whole) {
  const auto& shape = whole.reader->description().layout.chunk_dims;
  std::vector<std::uint64_t> grid, at(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) grid.push_back(divide_up(whole.dims[i], shape[i]));
  std::uint64_t number = 0;
  do {
    std::vector<std::uint64_t> origin;
    bool inside = true;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      origin.push_back(at[i] * shape[i]);
      inside = inside && origin[i] + shape[i] <= whole.dims[i];
    }
    if (inside) {
      const Bytes expected = chunk_of_image(whole, origin);
      dataset::Pieces pieces;
      const std::uint64_t from = number % expected.size();
      const Status read = whole.reader->read_chunk(number, from, expected.size() - from, pieces, Unbounded());
      ASSERT_TRUE(read) << read.error().text();
      Bytes found(pieces.total());
      ASSERT_TRUE(dataset::copy_pieces(pieces.list(), found));
      ASSERT_EQ(found, slice(expected, from, expected.size() - from)) << number;
    }
    ++number;
  } while (next_row_major(at, grid));
  dataset::Pieces none;
  ASSERT_FALSE(whole.reader->read_chunk(number, 0, 1, none, Unbounded()));
}

TEST(Concatenated, IsTheImagesJoinedAlongAnyDimension) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const RandomWhole whole = random_whole(random);
    SCOPED_TRACE(seed);
    expect_reads(whole, random);
    expect_chunks(whole);
    if (HasFailure()) return;
  }
}

// ---- types

TEST(Concatenated, PartsOfOtherTypesAreConverted) {
  const auto i32 = integer_type(4, true, ByteOrder::Little);
  const auto parts = std::make_shared<TestParts>();
  parts->add(2, holding(integer_type(2, true, ByteOrder::Little), {2}, bytes_of<std::int16_t>({-3, 300})));
  parts->add(2, holding(i32, {2}, bytes_of<std::int32_t>({1 << 20, -5})));
  parts->add(2, holding(integer_type(2, true, ByteOrder::Big), {2},
                        bytes_of<std::uint16_t>({std::byteswap<std::uint16_t>(7), 0x0080})));
  parts->add(1, holding(integer_type(1, false, ByteOrder::Little), {1}, {std::byte{200}}));
  const auto reader = opened_whole(whole_of(parts, i32, {0}, 0));
  const Bytes expected = bytes_of<std::int32_t>({-3, 300, 1 << 20, -5, 7, -32768, 200});
  EXPECT_EQ(all_of(*reader), expected);
  for (std::uint64_t begin = 0; begin < expected.size(); ++begin)
    for (std::uint64_t length = 1; begin + length <= expected.size(); ++length) {
      Bytes read(length);
      ASSERT_TRUE(reader->read_into(begin, read, Unbounded()));
      ASSERT_EQ(read, slice(expected, begin, length)) << begin << ' ' << length;
    }
  EXPECT_FALSE(reader->stored_place(0));
}

TEST(Concatenated, ConvertsOnAnInnerDimensionToo) {
  const auto f64 = float_type(8, ByteOrder::Little);
  const auto parts = std::make_shared<TestParts>();
  parts->add(1, holding(integer_type(1, true, ByteOrder::Little), {2, 1}, {std::byte{1}, std::byte{2}}));
  parts->add(2, holding(float_type(4, ByteOrder::Little), {2, 2}, bytes_of<float>({0.5F, 1.5F, 2.5F, -3})));
  const auto reader = opened_whole(whole_of(parts, f64, {2, 0}, 1));
  EXPECT_EQ(all_of(*reader), bytes_of<double>({1, 0.5, 1.5, 2, 2.5, -3}));
  EXPECT_EQ(all_of(*reader, nullptr, 5), bytes_of<double>({1, 0.5, 1.5, 2, 2.5, -3}));
}

format::DatatypePtr string_type(std::uint32_t size) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::String;
  out->size = size;
  out->padding = format::StringPadding::NullPad;
  return out;
}

Bytes text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Concatenated, StringsAreAsLongAsTheLongest) {
  const auto parts = std::make_shared<TestParts>();
  parts->add(2, holding(string_type(2), {2}, text_bytes("abcd")));
  parts->add(1, holding(string_type(5), {1}, text_bytes("whole")));
  const auto reader = opened_whole(whole_of(parts, string_type(5), {0}, 0));
  EXPECT_EQ(all_of(*reader), text_bytes(std::string_view("ab\0\0\0cd\0\0\0whole", 15)));
}

format::DatatypePtr enum_type(const std::vector<std::string>& names) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::Enum;
  out->size = 1;
  out->base = integer_type(1, true, ByteOrder::Little);
  for (std::size_t i = 0; i < names.size(); ++i)
    out->enum_members.push_back({names[i], {static_cast<std::byte>(i)}});
  return out;
}

TEST(Concatenated, EnumerationsAreConvertedByNames) {
  const auto parts = std::make_shared<TestParts>();
  parts->add(2, holding(enum_type({"red", "green"}), {2}, {std::byte{0}, std::byte{1}}));
  parts->add(2, holding(enum_type({"green", "blue"}), {2}, {std::byte{0}, std::byte{1}}));
  const auto reader = opened_whole(whole_of(parts, enum_type({"red", "green", "blue"}), {0}, 0));
  EXPECT_EQ(all_of(*reader), Bytes({std::byte{0}, std::byte{1}, std::byte{1}, std::byte{2}}));
}

TEST(Concatenated, ValuesOfVariableLengthAreFoundInTheirFiles) {
  const auto open = [](const std::string& words) {
    auto files = object::FileSet::open(io::make_memory_source(written_with_h5py(
                                           "f['d'] = np.array(" + words + ", dtype=h5py.string_dtype())")),
                                       metadata::MetadataOptions{});
    EXPECT_TRUE(files);
    return *std::move(files);
  };
  const std::vector<std::shared_ptr<object::FileSet>> files = {open("['one', 'two']"), open("['three']"),
                                                               open("['']")};
  std::vector<DatasetReaderPtr> readers;
  for (const auto& set : files) {
    const auto snapshot = set->main()->snapshot();
    const auto object =
        object::open_object(*snapshot, *object::resolve_path(snapshot, snapshot->root_address(), "d"));
    auto environment = concat_environment();
    environment.files = set;
    readers.push_back(
        *dataset::open_dataset(environment, set->main(), *object::describe_dataset(*snapshot, *object)));
  }
  const auto parts = std::make_shared<TestParts>();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto file = files[i]->main();
    parts->add(readers[i]->description().space.dims[0], [=, reader = readers[i]] {
      return dataset::OpenedPart{reader, file, [file]() -> Result<std::shared_ptr<metadata::FollowedFile>> {
                                   return std::shared_ptr<metadata::FollowedFile>(file, file->followed.get());
                                 }};
    });
  }
  auto whole = whole_of(parts, readers[0]->description().type, {0}, 0);
  whole.file = files[2]->main();
  const Bytes elements = all_of(*opened_whole(std::move(whole)));
  ASSERT_EQ(elements.size(), 48U);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < 3; ++i) {
    std::uint32_t length, index;
    std::uint64_t place;
    std::memcpy(&length, elements.data() + 16 * i, 4);
    std::memcpy(&place, elements.data() + 16 * i + 4, 8);
    std::memcpy(&index, elements.data() + 16 * i + 12, 4);
    const auto object = metadata::load_global_heap_object(*files[2]->main()->snapshot(), place, index);
    ASSERT_TRUE(object) << object.error().text();
    found.emplace_back(as_text(object->bytes()).substr(0, length));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"one", "two", "three"}));
}

// ---- opening

std::shared_ptr<TestParts> hundred_parts() {
  const auto parts = std::make_shared<TestParts>();
  for (std::uint64_t i = 0; i < 100; ++i)
    parts->add(3, [i]() -> Result<dataset::OpenedPart> {
      return dataset::OpenedPart{holding(integer_type(8, false, ByteOrder::Little), {3},
                                         bytes_of<std::uint64_t>({3 * i, 3 * i + 1, 3 * i + 2})),
                                 nullptr};
    });
  return parts;
}

TEST(Concatenated, AFewOpenPartsAreEnoughForManyReaders) {
  const auto parts = hundred_parts();
  const auto reader = opened_whole(whole_of(parts, integer_type(8, false, ByteOrder::Little), {0}, 0), 2);
  std::vector<std::future<bool>> threads;
  for (unsigned thread = 0; thread < 8; ++thread)
    threads.push_back(std::async(std::launch::async, [&, thread] {
      std::mt19937 random(thread);
      dataset::ReadPattern pattern;
      for (int i = 0; i < 2000; ++i) {
        const std::uint64_t first = random() % 300,
                            count = 1 + random() % std::min<std::uint64_t>(30, 300 - first);
        std::vector<std::uint64_t> found(count);
        dataset::Pieces pieces;
        if (!reader->read(8 * first, 8 * count, {i % 2 == 0 ? &pattern : nullptr, Unbounded()}, pieces) ||
            pieces.total() != 8 * count ||
            !dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(found))))
          return false;
        for (std::uint64_t k = 0; k < count; ++k)
          if (found[k] != first + k) return false;
      }
      return true;
    }));
  for (auto& thread : threads) EXPECT_TRUE(thread.get());
}

TEST(Concatenated, TwoThatNeedAPartOpenItOnce) {
  const auto parts = std::make_shared<TestParts>();
  const auto u8 = integer_type(1, false, ByteOrder::Little);
  parts->add(2, [u8]() -> Result<dataset::OpenedPart> {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return dataset::OpenedPart{holding(u8, {2}, {std::byte{4}, std::byte{5}}), nullptr};
  });
  const auto reader = opened_whole(whole_of(parts, u8, {0}, 0));
  std::vector<std::future<Bytes>> threads;
  for (int i = 0; i < 8; ++i)
    threads.push_back(std::async(std::launch::async, [&] { return all_of(*reader); }));
  for (auto& thread : threads) EXPECT_EQ(thread.get(), Bytes({std::byte{4}, std::byte{5}}));
  EXPECT_EQ(parts->opened, 1U);
}

TEST(Concatenated, TheNextPartsAreOpenedAheadOfAForwardReader) {
  const auto parts = hundred_parts();
  const auto reader = opened_whole(whole_of(parts, integer_type(8, false, ByteOrder::Little), {0}, 0));
  dataset::ReadPattern pattern;
  for (std::uint64_t at = 0; at < 24; at += 8) {
    dataset::Pieces pieces;
    ASSERT_TRUE(reader->read(at, 8, {&pattern, Unbounded()}, pieces));
  }
  for (int i = 0; i < 500 && parts->opened < 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(parts->opened, 5U);
}

TEST(Concatenated, ErrorsAreThoseOfTheirPartAndAreNotKept) {
  const auto parts = std::make_shared<TestParts>();
  const auto u8 = integer_type(1, false, ByteOrder::Little);
  auto failing = std::make_shared<std::atomic<bool>>(true);
  parts->add(1, holding(u8, {1}, {std::byte{1}}));
  parts->add(1, [=]() -> Result<dataset::OpenedPart> {
    if (*failing) return fail({ErrorCode::AccessDenied, "not for you"});
    return dataset::OpenedPart{holding(u8, {1}, {std::byte{2}}), nullptr};
  });
  parts->add(1, holding(u8, {2, 2}, {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}));
  parts->add(1, holding(string_type(3), {1}, text_bytes("abc")));
  const auto reader = opened_whole(whole_of(parts, u8, {0}, 0));
  Bytes one(1), two(2);
  EXPECT_TRUE(reader->read_into(0, one, Unbounded()));
  const Status denied = reader->read_into(0, two, Unbounded());
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code(), ErrorCode::AccessDenied);
  EXPECT_NE(denied.error().text().find("file 1"), std::string::npos) << denied.error().text();
  *failing = false;
  EXPECT_TRUE(reader->read_into(0, two, Unbounded()));
  EXPECT_EQ(two, Bytes({std::byte{1}, std::byte{2}}));
  const Status shape = reader->read_into(2, one, Unbounded());
  EXPECT_TRUE(!shape && shape.error().code() == ErrorCode::Stale);
  const Status type = reader->read_into(3, one, Unbounded());
  EXPECT_TRUE(!type && type.error().code() == ErrorCode::UnsupportedFeature);
  parts->changed = 0;
  const Status changed = reader->read_into(0, one, Unbounded());
  EXPECT_TRUE(!changed && changed.error().code() == ErrorCode::Stale);
  EXPECT_TRUE(reader->read_into(1, one, Unbounded()));
}

TEST(Concatenated, MappedBytesOfAPartAreConfirmedOnceTheyWereCopied) {
  DatasetShape shape{.dims = {64}, .chunk_dims = {64}, .element_size = 8};
  shape.mapped = true;
  const MemoryDataset made(shape, 1);
  object::DatasetDescription d = described(integer_type(8, false, ByteOrder::Little), {64});
  d.layout.address = 8;
  d.layout.size = 512;
  d.layout.has_size = true;
  const auto file = made.open_file();
  const DatasetReaderPtr part = *dataset::open_dataset(made.environment(8U << 20), file, d);
  const auto parts = std::make_shared<TestParts>();
  parts->add(64, [=] { return dataset::OpenedPart{part, file}; });
  const auto reader = opened_whole(whole_of(parts, d.type, {0}, 0));
  dataset::ReadPattern pattern;
  Bytes copied(512);
  {
    dataset::Pieces pieces;
    ASSERT_TRUE(reader->read(0, 512, {&pattern, Unbounded()}, pieces));
    ASSERT_TRUE(pieces.kernel_only());
    EXPECT_TRUE(pattern.confirm_mapped());
    EXPECT_TRUE(dataset::copy_pieces(pieces.list(), copied));
    EXPECT_EQ(copied, all_of(*part));
    parts->changed = 0;
    EXPECT_FALSE(pattern.confirm_mapped());
    EXPECT_FALSE(dataset::copy_pieces(pieces.list(), copied));
  }
  EXPECT_TRUE(pattern.confirm_mapped()) << "nobody has the piece any more";
  parts->changed = SIZE_MAX;
  dataset::Pieces pieces;
  ASSERT_TRUE(reader->read(0, 512, {nullptr, Unbounded()}, pieces));
  EXPECT_FALSE(pieces.kernel_only()) << "nobody would ask";
}

}  // namespace
}  // namespace h5mount::test

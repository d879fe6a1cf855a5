// Sparse datasets of the corpus: the dense image and the lists agree, holes are holes, and datasets damaged
// on purpose fail without affecting others. (The mount tests compare bytes with the manifests.)
#include <gtest/gtest.h>

#include <algorithm>

#include "h5mount/dataset/open_dataset.h"
#include "sparse/sparse_list.h"
#include "support/corpus.h"

namespace h5mount::test {
namespace {

namespace fs = std::filesystem;
using ReaderPtr = std::shared_ptr<const dataset::DatasetReader>;

struct Named {
  std::string path;
  ReaderPtr reader;  // null: the dataset could not be described
};

void collect(const dataset::ReadEnvironment& environment, std::uint64_t group, const std::string& above,
             std::vector<Named>& out) {
  const metadata::FileMetadataPtr file = environment.files->main()->snapshot();
  const auto object = object::open_object(*file, group);
  ASSERT_TRUE(object) << object.error().text();
  const auto opened = object::Group::open(file, *object);
  ASSERT_TRUE(opened) << opened.error().text();
  ASSERT_TRUE((*opened)->for_each(
      [&](const format::Link& link) {
        const auto child = object::open_object(*file, link.address);
        const std::string path = above + "/" + link.name;
        if (child && child->kind == object::ObjectKind::Group) collect(environment, link.address, path, out);
        if (!child || child->kind != object::ObjectKind::Dataset) return true;
        Named& named = out.emplace_back(path, nullptr);
        if (auto description = object::describe_dataset(*file, *child))
          if (auto reader =
                  dataset::open_dataset(environment, environment.files->main(), *std::move(description)))
            named.reader = *std::move(reader);
        return true;
      },
      nullptr));
}

std::vector<Named> datasets_of(const fs::path& file) {
  const auto files = object::FileSet::open(file.string(), object::ExternalPolicy::None, {});
  EXPECT_TRUE(files) << files.error().text();
  if (!files) return {};
  const dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(16U << 20),
                                             std::make_shared<cache::WorkerPool>(2), *files};
  std::vector<Named> out;
  collect(environment, (*files)->main()->snapshot()->root_address(), "", out);
  return out;
}

std::vector<std::byte> gathered(const dataset::Pieces& pieces) {
  std::vector<std::byte> out;
  for (const dataset::Piece& piece : pieces.list())
    out.insert(out.end(), piece.bytes.begin(), piece.bytes.end());
  return out;
}

// The dense image is rebuilt from the lists alone.
void compare_forms(const dataset::DatasetReader& reader) {
  const dataset::SparseForm& form = *reader.sparse_form();
  const auto& d = reader.description();
  const auto count = form.count(Unbounded());
  ASSERT_TRUE(count) << count.error().text();
  dataset::Pieces coordinate_pieces, value_pieces;
  ASSERT_TRUE(form.read_coordinates(0, ~std::uint64_t{0} >> 1, coordinate_pieces, Unbounded()));
  ASSERT_TRUE(form.read_values(0, ~std::uint64_t{0} >> 1, value_pieces, Unbounded()));
  const auto coordinates = gathered(coordinate_pieces), values = gathered(value_pieces);
  const std::size_t rank = d.space.dims.size(), e = static_cast<std::size_t>(d.element_size);
  ASSERT_EQ(coordinates.size(), *count * rank * 8);
  ASSERT_EQ(values.size(), *count * e);

  std::vector<std::byte> dense(static_cast<std::size_t>(reader.size()));
  const auto& fill = d.fill.value;
  if (fill.size() == e)
    for (std::size_t at = 0; at < dense.size(); at += e)
      std::ranges::copy(fill, dense.begin() + static_cast<std::ptrdiff_t>(at));
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < *count; ++i) {
    std::uint64_t linear = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      const auto c = load_le<std::uint64_t>(coordinates.data() + (i * rank + k) * 8);
      ASSERT_LT(c, d.space.dims[k]);
      linear = linear * d.space.dims[k] + c;
    }
    ASSERT_TRUE(i == 0 || linear > last) << "not in row-major order";
    last = linear;
    std::ranges::copy(ByteSpan(values).subspan(i * e, e),
                      dense.begin() + static_cast<std::ptrdiff_t>(linear * e));
  }
  std::vector<std::byte> image(dense.size());
  ASSERT_TRUE(reader.read_into(0, image, Unbounded()));
  EXPECT_EQ(image, dense);
}

// Bytes outside the ranges that SEEK_DATA and SEEK_HOLE report as data read as zeros.
void compare_holes(const dataset::DatasetReader& reader) {
  std::vector<std::byte> image(static_cast<std::size_t>(reader.size()));
  ASSERT_TRUE(reader.read_into(0, image, Unbounded()));
  std::uint64_t at = 0;
  while (at < reader.size()) {
    const auto data = reader.find_data(at, Unbounded());
    const std::uint64_t begin = data ? *data : reader.size();
    ASSERT_TRUE(data || data.error().code() == ErrorCode::NotFound) << data.error().text();
    ASSERT_GE(begin, at);
    const auto hole_bytes =
        ByteSpan(image).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(begin - at));
    ASSERT_TRUE(std::ranges::all_of(hole_bytes, [](std::byte b) { return b == std::byte{0}; }));
    if (!data) return;
    const auto hole = reader.find_hole(begin, Unbounded());
    ASSERT_TRUE(hole) << hole.error().text();
    ASSERT_GT(*hole, begin);
    at = *hole;
  }
}

struct Counts {
  std::size_t compared = 0, refused = 0;
};

void compare_datasets(const fs::path& file, Counts& counts) {
  for (const auto& [path, reader] : datasets_of(file)) {
    SCOPED_TRACE(file.filename().string() + path);
    const bool bad = path.starts_with("/s_bad");
    ASSERT_TRUE(bad || reader);
    if (!reader || reader->description().layout.cls != format::LayoutClass::Structured ||
        reader->size() == 0) {
      counts.refused += bad;
      continue;
    }
    ASSERT_NE(reader->sparse_form(), nullptr);
    if (!bad) {
      compare_forms(*reader);
      compare_holes(*reader);
      ++counts.compared;
      continue;
    }
    std::vector<std::byte> image(static_cast<std::size_t>(reader->size()));
    const Status read = reader->read_into(0, image, Unbounded());
    EXPECT_FALSE(read);
    EXPECT_FALSE(reader->sparse_form()->count(Unbounded()));
    EXPECT_TRUE(read || read.error().code() != ErrorCode::Internal) << read.error().text();
    EXPECT_TRUE(reader->find_data(0, Unbounded())) << "damage hides as a hole";
    ++counts.refused;
  }
}

Counts compare_files(const fs::path& directory) {
  Counts counts;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".h5") compare_datasets(entry.path(), counts);
  return counts;
}

TEST(SparseReader, ListsAndImageAgree) {
  const Counts own = compare_files(source_root() / "tests/data/sparse");
  EXPECT_GE(own.compared, 40U);
  EXPECT_GE(own.refused, 13U);
  if (const auto shared = shared_corpus()) EXPECT_GE(compare_files(*shared / "sparse").compared, 300U);
}

TEST(SparseReader, ReadsPiecesAsTheWhole) {
  for (const auto& [path, reader] : datasets_of(source_root() / "tests/data/sparse/edge_chunks.h5")) {
    if (!reader || reader->sparse_form() == nullptr) continue;
    SCOPED_TRACE(path);
    dataset::Pieces whole;
    ASSERT_TRUE(reader->sparse_form()->read_values(0, 1U << 30, whole, Unbounded()));
    const auto values = gathered(whole);
    std::vector<std::byte> pieced;
    for (std::uint64_t at = 0; at < values.size(); at += 7) {
      dataset::Pieces pieces;
      ASSERT_TRUE(reader->sparse_form()->read_values(at, 7, pieces, Unbounded()));
      const auto part = gathered(pieces);
      pieced.insert(pieced.end(), part.begin(), part.end());
    }
    EXPECT_EQ(pieced, values);
  }
}

// The list of a row of chunks is held in memory: exactly as long as it may be, and one byte longer.
TEST(SparseReader, ListsHaveABound) {
  for (const auto& [path, reader] : datasets_of(source_root() / "tests/data/sparse/edge_chunks.h5")) {
    if (!reader || reader->sparse_form() == nullptr) continue;
    SCOPED_TRACE(path);
    const auto files = object::FileSet::open((source_root() / "tests/data/sparse/edge_chunks.h5").string(),
                                             object::ExternalPolicy::None, {});
    ASSERT_TRUE(files);
    const dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(16U << 20), nullptr,
                                               *files};
    const std::uint64_t item = 8 + reader->description().element_size;
    const auto reads = [&](std::uint64_t most) {
      // A store of its own, so that no list is found in the cache.
      const auto store = dataset::SparseStore::open(environment, (*files)->main(), reader->description());
      if (!store) return false;
      const dataset::SparseList list(**store, most);
      dataset::Pieces pieces;
      const Status read = list.read_values(0, 1U << 30, pieces, Unbounded());
      EXPECT_TRUE(read || read.error().code() == ErrorCode::LimitExceeded) << read.error().text();
      return read.has_value();
    };
    // The longest list is found by bisection, and must lie on an element's end.
    std::uint64_t refused = 0, read = 1U << 20;
    ASSERT_TRUE(reads(read));
    while (read - refused > 1) {
      const std::uint64_t middle = (read + refused) / 2;
      (reads(middle) ? read : refused) = middle;
    }
    EXPECT_EQ(read % item, 0U);
    return;
  }
  FAIL() << "no sparse dataset";
}

}  // namespace
}  // namespace h5mount::test

// A walk of a far source waits once a level, not once a structure: whatever it reads was asked for before.
#include "h5mount/ahead/prefetch.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <unordered_set>

#include "h5mount/metadata/global_heap.h"
#include "h5mount/object/object.h"
#include "h5mount/object/walk_ahead.h"
#include "support/corpus.h"
#include "support/far_source.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

using Addresses = std::vector<std::uint64_t>;

// Lists the groups and the names of the attributes of a file, level by level.
class LevelWalk {
 public:
  // `asks`: for the headers of each level.
  explicit LevelWalk(metadata::FileMetadataPtr file, bool asks = true)
      : file_(std::move(file)), asks_(asks) {}

  // False where something is damaged: then other things are looked for, which nobody could know.
  std::size_t objects() const { return seen_.size(); }
  Addresses addresses() const { return {seen_.begin(), seen_.end()}; }
  bool run() {
    Addresses level{file_->root_address()};
    seen_.insert(level.front());
    while (!level.empty()) {
      if (asks_) ask_for(level);
      Addresses next;
      for (const std::uint64_t address : level) visit(address, next);
      level = std::move(next);
    }
    return sound_;
  }

 private:
  void ask_for(const Addresses& headers) const {
    RequestBudget budget;
    ahead::prefetch(*file_, headers, ahead::Wanted::Header, budget);
  }

  void visit(std::uint64_t address, Addresses& next) {
    const auto damaged = [this](const Error&) { sound_ = false; };
    const auto object = object::open_object(*file_, address);
    if (!object || object->header->damage) {
      sound_ = false;
      return;
    }
    if (!object::for_each_attribute(
            *file_, *object, [](const object::Attribute&) { return true; }, damaged,
            object::AttributeDetail::Name))
      sound_ = false;
    if (object->kind != object::ObjectKind::Group) return;
    const auto group = object::Group::open(file_, *object);
    const auto add = [&](const format::Link& link) {
      const bool hard = link.type == static_cast<std::uint8_t>(format::LinkType::Hard);
      if (hard && seen_.insert(link.address).second) next.push_back(link.address);
      return true;
    };
    if (!group || !(*group)->for_each(add, damaged)) sound_ = false;
  }

  const metadata::FileMetadataPtr file_;
  const bool asks_;
  std::unordered_set<std::uint64_t> seen_;
  bool sound_ = true;
};

std::vector<std::filesystem::path> files_of_corpora() {
  std::vector<std::filesystem::path> out;
  for (const std::filesystem::path& corpus : corpora())
    for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus))
      if (entry.is_regular_file()) out.push_back(entry.path());
  return out;
}

TEST(Prefetch, AWalkReadsNothingThatWasNotAskedFor) {
  H5MOUNT_NEEDS_CORPUS();
  std::size_t walked = 0;
  for (const std::filesystem::path& path : files_of_corpora()) {
    const auto near = io::open_file_source(path.string());
    if (!near) continue;
    const auto source = std::make_shared<FarSource>(*near, 16U << 10);
    const auto file = metadata::FileMetadata::open(source, {.force = true});
    if (!file) continue;
    source->forget();
    // A user block has no addresses, but shares a window with what follows it.
    const ByteRange user_block{0, (*file)->base_address()};
    source->will_read({&user_block, 1});
    if (!LevelWalk(*file).run()) continue;
    ++walked;
    const auto untold = source->untold();
    EXPECT_TRUE(untold.empty()) << path << ": " << untold.size() << " reads, the first of " << untold[0].begin
                                << " to " << untold[0].end;
  }
  EXPECT_GE(walked, 50U);
}

// A far file of which everything but a user block is to be told.
struct FarFile {
  std::shared_ptr<FarSource> source;
  metadata::FileMetadataPtr file;  // null: it is none
};
FarFile open_far(const std::shared_ptr<io::ByteSource>& near) {
  FarFile out{std::make_shared<FarSource>(near, 16U << 10), nullptr};
  const auto file = metadata::FileMetadata::open(out.source, {.force = true});
  if (!file) return {};
  out.file = *file;
  out.source->forget();
  const ByteRange user_block{0, out.file->base_address()};
  if (user_block.end > 0) out.source->will_read({&user_block, 1});
  return out;
}

TEST(Prefetch, AWalkOverAllObjectsAsksForEverythingBefore) {
  H5MOUNT_NEEDS_CORPUS();
  std::size_t walked = 0;
  for (const std::filesystem::path& path : files_of_corpora()) {
    const auto near = io::open_file_source(path.string());
    if (!near) continue;
    const FarFile far = open_far(*near);
    if (!far.file) continue;
    const std::uint64_t root = far.file->root_address();
    RequestBudget budget;
    object::WalkAhead(far.file).will_visit({&root, 1}, budget);
    far.source->expect_no_more();
    LevelWalk walk(far.file, false);
    if (!walk.run() || walk.objects() > 4000) continue;
    ++walked;
    const auto untold = far.source->untold();
    EXPECT_TRUE(untold.empty()) << path << ": " << untold.size() << " reads, the first of " << untold[0].begin
                                << " to " << untold[0].end;
  }
  EXPECT_GE(walked, 50U);
}

// Rounds for names and headers: those of the group's own levels, then one for all headers.
TEST(Prefetch, TheRoundsOfAListingAreThoseOfItsDepth) {
  struct Case {
    const char* objects;
    const char* libver;
    std::uint64_t rounds;
  };
  // Objects lie 20 KB apart, so that no two share a block.
  const Case cases[] = {{"8", "latest", 3},
                        {"100", "earliest", 6},
                        {"1000", "earliest", 7},
                        {"100", "latest", 7},
                        {"1000", "latest", 8}};
  for (const Case& one : cases) {
    const auto bytes = written_with_h5py(
        "for i in range(" + std::string(one.objects) + "): f['d%05d' % i] = np.zeros(20_000, 'u1')",
        one.libver);
    const FarFile far = open_far(io::make_memory_source(bytes));
    ASSERT_TRUE(far.file);
    const std::uint64_t root = far.file->root_address();
    RequestBudget budget;
    object::WalkAhead(far.file).will_visit({&root, 1}, budget);
    EXPECT_LE(far.source->rounds(), one.rounds) << one.objects << " objects," << " " << one.libver;
  }
}

// Structures of a file with paged space are few pages: each is fetched whole, whatever is read first.
TEST(Prefetch, APageOfStructuresIsFetchedWhole) {
  const auto bytes = written_with_h5py(
      "f.close()\n"
      "f = h5py.File(sys.argv[1], 'w', libver='latest', fs_strategy='page', fs_page_size=1 << 18)\n"
      "for i in range(1000):\n"
      "  d = f.create_dataset('g%02d/d%03d' % (i // 100, i), (50_000,), 'u1', chunks=(10_000,), "
      "compression='gzip')\n"
      "  if i % 10 == 0: d[:] = np.random.default_rng(i).integers(0, 255, 50_000)");
  const FarFile far = open_far(io::make_memory_source(bytes));
  ASSERT_TRUE(far.file);
  ASSERT_TRUE(LevelWalk(far.file, false).run());
  std::uint64_t told = 0;
  std::set<std::uint64_t> pages;
  for (const ByteRange& range : far.source->told())
    if (pages.insert(range.begin).second) told += range.end - range.begin;
  EXPECT_LE(far.source->rounds(), 6U);
  EXPECT_LE(told, bytes.size() / 2) << "pages of data are not fetched";
  EXPECT_LE(far.source->untold().size(), 1U);
}

// The values of attributes are asked for with their headers.
TEST(Prefetch, AWalkAsksForValuesOfVariableLength) {
  const auto bytes = written_with_h5py(
      "words = h5py.string_dtype()\n"
      "for i in range(50):\n"
      "  d = f.create_dataset('d%02d' % i, data=np.zeros(20_000, 'u1'))\n"
      "  d.attrs['name'] = 'x' * 100 * i\n"
      "  d.attrs['names'] = np.array(['x' * 50 * i, 'y'], words)\n"
      "  d.attrs['pair'] = np.array((i, 'z' * 1000), np.dtype([('n', 'i4'), ('w', words)]))");
  const FarFile far = open_far(io::make_memory_source(bytes));
  ASSERT_TRUE(far.file);
  const std::uint64_t root = far.file->root_address();
  RequestBudget budget;
  object::WalkAhead(far.file).will_visit({&root, 1}, budget);
  EXPECT_LE(far.source->rounds(), 8U);
  far.source->expect_no_more();
  std::size_t values = 0;
  for (const std::size_t at : places_of(bytes, "GCOL")) {
    EXPECT_TRUE(metadata::load_global_heap_object(*far.file, at, 1));
    ++values;
  }
  EXPECT_GE(values, 10U);
  EXPECT_TRUE(far.source->untold().empty()) << far.source->untold().size();
}

// Rounds depend on the depth of the group's index, not on the number of its links.
TEST(Prefetch, ALargeGroupTakesFewRounds) {
  H5MOUNT_NEEDS_CORPUS();
  for (const std::filesystem::path& path : files_of_corpora()) {
    if (path.extension() != ".h5" && path.extension() != ".nc") continue;
    const auto near = io::open_file_source(path.string());
    if (!near) continue;
    const auto source = std::make_shared<FarSource>(*near, 16U << 10);
    const auto file = metadata::FileMetadata::open(source, {.force = true});
    if (!file) continue;
    const auto root = object::open_object(**file, (*file)->root_address());
    if (!root) continue;
    source->forget();
    const auto group = object::Group::open(*file, *root);
    std::size_t links = 0;
    if (!group || !(*group)->for_each([&](const format::Link&) { return ++links, true; }, nullptr)) continue;
    EXPECT_LE(source->rounds(), 10U) << path << ", " << links << " links";
  }
}

TEST(Prefetch, LocalSourcesAreNotAsked) {
  H5MOUNT_NEEDS_CORPUS();
  // A source that notes what it is told, but is not far: nothing is told.
  class Near final : public io::ByteSource {
   public:
    explicit Near(std::shared_ptr<io::ByteSource> source) : source_(std::move(source)) {}
    Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
      return source_->read_at(offset, out);
    }
    std::uint64_t size() const override { return source_->size(); }
    void will_read(std::span<const ByteRange>) const override { ADD_FAILURE() << "it is not far"; }
    std::string name() const override { return "near"; }

   private:
    const std::shared_ptr<io::ByteSource> source_;
  };
  const auto weather = io::open_file_source((source_root() / "tests/data/weather.h5").string());
  ASSERT_TRUE(weather);
  const auto file = metadata::FileMetadata::open(std::make_shared<Near>(*weather), {});
  ASSERT_TRUE(file);
  const auto root = object::open_object(**file, (*file)->root_address());
  ASSERT_TRUE(root);
  const auto group = object::Group::open(*file, *root);
  ASSERT_TRUE(group);
  std::size_t links = 0;
  EXPECT_TRUE((*group)->for_each([&](const format::Link&) { return ++links, true; }, nullptr));
  EXPECT_GT(links, 0U);
}

// Small files that lead back to themselves, or claim everything, end.
TEST(Prefetch, EndsWhateverStructuresClaim) {
  const auto source = std::make_shared<FarSource>(
      io::make_memory_source(read_whole_file(source_root() / "tests/data/weather.h5")));
  const auto file = metadata::FileMetadata::open(source, {});
  ASSERT_TRUE(file);
  RequestBudget budget;
  Addresses everything;
  for (std::uint64_t at = 0; at < source->size(); at += 8) everything.push_back(at);
  ahead::prefetch(**file, everything, ahead::Wanted::All, budget);
  for (std::uint64_t at = 0; at < source->size(); at += 1024) {
    ahead::prefetch_links(**file, format::SymbolTableMessage{at, at});
    ahead::prefetch_links(**file, {.fractal_heap_address = at, .name_index_address = at});
  }
  RequestBudget none({.steps = 0, .time = std::chrono::hours(1)});
  source->forget();
  ahead::prefetch(**file, everything, ahead::Wanted::All, none);
  EXPECT_EQ(source->rounds(), 0U) << "a request whose budget is spent asks for nothing";
}

// Texts in chunks of every index, with filters and without, in a file of which some bytes were changed: what
// is asked for is bounded.
TEST(Prefetch, DamagedIndexesOfTextEnd) {
  for (const char* libver : {"earliest", "latest"}) {
    const auto sound = written_with_h5py(
        "words = np.array(['a text', 'y'] * 10, h5py.string_dtype())\n"
        "for i, how in enumerate([dict(chunks=(20,)), dict(chunks=(5,)), dict(chunks=(5,), "
        "maxshape=(9000,)),\n"
        "                         dict(chunks=(1,), maxshape=(None,))]):\n"
        "  f.create_dataset('t%d' % i, data=words, **how)\n"
        "  f.create_dataset('z%d' % i, data=words, compression='gzip', shuffle=True, **how)\n"
        "f.create_dataset('u', data=words.reshape(20, 1), chunks=(5, 1), maxshape=(None, None))",
        libver);
    const auto whole = metadata::FileMetadata::open(io::make_memory_source(sound), {});
    ASSERT_TRUE(whole);
    LevelWalk objects(*whole, false);
    objects.run();
    ASSERT_EQ(objects.objects(), 10U);
    const Addresses headers = objects.addresses();
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
      auto bytes = sound;
      for (auto left = i == 0 ? 0 : random() % 4 + 1; left > 0; --left)  // the first one is sound
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      const auto source = std::make_shared<FarSource>(io::make_memory_source(std::move(bytes)), 512);
      const auto file = metadata::FileMetadata::open(source, {});
      if (!file) continue;
      RequestBudget budget;
      ahead::prefetch(**file, headers, ahead::Wanted::Listed, budget);
      std::uint64_t told = 0;
      for (const ByteRange& range : source->told()) told += range.end - range.begin;
      EXPECT_LE(told, 65U << 20) << libver << ", mutant " << i;
      if (i == 0) {
        EXPECT_GE(source->rounds(), 4U) << "headers, indexes, chunks, heaps";
      }
    }
  }
}

}  // namespace
}  // namespace h5mount::test

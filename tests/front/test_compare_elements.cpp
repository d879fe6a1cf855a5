// Datasets of one file compared with each other: what is decoded for it, and what is told.
#include <fstream>

#include "compared_files.h"

namespace h5mount::front {
namespace {

// Writes `f` with h5py. One file on both sides.
class CompareElements : public ::testing::Test {
 protected:
  void write(const std::string& script, const std::string& libver = "latest") {
    static int counter = 0;
    bytes = test::written_with_h5py(script, libver);
    path = (test::scratch() / ("compared" + std::to_string(counter++) + ".h5")).string();
    store();
  }
  void store() const {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ComparedFile open(unsigned threads = 2) const { return ComparedFile(path, threads); }
  std::string told(std::string_view a, std::string_view b, const CompareOptions& options = {}) const {
    const ComparedFile file = open();
    return text_of(compared(file, a, file, b, options));
  }

  std::vector<std::byte> bytes;
  std::string path;
};

TEST_F(CompareElements, ChunksOfTheSameBytesAreNotDecoded) {
  write(R"(
x = np.arange(100000.).reshape(500, 200)
f.create_dataset('a', data=x, chunks=(50, 70), compression='gzip')
f.create_dataset('same', data=x, chunks=(50, 70), compression='gzip')
f.create_dataset('level', data=x, chunks=(50, 70), compression='gzip', compression_opts=4)
x[123, 45] = -1
f.create_dataset('one', data=x, chunks=(50, 70), compression='gzip')
f.create_dataset('shuffled', data=x, chunks=(50, 70), compression='gzip', shuffle=True)
)");
  const ComparedFile file = open();
  EXPECT_EQ(text_of(compared(file, "a", file, "same")), "0");
  EXPECT_EQ(text_of(compared(file, "a", file, "level")), "0");  // it is the default
  EXPECT_EQ(file.counters().chunks_decoded, 0U);
  EXPECT_EQ(text_of(compared(file, "a", file, "one")), "1 [123,45]=24645.0/-1.0");
  EXPECT_EQ(file.counters().chunks_decoded, 2U);
  EXPECT_EQ(text_of(compared(file, "one", file, "shuffled")), "0");
}

TEST_F(CompareElements, PlacesAreInTheOrderOfElementsWhateverTheChunks) {
  write(R"(
x = np.zeros((9, 10), 'i4')
f.create_dataset('a', data=x, chunks=(4, 3))
f.create_dataset('whole', data=x)
y = x.copy()
y[3, 9] = y[3, 0] = y[0, 4] = y[8, 1] = y[5, 5] = 7
f.create_dataset('b', data=y, chunks=(4, 3))
f.create_dataset('other', data=y, chunks=(2, 7), compression='lzf')
f.create_dataset('contiguous', data=y.astype('>i4'))
)");
  const std::string all = "5 [0,4]=0/7 [3,0]=0/7 [3,9]=0/7 [5,5]=0/7 [8,1]=0/7";
  EXPECT_EQ(told("a", "b"), all);
  EXPECT_EQ(told("a", "other"), all);
  EXPECT_EQ(told("a", "contiguous"), all);
  EXPECT_EQ(told("whole", "contiguous"), all);
  EXPECT_EQ(told("whole", "other"), all);
  for (const auto* const b : {"b", "other", "contiguous"}) {
    EXPECT_EQ(told("a", b, {.first = 2}), "5 [0,4]=0/7 [3,0]=0/7") << b;
    EXPECT_EQ(told("a", b, {.first = 0}), "5") << b;
  }
}

TEST_F(CompareElements, WhatWasNeverWrittenIsNotRead) {
  write(R"(
def make(name, chunks, **more):
    return f.create_dataset(name, (1 << 20, 1 << 17), 'f8', chunks=chunks, **more)
a = make('a', (1024, 1024), compression='gzip')
b = make('b', (1024, 1024), compression='gzip', fillvalue=-0.0)
c = make('c', (512, 2048))
one = make('one', None, fillvalue=1)
a[5, 7] = b[5, 7] = 1
b[1 << 19, 0] = 2
)");
  const ComparedFile file = open();
  EXPECT_EQ(text_of(compared(file, "a", file, "b")), "1 [524288,0]=0.0/2.0");
  EXPECT_EQ(text_of(compared(file, "c", file, "one", {.first = 2})),
            "137438953472 [0,0]=0.0/1.0 [0,1]=0.0/1.0");
  EXPECT_LE(file.counters().chunks_decoded, 4U);
}

TEST_F(CompareElements, ADamagedChunkHidesNoOther) {
  write(R"(
for name in ('a', 'b'):
    x = np.arange(3000)
    if name == 'b':
        x[10] = x[1500] = x[2500] = -1
    f.create_dataset(name, data=x, chunks=(1000,), compression='gzip')
x[990] = x[2050] = -2
f.create_dataset('c', data=x, chunks=(700,), compression='gzip')
f.flush()
f.attrs['at'] = f['b'].id.get_chunk_info(1).byte_offset
)");
  const ComparedFile file = open();
  const auto chunk = file.object("b");
  const auto reader = chunk->elements()(Unbounded());
  ASSERT_TRUE(reader);
  const auto stored = dataset::stored_chunks_of(*reader->reader)->find_stored(1);
  ASSERT_TRUE(stored);
  for (std::size_t i = 4; i < 40; ++i) bytes[static_cast<std::size_t>(stored->address) + i] = std::byte{0xFF};
  store();
  const std::string said = told("a", "b");
  EXPECT_TRUE(said.starts_with("2 [10]=10/-1 [2500]=2500/-1 failed: ")) << said;
  const std::string other_chunks = told("c", "b");
  EXPECT_TRUE(other_chunks.starts_with("2 [990]=-2/990 [2050]=-2/2050 failed: ")) << other_chunks;
}

TEST_F(CompareElements, ADamagedChunkIsDecodedOnce) {
  write(R"(
x = np.random.default_rng(1).integers(0, 9, 1 << 20)
f.create_dataset('a', data=x, chunks=(1 << 19,), compression='gzip')
f.create_dataset('b', data=x, chunks=(1000,))
)");
  const auto reader = open().object("a")->elements()(Unbounded());
  ASSERT_TRUE(reader);
  const auto stored = dataset::stored_chunks_of(*reader->reader)->find_stored(1);
  ASSERT_TRUE(stored);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(stored->address + stored->bytes / 2), 1000,
              std::byte{0xFF});
  store();
  const ComparedFile file = open();
  const std::string said = text_of(compared(file, "a", file, "b"));
  EXPECT_TRUE(said.starts_with("0 failed: ") && said.find("deflate") != std::string::npos) << said;
  EXPECT_LE(file.counters().chunks_decoded, 3U);
}

TEST_F(CompareElements, WhatCannotBeReadAtAllIsNotEqual) {
  write(R"(
for name in ('a', 'b', 'c'):
    f.create_dataset(name, data=np.arange(1000.))
)",
        "earliest");  // without checksums
  const auto reader = open().object("a")->elements()(Unbounded());
  ASSERT_TRUE(reader);
  const auto run = reader->reader->stored_run(0);
  ASSERT_TRUE(run);
  // The address in the message of the layout, which is now so high that the elements have none.
  std::byte address[8];
  std::memcpy(address, &run->offset, 8);
  const auto at = std::search(bytes.begin(), bytes.end(), address, address + 8);
  ASSERT_NE(at, bytes.end());
  std::fill(at + 1, at + 8, std::byte{0xFF});
  store();
  EXPECT_TRUE(told("a", "a").starts_with("0 failed: ")) << told("a", "a");
  EXPECT_TRUE(told("b", "a").starts_with("0 failed: ")) << told("b", "a");
  EXPECT_EQ(told("b", "c"), "0");
}

TEST_F(CompareElements, HeapsAreComparedByWhatIsInThem) {
  write(R"(
s = h5py.string_dtype()
x = ['a%d' % i for i in range(3000)]
f.create_dataset('a', data=x, dtype=s)
f.create_dataset('same', data=x, dtype=s, chunks=(100,))
f.create_dataset('fixed', data=np.array(x, 'S9'))
x[2999] = 'other'
f.create_dataset('b', data=x, dtype=s)
v = f.create_dataset('v', (2,), h5py.vlen_dtype('<f8'))
w = f.create_dataset('w', (2,), h5py.vlen_dtype('>f8'))
v[0] = w[0] = np.arange(5000.)
v[1] = [1, 2]
w[1] = [1, 2, 3]
)");
  EXPECT_EQ(told("a", "same"), "0");
  EXPECT_EQ(told("a", "fixed"), "0");
  EXPECT_EQ(told("a", "b"), "1 [2999]=\"a2999\"/\"other\"");
  EXPECT_EQ(told("v", "w"), "1 [1]=[1.0,2.0]/[1.0,2.0,3.0]");
}

TEST_F(CompareElements, AValueOfALongTextIsLeftOut) {
  write(R"(
t = np.dtype(('<f8', (20000,)))
f.create_dataset('a', data=np.zeros((2, 20000)), dtype='<f8')
for name in 'xy':
    d = f.create_dataset(name, (2,), t)
f['y'][1] = np.ones(20000)
)");
  EXPECT_EQ(told("x", "y"), "1 [1]=/");
}

TEST_F(CompareElements, ReferencesByPath) {
  write(R"(
f['p/one'] = 1
f['p/two'] = 2
f['r/x'] = np.zeros((4, 5))
one, two = f['p/one'].ref, f['p/two'].ref
f.create_dataset('a', data=[one, two, h5py.Reference()], dtype=h5py.ref_dtype)
f.create_dataset('b', data=[one, one, h5py.Reference()], dtype=h5py.ref_dtype)
x = f['r/x']
f.create_dataset('s', data=[x.regionref[1:3, :2]], dtype=h5py.regionref_dtype)
f.create_dataset('t', data=[x.regionref[1:3, :2]], dtype=h5py.regionref_dtype)
f.create_dataset('u', data=[x.regionref[1:3, :3]], dtype=h5py.regionref_dtype)
)");
  EXPECT_EQ(told("a", "b"), "1 [1]=\"/p/two\"/\"/p/one\"");
  EXPECT_EQ(told("s", "t"), "0");
  EXPECT_TRUE(told("s", "u").starts_with("1 [0]=")) << told("s", "u");
  EXPECT_EQ(told("a", "s"), "error: the types differ");
}

TEST_F(CompareElements, TheBudgetEndsIt) {
  write(R"(
f.create_dataset('a', data=np.zeros(1 << 20))
f.create_dataset('b', data=np.ones(1 << 20))
)");
  const auto said = told("a", "b", {.steps = 1 << 20});
  EXPECT_TRUE(said.starts_with("error: more work")) << said;
}

TEST_F(CompareElements, AnyNumberOfThreadsTellsTheSame) {
  write(R"(
r = np.random.default_rng(1)
x = r.integers(0, 100, (300, 1000))
y = np.where(r.random(x.shape) < 0.01, -1, x)
f.create_dataset('a', data=x, chunks=(20, 30))
f.create_dataset('b', data=y, chunks=(20, 30), compression='gzip')
f.create_dataset('c', data=y, chunks=(70, 333), compression='gzip')
)");
  const ComparedFile one = open(1), many = open(8);
  const std::string said = text_of(compared(one, "a", one, "b", {.first = 100}));
  EXPECT_EQ(text_of(compared(many, "a", many, "b", {.first = 100})), said);
  EXPECT_EQ(text_of(compared(many, "a", many, "c", {.first = 100})), said);
}

}  // namespace
}  // namespace h5mount::front

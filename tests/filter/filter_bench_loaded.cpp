// Reference libraries loaded at run time: libhdf5's own filters, liblzf, Blosc, C-Blosc2, bitshuffle. Only
// functions with plain arguments are used, so that none of their headers is needed.
#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "filter_bench.h"
#include "plugin/abi.h"

namespace h5mount::test {
namespace {

using filter::PluginTable;

class Library {
 public:
  explicit Library(std::initializer_list<std::string> names) {
    for (const std::string& name : names) {
      if (handle_ == nullptr && !name.empty()) handle_ = ::dlopen(name.c_str(), RTLD_NOW);
    }
  }
  explicit operator bool() const { return handle_ != nullptr; }
  template <class Symbol>
  Symbol find(const char* name) const {
    return reinterpret_cast<Symbol>(::dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
};

// ---- libhdf5

// A chunk of HDF5's filter interface: memory that the filter may replace.
struct Malloced {
  void* data = nullptr;
  std::size_t capacity = 0;
  std::size_t bytes = 0;
  Malloced() = default;
  Malloced(const Malloced&) = delete;
  Malloced& operator=(const Malloced&) = delete;
  ~Malloced() { std::free(data); }

  void assign(const Bytes& from) {
    std::free(data);
    capacity = bytes = from.size();
    data = std::malloc(capacity);
    std::memcpy(data, from.data(), bytes);
  }
  void pass_through(const PluginTable& table, unsigned flags, const std::vector<std::uint32_t>& values) {
    bytes = table.filter(flags, values.size(), values.data(), bytes, &capacity, &data);
  }
};

BenchCase hdf5_case(const Library& hdf5, const char* symbol, const filter::FilterSpec& spec,
                    const Bytes& data) {
  const auto* table = hdf5.find<const PluginTable*>(symbol);
  if (table == nullptr) return {};
  Malloced chunk;
  chunk.assign(data);
  chunk.pass_through(*table, 0, spec.client_data);
  const auto* begin = static_cast<const std::byte*>(chunk.data);
  const Bytes stored(begin, begin + chunk.bytes);
  const auto working = std::make_shared<Malloced>();
  return {spec.name,
          {spec},
          stored,
          "libhdf5",
          kOwn,
          [table, working, values = spec.client_data](const Bytes&, Bytes& out) {
            working->pass_through(*table, filter::kPluginReverse, values);
            // The caller compares the whole output.
            if (working->bytes == out.size()) std::memcpy(out.data(), working->data, out.size());
          },
          [working](const Bytes& from) { working->assign(from); }};
}

void add_hdf5(const BenchData& data, std::vector<BenchCase>& cases) {
  const Library hdf5{"libhdf5_serial.so.103", "libhdf5_serial.so", "libhdf5.so"};
  if (!hdf5) return;
  hdf5.find<int (*)()>("H5open")();
  const auto elements = static_cast<std::uint32_t>(data.wave.size() / 4);
  for (const std::uint32_t size : {2U, 4U, 8U, 12U, 16U}) {
    cases.push_back(hdf5_case(hdf5, "H5Z_SHUFFLE",
                              {2, "shuffle, elements of " + std::to_string(size), {size}}, data.wave));
  }
  cases.push_back(hdf5_case(hdf5, "H5Z_FLETCHER32", {3, "fletcher32", {}}, data.wave));
  cases.push_back(
      hdf5_case(hdf5, "H5Z_NBIT", {5, "nbit, 18 of 32 bits", {8, 0, elements, 1, 4, 0, 18, 0}}, data.wave));
  std::vector<std::uint32_t> scale = {2, 0, elements, 0, 4, 1, 0, 0};
  scale.resize(20);
  cases.push_back(hdf5_case(hdf5, "H5Z_SCALEOFFSET", {6, "scaleoffset, integers", scale}, data.wave));
}

// ---- LZF, Blosc

void add_lzf(const BenchData& data, std::vector<BenchCase>& cases) {
  const Library lzf{"liblzf.so.1"};
  if (!lzf) return;
  using Call = unsigned (*)(const void*, unsigned, void*, unsigned);
  const auto compress = lzf.find<Call>("lzf_compress");
  const auto decompress = lzf.find<Call>("lzf_decompress");
  for (const auto& [bytes, name] :
       {std::pair(&data.planes, "lzf after shuffle"), std::pair(&data.wave, "lzf")}) {
    Bytes stored(bytes->size() * 2);
    stored.resize(compress(bytes->data(), static_cast<unsigned>(bytes->size()), stored.data(),
                           static_cast<unsigned>(stored.size())));
    cases.push_back(
        {name, {{32000, "", {}}}, stored, "liblzf", kOwn, [decompress](const Bytes& in, Bytes& out) {
           decompress(in.data(), static_cast<unsigned>(in.size()), out.data(),
                      static_cast<unsigned>(out.size()));
         }});
  }
}

const char* shuffle_name(int shuffle) {
  return shuffle == 0 ? "" : shuffle == 1 ? " + shuffle" : " + bitshuffle";
}

void add_blosc1(const BenchData& data, std::vector<BenchCase>& cases) {
  const Library blosc{"libblosc.so.1"};
  if (!blosc) return;
  const auto compress = blosc.find<int (*)(int, int, std::size_t, std::size_t, const void*, void*,
                                           std::size_t, const char*, std::size_t, int)>("blosc_compress_ctx");
  const auto decompress = blosc.find<int (*)(const void*, void*, std::size_t, int)>("blosc_decompress_ctx");
  for (const char* codec : {"blosclz", "lz4", "zlib", "zstd"}) {
    for (const int shuffle : {0, 1, 2}) {
      Bytes stored(data.wave.size() + 16);
      const int size = compress(5, shuffle, 4, data.wave.size(), data.wave.data(), stored.data(),
                                stored.size(), codec, 0, 1);
      if (size <= 0) continue;
      stored.resize(static_cast<std::size_t>(size));
      cases.push_back(
          {std::string("blosc: ") + codec + shuffle_name(shuffle),
           {{32001, "", {}}},
           stored,
           "libblosc",
           kOwn,
           [decompress](const Bytes& in, Bytes& out) { decompress(in.data(), out.data(), out.size(), 1); }});
    }
  }
}

// ---- Blosc 2

class Blosc2 {
 public:
  explicit Blosc2(const std::string& path) : library_{path} {
    if (!library_) return;
    library_.find<void (*)()>("blosc2_init")();
    library_.find<std::int16_t (*)(std::int16_t)>("blosc2_set_nthreads")(1);
  }
  explicit operator bool() const { return static_cast<bool>(library_); }
  const Library& library() const { return library_; }

  // A contiguous frame with the chunk, and the metalayer where there is one.
  Bytes frame(const Bytes& data, const char* codec, int shuffle, std::size_t blocksize, bool array) const {
    library_.find<int (*)(const char*)>("blosc1_set_compressor")(codec);
    library_.find<void (*)(std::size_t)>("blosc1_set_blocksize")(blocksize);
    Bytes chunk(data.size() + 32);
    library_.find<int (*)(int, int, std::int32_t, const void*, std::int32_t, void*, std::int32_t)>(
        "blosc2_compress")(5, shuffle, kItem, data.data(), static_cast<std::int32_t>(data.size()),
                           chunk.data(), static_cast<std::int32_t>(chunk.size()));
    alignas(16) char storage[256] = {1};  // contiguous; all other fields their defaults
    void* const super = library_.find<void* (*)(void*)>("blosc2_schunk_new")(storage);
    if (array) add_layer(super, data.size());
    library_.find<std::int64_t (*)(void*, void*, bool)>("blosc2_schunk_append_chunk")(super, chunk.data(),
                                                                                      true);
    std::byte* bytes = nullptr;
    bool needs_free = false;
    const std::int64_t size = library_.find<std::int64_t (*)(void*, std::byte**, bool*)>(
        "blosc2_schunk_to_buffer")(super, &bytes, &needs_free);
    Bytes made(bytes, bytes + std::max<std::int64_t>(size, 0));
    if (needs_free) std::free(bytes);
    library_.find<int (*)(void*)>("blosc2_schunk_free")(super);
    return made;
  }

  static constexpr std::int32_t kItem = 8;  // the type size of a super-chunk by default
  static constexpr std::int32_t kColumns = 512;
  static constexpr std::int32_t kBlock[] = {16, 64};  // 8 KiB

 private:
  void add_layer(void* super, std::size_t bytes) const {
    const auto rows = static_cast<std::int32_t>(bytes / kItem / kColumns);
    const std::int64_t shape[] = {rows, kColumns};
    const std::int32_t chunk[] = {rows, kColumns};
    std::uint8_t* layer = nullptr;
    const int size = library_.find<int (*)(std::int8_t, const std::int64_t*, const std::int32_t*,
                                           const std::int32_t*, const char*, std::int8_t, std::uint8_t**)>(
        "b2nd_serialize_meta")(2, shape, chunk, kBlock, "<f8", 0, &layer);
    library_.find<int (*)(void*, const char*, std::uint8_t*, std::int32_t)>("blosc2_meta_add")(super, "b2nd",
                                                                                               layer, size);
    std::free(layer);
  }

  Library library_;
};

void add_blosc2(const BenchData& data, const std::string& path, std::vector<BenchCase>& cases) {
  if (path.empty()) return;
  const Blosc2 blosc2(path);
  if (!blosc2) return;
  const Library& library = blosc2.library();
  using Buffer = void* (*)(const void*, std::int64_t, bool);
  const auto from_buffer = library.find<Buffer>("blosc2_schunk_from_buffer");
  const auto decompress =
      library.find<int (*)(void*, std::int64_t, void*, std::int32_t)>("blosc2_schunk_decompress_chunk");
  const auto free_super = library.find<int (*)(void*)>("blosc2_schunk_free");
  for (const char* codec : {"blosclz", "lz4", "zlib", "zstd"}) {
    for (const int shuffle : {0, 1, 2}) {
      cases.push_back({std::string("blosc2: ") + codec + shuffle_name(shuffle),
                       {{32026, "", {}}},
                       blosc2.frame(data.wave, codec, shuffle, 0, false),
                       "C-Blosc2",
                       kOwn,
                       [=](const Bytes& in, Bytes& out) {
                         void* const super =
                             from_buffer(in.data(), static_cast<std::int64_t>(in.size()), false);
                         decompress(super, 0, out.data(), static_cast<std::int32_t>(out.size()));
                         free_super(super);
                       }});
    }
  }
  const auto from_frame = library.find<int (*)(const void*, std::int64_t, bool, void**)>("b2nd_from_cframe");
  const auto to_buffer = library.find<int (*)(const void*, void*, std::int64_t)>("b2nd_to_cbuffer");
  const auto free_array = library.find<int (*)(void*)>("b2nd_free");
  const std::size_t block = std::size_t{Blosc2::kItem} * Blosc2::kBlock[0] * Blosc2::kBlock[1];
  for (const char* codec : {"blosclz", "lz4", "zlib", "zstd"}) {
    cases.push_back({std::string("blosc2 array: ") + codec + shuffle_name(1),
                     {{32026, "", {}}},
                     blosc2.frame(data.wave, codec, 1, block, true),
                     "C-Blosc2",
                     kOwn,
                     [=](const Bytes& in, Bytes& out) {
                       void* array = nullptr;
                       from_frame(in.data(), static_cast<std::int64_t>(in.size()), false, &array);
                       to_buffer(array, out.data(), static_cast<std::int64_t>(out.size()));
                       free_array(array);
                     }});
  }
}

// ---- bitshuffle

void store_be(Bytes& bytes, std::size_t at, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i)
    bytes[at + i] = static_cast<std::byte>(value >> (8 * (width - 1 - i)) & 0xff);
}

void add_bitshuffle(const BenchData& data, const std::string& path, std::vector<BenchCase>& cases) {
  const Library library{path};
  if (!library) return;
  using Call =
      std::int64_t (*)(const void*, void*, std::size_t elements, std::size_t element_size, std::size_t block);
  const auto shuffle = library.find<Call>("bshuf_bitshuffle");
  const auto unshuffle = library.find<Call>("bshuf_bitunshuffle");
  for (const std::size_t element : {1U, 2U, 3U, 4U, 8U, 12U, 16U}) {
    const std::size_t count = data.wave.size() / element / 8 * 8;
    Bytes stored = data.wave;
    shuffle(data.wave.data(), stored.data(), count, element, 0);
    cases.push_back({"bitshuffle, elements of " + std::to_string(element),
                     {{32008, "", {0, 3, static_cast<std::uint32_t>(element), 0, 0}}},
                     stored,
                     "bitshuffle",
                     kOwn,
                     [unshuffle, element, count](const Bytes& in, Bytes& out) {
                       unshuffle(in.data(), out.data(), count, element, 0);
                       std::memcpy(out.data() + count * element, in.data() + count * element,
                                   in.size() - count * element);
                     }});
  }
  using Level = std::int64_t (*)(const void*, void*, std::size_t, std::size_t, std::size_t, int);
  constexpr std::size_t kBlock = 2048;  // elements: 8 KiB
  const std::size_t elements = data.wave.size() / 4;
  for (const std::uint32_t codec : {2U, 3U}) {
    const bool lz4 = codec == 2;
    const auto decompress = library.find<Call>(lz4 ? "bshuf_decompress_lz4" : "bshuf_decompress_zstd");
    if (decompress == nullptr) continue;  // that library was built without it
    Bytes stored(data.wave.size() * 2 + 12);
    const void* from = data.wave.data();
    void* to = stored.data() + 12;
    const std::int64_t size =
        lz4 ? library.find<Call>("bshuf_compress_lz4")(from, to, elements, 4, kBlock)
            : library.find<Level>("bshuf_compress_zstd")(from, to, elements, 4, kBlock, 3);
    store_be(stored, 0, data.wave.size(), 8);
    store_be(stored, 8, kBlock * 4, 4);
    stored.resize(12 + static_cast<std::size_t>(size));
    cases.push_back({lz4 ? "bitshuffle + lz4" : "bitshuffle + zstd",
                     {{32008, "", {0, 3, 4, 0, codec}}},
                     stored,
                     "bitshuffle",
                     kOwn,
                     [decompress, elements](const Bytes& in, Bytes& out) {
                       decompress(in.data() + 12, out.data(), elements, 4, kBlock);
                     }});
  }
}

}  // namespace

std::vector<BenchCase> loaded_cases(const BenchData& data, const LoadedLibraries& libraries) {
  std::vector<BenchCase> cases;
  add_hdf5(data, cases);
  add_lzf(data, cases);
  add_blosc1(data, cases);
  add_blosc2(data, libraries.blosc2, cases);
  add_bitshuffle(data, libraries.bitshuffle, cases);
  std::erase_if(cases, [](const BenchCase& one) { return one.stored.empty(); });
  return cases;
}

}  // namespace h5mount::test

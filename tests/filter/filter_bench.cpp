// Decode throughput of each filter beside its reference library called directly on the same bytes, in one
// run:
//   filter_bench [chunk KiB]
// Fixed data, medians of 15 rounds, alternating. Filters without a library here stand beside a plain copy.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <bzlib.h>
#include <dlfcn.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

extern "C" {
#include <szlib.h>  // has no guard of its own
}

#include "bit_transpose.h"
#include "bytes.h"
#include "fletcher32.h"

namespace {

using namespace h5mount;
using test::Bytes;

constexpr int kRounds = 15;

struct Case {
  std::string name;
  std::vector<FilterSpec> specs;
  Bytes stored;
  std::string reference;
  std::function<void(const Bytes& stored, Bytes& out)> decode;
};

char* chars(Bytes& bytes) { return reinterpret_cast<char*>(bytes.data()); }
const char* chars(const Bytes& bytes) { return reinterpret_cast<const char*>(bytes.data()); }

// A noisy wave: compresses as measurements do.
Bytes wave(std::size_t size) {
  Bytes bytes(size);
  test::Random random(1);
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    const auto value = static_cast<std::int32_t>(1e5 * std::sin(static_cast<double>(i) / 9000) +
                                                 static_cast<double>(random.below(64)));
    std::memcpy(bytes.data() + i, &value, 4);
  }
  return bytes;
}

Bytes shuffled(const Bytes& data, std::size_t size) {
  Bytes out(data.size());
  const std::size_t count = data.size() / size;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < size; ++j) out[j * count + i] = data[i * size + j];
  }
  return out;
}

Bytes deflated(const Bytes& data) {
  uLongf size = compressBound(data.size());
  Bytes out(size);
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
            data.size(), 6);
  out.resize(size);
  return out;
}

void append_be(Bytes& bytes, std::uint64_t value, unsigned width) {
  while (width-- > 0) bytes.push_back(static_cast<std::byte>(value >> (8 * width) & 0xff));
}

Case deflate_case(const Bytes& data) {
  return {"deflate", {{1, "", {6}}}, deflated(data), "zlib", [](const Bytes& stored, Bytes& out) {
            uLongf size = out.size();
            uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(stored.data()), stored.size());
          }};
}

void copy_out(const Bytes& stored, Bytes& out) {
  std::memcpy(out.data(), stored.data(), std::min(stored.size(), out.size()));
}

Case lz4_case(const Bytes& data) {
  Bytes block(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(data.size()))));
  const int size = LZ4_compress_default(chars(data), chars(block), static_cast<int>(data.size()),
                                        static_cast<int>(block.size()));
  Bytes stored;
  append_be(stored, data.size(), 8);
  append_be(stored, data.size(), 4);
  append_be(stored, static_cast<std::uint64_t>(size), 4);
  stored.insert(stored.end(), block.begin(), block.begin() + size);
  return {"lz4", {{32004, "", {}}}, stored, "liblz4", [](const Bytes& in, Bytes& out) {
            LZ4_decompress_safe(chars(in) + 16, chars(out), static_cast<int>(in.size() - 16),
                                static_cast<int>(out.size()));
          }};
}

Case zstd_case(const Bytes& data) {
  Bytes stored(ZSTD_compressBound(data.size()));
  stored.resize(ZSTD_compress(stored.data(), stored.size(), data.data(), data.size(), 3));
  return {"zstd", {{32015, "", {}}}, stored, "libzstd", [](const Bytes& in, Bytes& out) {
            ZSTD_decompress(out.data(), out.size(), in.data(), in.size());
          }};
}

Case bzip2_case(const Bytes& data) {
  auto size = static_cast<unsigned>(data.size() * 2 + 1000);
  Bytes stored(size);
  Bytes copy = data;
  BZ2_bzBuffToBuffCompress(chars(stored), &size, chars(copy), static_cast<unsigned>(data.size()), 9, 0, 0);
  stored.resize(size);
  return {"bzip2", {{307, "", {9}}}, stored, "libbz2", [](const Bytes& in, Bytes& out) {
            auto length = static_cast<unsigned>(out.size());
            Bytes from = in;
            BZ2_bzBuffToBuffDecompress(chars(out), &length, chars(from), static_cast<unsigned>(from.size()),
                                       0, 0);
          }};
}

Case szip_case(const Bytes& data) {
  SZ_com_t parameters{141, 32, 16, 256};
  Bytes stored(data.size() * 2 + 4);
  std::size_t size = stored.size() - 4;
  SZ_BufftoBuffCompress(stored.data() + 4, &size, data.data(), data.size(), &parameters);
  const auto length = static_cast<std::uint32_t>(data.size());
  std::memcpy(stored.data(), &length, 4);
  stored.resize(size + 4);
  return {"szip",
          {{4, "", {141, 16, 32, 256}}},
          stored,
          "libaec",
          [parameters](const Bytes& in, Bytes& out) mutable {
            std::size_t bytes = out.size();
            SZ_BufftoBuffDecompress(out.data(), &bytes, in.data() + 4, in.size() - 4, &parameters);
          }};
}

Case lzf_case(const Bytes& data) {
  void* library = dlopen("liblzf.so.1", RTLD_NOW);
  if (library == nullptr) return {};
  using Call = unsigned (*)(const void*, unsigned, void*, unsigned);
  const auto compress = reinterpret_cast<Call>(dlsym(library, "lzf_compress"));
  const auto decompress = reinterpret_cast<Call>(dlsym(library, "lzf_decompress"));
  Bytes stored(data.size() * 2);
  stored.resize(compress(data.data(), static_cast<unsigned>(data.size()), stored.data(),
                         static_cast<unsigned>(stored.size())));
  return {"lzf", {{32000, "", {}}}, stored, "liblzf", [decompress](const Bytes& in, Bytes& out) {
            decompress(in.data(), static_cast<unsigned>(in.size()), out.data(),
                       static_cast<unsigned>(out.size()));
          }};
}

Case fletcher_case(const Bytes& data) {
  Bytes stored = data;
  const std::uint32_t sum = filter::fletcher32(data);
  for (unsigned shift = 0; shift < 32; shift += 8)
    stored.push_back(static_cast<std::byte>(sum >> shift & 0xff));
  return {"fletcher32", {{3, "", {}}}, stored, "copy", copy_out};
}

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void run(const Case& one, std::size_t size) {
  if (one.stored.empty()) return;
  const auto pipeline = *FilterPipeline::make(one.specs, size);
  FilterScratch scratch;
  Bytes ours(size), theirs(size);
  bool good = true;
  std::vector<double> our_times, their_times;
  for (int round = 0; round < kRounds; ++round) {
    our_times.push_back(
        seconds([&] { good = pipeline->decode(one.stored, 0, ours, scratch).has_value() && good; }));
    their_times.push_back(seconds([&] { one.decode(one.stored, theirs); }));
  }
  good = good && (one.reference == "copy" || ours == theirs);
  const double mib = static_cast<double>(size) / 1048576;
  std::printf("%-16s %9.0f MiB/s   %-8s %9.0f MiB/s   ratio %.2f%s\n", one.name.c_str(),
              mib / median(our_times), one.reference.c_str(), mib / median(their_times),
              median(their_times) / median(our_times), good ? "" : "   WRONG BYTES");
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024) * 1024;
  const Bytes data = wave(size);
  const Bytes planes = shuffled(data, 4);
  for (const Case& one :
       {deflate_case(data), deflate_case(planes), lz4_case(data), lz4_case(planes), zstd_case(planes),
        bzip2_case(planes), szip_case(data), lzf_case(planes), fletcher_case(data)}) {
    run(one, size);
  }
  for (const std::uint32_t element : {2U, 3U, 4U, 8U, 12U, 16U, 24U}) {
    const std::string width = " of " + std::to_string(element);
    run({"shuffle" + width, {{2, "", {element}}}, data, "copy", copy_out}, size);
    run({"bitshuffle" + width, {{32008, "", {0, 3, element, 0, 0}}}, data, "copy", copy_out}, size);
  }
}

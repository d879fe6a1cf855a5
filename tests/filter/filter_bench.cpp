// Decode throughput of each filter beside its reference called directly on the same bytes, in one run, as a
// table:
//   filter_bench [--kib N] [--blosc2 LIBRARY] [--bitshuffle LIBRARY]
// Fixed data, chunks of N KiB (1024). The product's decoder and the reference alternate on one thread and are
// measured in processor time. Throughputs and ratios are medians of 31 rounds, each ratio from one round, so
// that load on the machine has little influence.
#include <bzlib.h>
#include <charls/charls.h>
#include <libdeflate.h>
#include <lz4.h>
#include <zfp.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

extern "C" {
#include <szlib.h>  // has no guard of its own
}

#include "filter_bench.h"

namespace {

using namespace h5mount;
using test::BenchCase;
using test::Bytes;

constexpr int kRounds = 31;

char* chars(Bytes& bytes) {
  return reinterpret_cast<char*>(bytes.data());
}
const char* chars(const Bytes& bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}

// A noisy wave: compresses like typical measurements.
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

BenchCase zlib_case(const Bytes& data, const std::string& name) {
  return {name, {{1, "", {6}}}, deflated(data), "zlib", test::kLibrary, [](const Bytes& stored, Bytes& out) {
            uLongf size = out.size();
            uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(stored.data()), stored.size());
          }};
}

BenchCase libdeflate_case(const Bytes& data, const std::string& name) {
  libdeflate_decompressor* const handle = libdeflate_alloc_decompressor();
  return {name,
          {{1, "", {6}}},
          deflated(data),
          "libdeflate",
          test::kLibrary,
          [handle](const Bytes& in, Bytes& out) {
            std::size_t written = 0;
            libdeflate_zlib_decompress(handle, in.data(), in.size(), out.data(), out.size(), &written);
          }};
}

BenchCase lz4_case(const Bytes& data, const std::string& name) {
  Bytes block(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(data.size()))));
  const int size = LZ4_compress_default(chars(data), chars(block), static_cast<int>(data.size()),
                                        static_cast<int>(block.size()));
  Bytes stored;
  append_be(stored, data.size(), 8);
  append_be(stored, data.size(), 4);
  append_be(stored, static_cast<std::uint64_t>(size), 4);
  stored.insert(stored.end(), block.begin(), block.begin() + size);
  return {name, {{32004, "", {}}}, stored, "liblz4", test::kLibrary, [](const Bytes& in, Bytes& out) {
            LZ4_decompress_safe(chars(in) + 16, chars(out), static_cast<int>(in.size() - 16),
                                static_cast<int>(out.size()));
          }};
}

BenchCase zstd_case(const Bytes& data) {
  Bytes stored(ZSTD_compressBound(data.size()));
  stored.resize(ZSTD_compress(stored.data(), stored.size(), data.data(), data.size(), 3));
  return {"zstd after shuffle",
          {{32015, "", {}}},
          stored,
          "libzstd",
          test::kLibrary,
          [](const Bytes& in, Bytes& out) { ZSTD_decompress(out.data(), out.size(), in.data(), in.size()); }};
}

BenchCase bzip2_case(const Bytes& data) {
  auto size = static_cast<unsigned>(data.size() * 2 + 1000);
  Bytes stored(size);
  Bytes copy = data;
  BZ2_bzBuffToBuffCompress(chars(stored), &size, chars(copy), static_cast<unsigned>(data.size()), 9, 0, 0);
  stored.resize(size);
  return {"bzip2 after shuffle",
          {{307, "", {9}}},
          stored,
          "libbz2",
          test::kLibrary,
          [](const Bytes& in, Bytes& out) {
            auto length = static_cast<unsigned>(out.size());
            // libbz2's interface is not const; it does not write to its input.
            BZ2_bzBuffToBuffDecompress(chars(out), &length, const_cast<char*>(chars(in)),
                                       static_cast<unsigned>(in.size()), 0, 0);
          }};
}

BenchCase szip_case(const Bytes& data) {
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
          test::kLibrary,
          [parameters](const Bytes& in, Bytes& out) mutable {
            std::size_t bytes = out.size();
            SZ_BufftoBuffDecompress(out.data(), &bytes, in.data() + 4, in.size() - 4, &parameters);
          }};
}

// A smooth field of doubles, `rows` x 512, in one of zfp's modes.
BenchCase zfp_case(std::size_t size, const std::string& mode) {
  constexpr std::size_t kColumns = 512;
  const std::size_t rows = size / 8 / kColumns;
  std::vector<double> values(rows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        std::sin(static_cast<double>(i / kColumns) / 40) * std::cos(static_cast<double>(i % kColumns) / 60);
  }
  zfp_stream* const stream = zfp_stream_open(nullptr);
  zfp_field* const field = zfp_field_2d(values.data(), zfp_type_double, kColumns, rows);
  if (mode == "rate") zfp_stream_set_rate(stream, 16, zfp_type_double, 2, zfp_false);
  if (mode == "accuracy") zfp_stream_set_accuracy(stream, 1e-6);
  if (mode == "reversible") zfp_stream_set_reversible(stream);
  std::uint64_t header[20] = {};
  bitstream* bits = stream_open(header, sizeof header);
  zfp_stream_set_bit_stream(stream, bits);
  zfp_write_header(stream, field, ZFP_HEADER_FULL);
  zfp_stream_flush(stream);
  stream_close(bits);
  std::vector<std::uint32_t> client_data = {0x10000510};
  for (const std::uint64_t word : header) {
    client_data.push_back(static_cast<std::uint32_t>(word));
    client_data.push_back(static_cast<std::uint32_t>(word >> 32));
  }
  client_data.resize(12);
  Bytes stored(zfp_stream_maximum_size(stream, field));
  bits = stream_open(stored.data(), stored.size());
  zfp_stream_set_bit_stream(stream, bits);
  zfp_stream_rewind(stream);
  stored.resize(zfp_compress(stream, field));
  stream_close(bits);
  return {"zfp, " + mode,
          {{32013, "", client_data}},
          stored,
          "libzfp",
          test::kLibrary,
          [stream, field](const Bytes& in, Bytes& out) {
            bitstream* const from = stream_open(const_cast<std::byte*>(in.data()), in.size());
            zfp_stream_set_bit_stream(stream, from);
            zfp_stream_rewind(stream);
            zfp_field_set_pointer(field, out.data());
            zfp_decompress(stream, field);
            stream_close(from);
          }};
}

// An image of 12-bit samples, 1024 per line.
BenchCase jpeg_ls_case(std::size_t size) {
  constexpr std::uint32_t kWidth = 1024;
  std::vector<std::uint16_t> samples(size / 2);
  test::Random random(2);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double at = static_cast<double>(i / kWidth) / 30 + static_cast<double>(i % kWidth) / 50;
    samples[i] =
        static_cast<std::uint16_t>(2000 + 1500 * std::sin(at) + static_cast<double>(random.below(8)));
  }
  const auto height = static_cast<std::uint32_t>(samples.size() / kWidth);
  const charls::frame_info frame{kWidth, height, 12, 1};
  charls::jpegls_encoder encoder;
  encoder.frame_info(frame);
  Bytes stored(encoder.estimated_destination_size());
  encoder.destination(stored);
  stored.resize(encoder.encode(samples));
  return {"fcidecomp (JPEG-LS)",
          {{32018, "", {2, 1, height, kWidth, 12, 1, 0, 0, 0, 0, 0, 0, 0}}},
          stored,
          "libcharls",
          test::kLibrary,
          [](const Bytes& in, Bytes& out) {
            charls::jpegls_decoder decoder(in, true);
            decoder.decode(out);
          }};
}

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds(const std::function<void()>& work) {
  const double begin = processor_seconds();
  work();
  return processor_seconds() - begin;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// False where the bytes differ.
bool run(const BenchCase& one, std::size_t size) {
  const auto pipeline = *filter::FilterPipeline::make(one.specs, size);
  filter::FilterScratch scratch;
  Bytes ours(size), theirs(size);
  bool good = true;
  std::vector<double> our_times, their_times, ratios;
  for (int round = 0; round < kRounds; ++round) {
    our_times.push_back(
        seconds([&] { good = pipeline->decode(one.stored, 0, ours, scratch).has_value() && good; }));
    one.prepare(one.stored);
    their_times.push_back(seconds([&] { one.decode(one.stored, theirs); }));
    ratios.push_back(their_times.back() / our_times.back());
  }
  good = good && ours == theirs;
  const double mib = static_cast<double>(size) / 1048576;
  const double ratio = median(ratios);
  std::printf("| %s | %.1f | %.0f | %s | %.0f | %s%.2f%s | %.1f |\n", one.name.c_str(),
              static_cast<double>(size) / static_cast<double>(one.stored.size()), mib / median(our_times),
              one.reference.c_str(), mib / median(their_times), good ? "" : "WRONG BYTES ", ratio,
              ratio < one.target ? " (missed)" : "", one.target);
  std::fflush(stdout);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1024 * 1024;
  test::LoadedLibraries libraries;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--kib") size = std::strtoull(argv[i + 1], nullptr, 10) / 4 * 4096;
    if (option == "--blosc2") libraries.blosc2 = argv[i + 1];
    if (option == "--bitshuffle") libraries.bitshuffle = argv[i + 1];
  }
  if (argc % 2 == 0 || size == 0) {
    std::fputs("usage: filter_bench [--kib N] [--blosc2 LIBRARY] [--bitshuffle LIBRARY]\n", stderr);
    return 1;
  }
  const test::BenchData data{wave(size), shuffled(wave(size), 4)};
  std::vector<BenchCase> cases = {libdeflate_case(data.wave, "deflate"),
                                  libdeflate_case(data.planes, "deflate after shuffle"),
                                  zlib_case(data.wave, "deflate"),
                                  zlib_case(data.planes, "deflate after shuffle"),
                                  lz4_case(data.wave, "lz4"),
                                  lz4_case(data.planes, "lz4 after shuffle"),
                                  zstd_case(data.planes),
                                  bzip2_case(data.planes),
                                  szip_case(data.wave),
                                  zfp_case(size, "rate"),
                                  zfp_case(size, "accuracy"),
                                  zfp_case(size, "reversible"),
                                  jpeg_ls_case(size)};
  std::ranges::move(loaded_cases(data, libraries), std::back_inserter(cases));
  std::printf(
      "| decoder | compressed | MiB/s | reference | MiB/s | ratio | promised "
      "|\n|---|---|---|---|---|---|---|\n");
  bool good = true;
  for (const BenchCase& one : cases) good = run(one, size) && good;
  return good ? 0 : 2;
}

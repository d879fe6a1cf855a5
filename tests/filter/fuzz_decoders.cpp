#include "fuzz_decoders.h"

#include <cstdlib>

#include "blosc2/nd_array.h"
#include "codecs.h"
#include "cut_box.h"
#include "guarded.h"

namespace h5mount::test {
namespace {

constexpr std::size_t kMaxStored = 1U << 17;
constexpr std::size_t kMaxDecoded = 1U << 16;

struct Input {
  std::size_t chunk_bytes = 0;
  std::vector<std::uint32_t> client_data;
  ByteSpan stored;
};

MutableByteSpan output_of(std::size_t size) {
  static Guarded memory(kMaxDecoded);
  return memory.last(size);
}

void must_agree(const ByteSpan& whole, const filter::ChunkBox& box, const filter::PartialChunk& partial) {
  const auto wanted = cut_box(whole, box);
  std::vector<std::byte> found(wanted.size());
  if (!partial.read_box(box, found) || found != wanted) std::abort();
}

void run_filter(std::uint16_t id, const Input& input) {
  static filter::FilterScratch scratch;
  const filter::FilterSpec spec{id, "", input.client_data};
  const std::size_t size = input.chunk_bytes;
  const auto pipeline = filter::FilterPipeline::make(std::span(&spec, 1), size);
  if (!pipeline) return;
  const MutableByteSpan out = output_of(size);
  const bool whole = (*pipeline)->decode(input.stored, 0, out, scratch).has_value();
  const auto partial = (*pipeline)->open_partial(input.stored, 0, size);
  if (!partial || *partial == nullptr || size == 0) return;
  const std::uint64_t dims[] = {size};
  const std::uint64_t start[] = {size / 3};
  const std::uint64_t count[] = {size - size / 3};
  const filter::ChunkBox box{dims, start, count, 1};
  if (whole) return must_agree(out, box, **partial);
  std::vector<std::byte> part(count[0]);
  (void)(*partial)->read_box(box, part);
}

// An array read in its own shape.
void run_array(const Input& input) {
  const auto frame = filter::blosc::Frame::open(input.stored, input.chunk_bytes);
  if (!frame) return;
  const auto array = filter::blosc::NdArray::open(*frame, input.chunk_bytes);
  if (!array || !*array) return;
  const auto& layout = (*array)->layout();
  if (layout.array_bytes > input.chunk_bytes || layout.array_bytes == 0) return;
  const MutableByteSpan out = output_of(static_cast<std::size_t>(layout.array_bytes));
  const bool whole = (*array)->read_all(out).has_value();
  std::vector<std::uint64_t> start, count;
  std::size_t bytes = layout.item_bytes;
  for (const std::uint64_t extent : layout.shape) {
    start.push_back(extent / 3);
    count.push_back(extent - extent / 3 - (extent > 3 ? 1 : 0));
    bytes *= count.back();
  }
  std::vector<std::byte> part(bytes);
  const bool read = (*array)->read_box(start, count, part).has_value();
  const filter::ChunkBox box{layout.shape, start, count, layout.item_bytes};
  if (whole && (!read || part != cut_box(out, box))) std::abort();
  if ((*array)->blocks_of(start, count) > (*array)->block_count()) std::abort();
}

void run_blosclz(const Input& input) {
  (void)filter::decode_blosclz(input.stored, output_of(input.chunk_bytes));
}
void run_snappy(const Input& input) {
  (void)filter::decode_snappy(input.stored, output_of(input.chunk_bytes));
}
// A chunk without a frame: code that both Blosc filters share. Its seeds are taken from frames.
void run_blosc2_chunk(const Input& input) {
  run_filter(32001, input);
}

struct Bare {
  const char* name;
  void (*run)(const Input&);
};
constexpr Bare kBare[] = {{"blosclz", run_blosclz},
                          {"snappy", run_snappy},
                          {"blosc2-chunk", run_blosc2_chunk},
                          {"blosc2-array", run_array}};

std::optional<Input> cut(ByteSpan bytes) {
  if (bytes.size() < 3) return std::nullopt;
  Input input;
  input.chunk_bytes = load_le<std::uint16_t>(bytes.data());
  const std::size_t values = std::to_integer<std::size_t>(bytes[2]);
  bytes = bytes.subspan(3);
  if (values * 4 > bytes.size() || bytes.size() > kMaxStored) return std::nullopt;
  for (std::size_t i = 0; i < values; ++i)
    input.client_data.push_back(load_le<std::uint32_t>(bytes.data() + 4 * i));
  static Guarded memory(kMaxStored);
  input.stored = memory.copy(bytes.subspan(values * 4));
  return input;
}

}  // namespace

std::vector<std::string> fuzz_decoders() {
  std::vector<std::string> names;
  for (const filter::FilterInfo& info : filter::known_filters())
    if (info.available) names.emplace_back(info.name);
  for (const Bare& bare : kBare) names.emplace_back(bare.name);
  return names;
}

void fuzz_decoder(const std::string& name, ByteSpan bytes) {
  static const std::vector<filter::FilterInfo> filters = filter::known_filters();
  const auto input = cut(bytes);
  for (const filter::FilterInfo& info : filters) {
    if (info.name != name || !info.available) continue;
    if (input) run_filter(info.id, *input);
    return;
  }
  for (const Bare& bare : kBare) {
    if (bare.name != name) continue;
    if (input) bare.run(*input);
    return;
  }
  std::abort();
}

}  // namespace h5mount::test

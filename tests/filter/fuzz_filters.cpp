// One fuzz target for every decoder. The input's first bytes choose a filter and its client data, the rest is
// what a file would store. Built by libFuzzer (-Dfuzz=true) it explores; built into fuzz_replay_test it goes
// through seeded mutations of the vectors.
//
//   filter, u8 | chunk bytes, u16 | number of client data, u8 | client data, u32 each | stored bytes
#include <cstdlib>

#include "guarded.h"
#include "h5mount/filter/filter.h"

namespace {

using namespace h5mount;

// Decodes whole and by a box, which must agree.
void decode_both(const FilterSpec& spec, ByteSpan stored, std::size_t size) {
  static test::Guarded out_memory(1U << 17);
  static FilterScratch scratch;
  const auto pipeline = FilterPipeline::make(std::span(&spec, 1), size);
  if (!pipeline) return;
  const MutableByteSpan out = out_memory.last(size);
  const bool whole = (*pipeline)->decode(stored, 0, out, scratch).has_value();
  const auto partial = (*pipeline)->open_partial(stored, 0, size);
  if (!partial || *partial == nullptr || size == 0) return;
  const std::uint64_t dims[] = {size};
  const std::uint64_t start[] = {size / 3};
  const std::uint64_t count[] = {size - size / 3};
  std::vector<std::byte> box(count[0]);
  const bool part = (*partial)->read_box({dims, start, count, 1}, box).has_value();
  if (whole && (!part || std::memcmp(box.data(), out.data() + start[0], box.size()) != 0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  static const std::vector<FilterInfo> filters = known_filters();
  if (length < 4) return 0;
  FilterSpec spec;
  spec.id = filters[data[0] % filters.size()].id;
  const std::size_t size = load_le<std::uint16_t>(reinterpret_cast<const std::byte*>(data + 1));
  const std::size_t values = data[3];
  data += 4;
  length -= 4;
  if (values * 4 > length) return 0;
  spec.client_data.resize(values);
  if (values != 0) std::memcpy(spec.client_data.data(), data, values * 4);
  static test::Guarded in_memory(1U << 20);
  const ByteSpan stored(reinterpret_cast<const std::byte*>(data + values * 4), length - values * 4);
  if (stored.size() > 1U << 20) return 0;
  decode_both(spec, in_memory.copy(stored), size);
  return 0;
}

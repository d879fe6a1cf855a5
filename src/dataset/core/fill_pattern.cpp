#include "fill_pattern.h"

#include <algorithm>
#include <cstring>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {
namespace {

constexpr std::size_t kPatternBytes = 64U << 10;
constexpr std::size_t kZeroBytes = 1U << 20;

ByteSpan zeros() {
  // This array is in .bss and never written, so all its pages are the kernel's zero page.
  static const std::byte block[kZeroBytes] = {};
  return block;
}

}  // namespace

FillPattern::FillPattern(const format::FillValue& fill, std::uint64_t element_size) {
  const auto& value = fill.value;
  // With fill time 'never' libhdf5 does not write the fill value, so it does not read it either.
  if (!fill.defined || fill.time == format::FillTime::Never || value.empty() ||
      value.size() != element_size ||
      std::ranges::all_of(value, [](std::byte b) { return b == std::byte{0}; }))
    return;
  const std::size_t copies = std::max<std::size_t>(1, kPatternBytes / value.size());
  auto pattern = std::make_shared<std::vector<std::byte>>();
  pattern->reserve(copies * value.size());
  for (std::size_t i = 0; i < copies; ++i) pattern->insert(pattern->end(), value.begin(), value.end());
  pattern_ = std::move(pattern);
}

void FillPattern::append(std::uint64_t offset, std::uint64_t length, Pieces& out) const {
  while (length > 0) {
    const ByteSpan source = pattern_ ? ByteSpan(*pattern_).subspan(offset % pattern_->size()) : zeros();
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(length, source.size()));
    out.add(source.first(n), pattern_);
    offset += n;
    length -= n;
  }
}

void FillPattern::write(std::uint64_t offset, MutableByteSpan out) const {
  if (!pattern_) {
    std::ranges::fill(out, std::byte{0});
    return;
  }
  while (!out.empty()) {
    const ByteSpan source = ByteSpan(*pattern_).subspan(offset % pattern_->size());
    const std::size_t n = std::min(out.size(), source.size());
    std::memcpy(out.data(), source.data(), n);
    out = out.subspan(n);
    offset += n;
  }
}

std::vector<std::byte> fill_element(const object::DatasetDescription& dataset) {
  std::vector<std::byte> out(static_cast<std::size_t>(dataset.element_size));
  FillPattern(dataset.fill, dataset.element_size).write(0, out);
  return out;
}

}  // namespace h5mount::dataset

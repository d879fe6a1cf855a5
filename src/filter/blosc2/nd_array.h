// A frame that holds an n-dimensional array. Reading a box decodes only the blocks that it touches.
#pragma once

#include <span>

#include "frame.h"
#include "nd_layout.h"

namespace h5mount::filter::blosc {

class NdArray {
 public:
  // Returns nullopt if the frame has no array metalayer. Fails if metalayer and frame disagree, or if blocks
  // are far larger than `limit`, the number of decoded bytes that the caller accepts.
  static Result<std::optional<NdArray>> open(const Frame& frame, std::uint64_t limit);

  const NdLayout& layout() const { return layout_; }

  // Reads the elements [start, start + count) in each dimension, row-major and dense: exactly out.size()
  // bytes.
  Status read_box(std::span<const std::uint64_t> start, std::span<const std::uint64_t> count,
                  MutableByteSpan out) const;
  Status read_all(MutableByteSpan out) const;

  // The maximum number of blocks that read_box decodes (fewer if chunks are special or stored), and the
  // number of all blocks.
  std::uint64_t blocks_of(std::span<const std::uint64_t> start, std::span<const std::uint64_t> count) const;
  std::uint64_t block_count() const;

 private:
  NdArray(const Frame& frame, NdLayout layout) : frame_(frame), layout_(std::move(layout)) {}

  Frame frame_;
  NdLayout layout_;
};

}  // namespace h5mount::filter::blosc

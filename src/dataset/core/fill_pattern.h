// FillPattern: what unwritten parts of a dataset read as: the fill value repeated, or zeros.
#pragma once

#include <memory>
#include <vector>

#include "h5mount/dataset/pieces.h"
#include "h5mount/object/object.h"

namespace h5mount::dataset {

class FillPattern {
 public:
  FillPattern(const format::FillValue& fill, std::uint64_t element_size);

  // Whether unwritten parts read as zeros. Programs take a hole (SEEK_HOLE) for zeros, so a dataset with
  // another fill value has no holes.
  bool is_zero() const { return pattern_ == nullptr; }

  // Appends pieces for the image bytes [offset, offset + length); the pattern's phase follows from the
  // offset.
  void append(std::uint64_t offset, std::uint64_t length, Pieces& out) const;
  // Writes the same bytes to memory.
  void write(std::uint64_t offset, MutableByteSpan out) const;

 private:
  std::shared_ptr<const std::vector<std::byte>> pattern_;  // whole elements; null: zeros
};

}  // namespace h5mount::dataset

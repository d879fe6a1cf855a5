// What unwritten parts of a dataset read as: the fill value repeated, or zeros.
#pragma once

#include <memory>
#include <vector>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

class FillPattern {
 public:
  FillPattern(const format::FillValue& fill, std::uint64_t element_size);

  // Whether what is unwritten reads as zeros. A program that finds a hole (SEEK_HOLE) takes it for zeros:
  // where it is not, there are no holes.
  bool is_zero() const { return pattern_ == nullptr; }

  // Pieces for image bytes [offset, offset + length); the pattern's phase follows from the offset.
  void append(std::uint64_t offset, std::uint64_t length, Pieces& out) const;
  // The same into memory.
  void write(std::uint64_t offset, MutableByteSpan out) const;

 private:
  std::shared_ptr<const std::vector<std::byte>> pattern_;  // whole elements; null: zeros
};

}  // namespace h5mount::dataset

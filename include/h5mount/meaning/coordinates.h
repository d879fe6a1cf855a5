// The coordinates of a dataset's dimensions: what their dimension scales hold. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/meaning/decoding.h"

namespace h5mount::meaning {

struct Coordinate {
  std::string name;  // of the dimension; may be empty
  object::Object object;
  object::DatasetDescription dataset;  // of one dimension, which is not empty
};

// Of the dimension `axis` of the dataset, as its first scale; nullopt: there is none with a value for each
// position. What is damaged is none; errors are those that are passing.
Result<std::optional<Coordinate>> coordinate_of(const Subject& subject, std::size_t axis);

// The most that are read of one coordinate.
inline constexpr std::uint64_t kMostCoordinates = 1U << 20;

// What conventions say that they are, as doubles; missing ones are NaN where the type has it. Of times that
// have NumPy's form: none.
struct CoordinateNumbers {
  std::vector<double> values;
  bool singles = false;  // they are of single precision
};
// nullopt: more than kMostCoordinates, no numbers, or damaged. `subject`: of the dataset that has the
// coordinate. Errors are those that are passing.
Result<std::optional<CoordinateNumbers>> coordinate_numbers(const Subject& subject, const Coordinate& of);

// The same as texts: times in ISO 8601, the names of flags, numbers. Of at most 64 bytes each.
struct CoordinateTexts {
  std::string text = {};                 // of all, one after the other
  std::vector<std::uint32_t> ends = {};  // of each, in `text`
  bool numbers = false;                  // they are texts of numbers
  std::shared_ptr<const void> charge = {};
};
Result<std::optional<CoordinateTexts>> coordinate_texts(const Subject& subject, const Coordinate& of);

// The coordinate as a dataset of its own that attributes are read of.
Subject subject_of(const Subject& subject, const Coordinate& of);

}  // namespace h5mount::meaning

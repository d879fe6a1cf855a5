// Values compared: of two attributes, and of two datasets chunk by chunk. Private to the module.
//
// Equal are numbers within the tolerance, NaN and NaN, -0.0 and 0.0; strings by their text, whatever length,
// padding and character set; enumerations by name (by number where unnamed); references by the path that they
// lead to; compounds and arrays part by part, variable-length lists element by element. Byte order and
// padding do not matter; class, size and sign of a type do. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "equal_heaps.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/front/diff.h"
#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"
#include "h5mount/tree/file_object.h"

namespace h5mount::front {

// What it costs to read bytes that need no decoding, or to see that they are the same. A read that fails
// costs something too.
constexpr std::uint64_t steps_of_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kSteps = 32, kBytesPerStep = 8;
  return kSteps + bytes / kBytesPerStep;
}

class ElementNode;  // element_node.h

enum class Which : bool { A, B };

// Two values at one place, as JSON; integers are exact.
struct DifferentPlace {
  std::vector<std::uint64_t> index;  // of the element; empty: a scalar
  std::string a, b;                  // empty: longer than kLongestShown
};
inline constexpr std::size_t kLongestShown = 64U << 10;

struct DifferentValues {
  std::uint64_t count = 0;            // of elements
  std::vector<DifferentPlace> first;  // in the order of the elements; at most as many as were asked for
  // Of each side the first error of what could not be compared; the rest was.
  std::optional<Error> failure_a = {}, failure_b = {};
};

// How elements of two types are compared.
class ElementComparison {
 public:
  // Null if a reader can tell the types apart: class, size or sign differ, or members, their names or order,
  // or dimensions of arrays.
  static std::unique_ptr<const ElementComparison> make(format::DatatypePtr a, format::DatatypePtr b,
                                                       const Tolerance& tolerance);
  ~ElementComparison();

  // Whether equal bytes are equal values: the types are the same to the bit, and no part is of variable
  // length, a reference, or an enumeration of other names.
  bool bytes_decide() const;
  const format::Datatype& type_a() const { return *a_; }
  const format::Datatype& type_b() const { return *b_; }

  // The contexts are used for heaps and references, and the first one's budget is charged.
  struct Work {
    const text::ValueContext& a;
    const text::ValueContext& b;
    EqualHeaps heaps = {};
    // Of the first part of each side that could not be read, and was not compared.
    std::optional<Error> failure_a = {}, failure_b = {};
    Which reading = Which::A;  // the side that an error is of
  };
  // Of elements that lie one behind the other, whose numbers count from `first` on: those that differ.
  struct Differing {
    std::uint64_t count = 0;
    std::vector<std::uint64_t> numbers = {};  // ascending, of the first ones
    std::size_t most = 0;                     // numbers to keep
  };
  // As many elements as both spans hold. Adds to `out`. Errors: those of the budget.
  Status compare(ByteSpan a, ByteSpan b, std::uint64_t first, Work& work, Differing& out) const;

 private:
  ElementComparison(format::DatatypePtr a, format::DatatypePtr b, std::unique_ptr<const ElementNode> node);

  const format::DatatypePtr a_, b_;
  const std::unique_ptr<const ElementNode> node_;
};

struct ComparedValues {
  const text::ValueContext& context;
  const object::Attribute& attribute;
};
// Attributes of types that `comparison` compares, and of equal shapes, which are not damaged. Errors: those
// of the budget.
Result<DifferentValues> compare_attributes(const ElementComparison& comparison, const ComparedValues& a,
                                           const ComparedValues& b, std::uint64_t first);

// Datasets of types that `comparison` compares, and of equal shapes. Chunks (or parts) are compared in
// parallel on `workers`. Chunks that are stored in the same bytes under the same pipeline and type are equal
// without being decoded where bytes decide; what neither side ever wrote is equal where the fill values are.
// `budget` is that of all the work for the two files. Errors: those of the budget, and Stale if a file has
// changed meanwhile. `compared_bytes`: as in DiffOptions.
Result<DifferentValues> compare_elements(const ElementComparison& comparison, const tree::FileObject& a,
                                         const tree::FileObject& b, std::uint64_t first,
                                         cache::WorkerPool& workers, RequestBudget& budget,
                                         std::atomic<std::uint64_t>* compared_bytes = nullptr);

}  // namespace h5mount::front

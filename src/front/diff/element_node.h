// What a comparison of elements consists of: a node for each part of the two types, which marks those
// elements of a block that differ in it. Private to compare_values.h. Immutable; threads: any.
#pragma once

#include <memory>
#include <span>

#include "compare_values.h"

namespace h5mount::front {

// The most elements of one block.
inline constexpr std::size_t kBlockElements = 1024;

// Elements at equal distances.
struct Strided {
  const std::byte* at;
  std::size_t step;

  ByteSpan element(std::size_t i, std::size_t bytes) const { return {at + i * step, bytes}; }
  Strided from(std::size_t offset) const { return {at + offset, step}; }
};

class ElementNode {
 public:
  explicit ElementNode(bool bytes_decide) : bytes_decide_(bytes_decide) {}
  virtual ~ElementNode() = default;

  // Whether equal bytes are equal values.
  bool bytes_decide() const { return bytes_decide_; }
  // Sets the marks of the elements that differ to 1, and leaves those of the others. At most kBlockElements.
  // What cannot be read is recorded in `work` and counts as equal. Errors: those of the budget.
  virtual Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
                      ElementComparison::Work& work) const = 0;

 private:
  const bool bytes_decide_;
};
using ElementNodePtr = std::unique_ptr<const ElementNode>;

// Types of one class, which is a kind of number: integers, times, floats and bit fields. Null: their sizes or
// signs differ. The types outlive the node.
ElementNodePtr make_number_node(const format::Datatype& a, const format::Datatype& b,
                                const Tolerance& tolerance);
// References. Null: a reader can tell the kinds apart.
ElementNodePtr make_reference_node(const format::Datatype& a, const format::Datatype& b);
// Compared by what they are as JSON.
ElementNodePtr make_text_node(const format::Datatype& a, const format::Datatype& b);

// Records damage of the side that is being read; what ends the whole comparison is returned.
Status note_failure(const Error& error, ElementComparison::Work& work);

// Marks each element of which `equal`, a Result<bool>, is false. It is called with `work.reading` A, and sets
// that to B before it reads B.
template <class Equal>
Status mark_each(std::span<std::uint8_t> marks, ElementComparison::Work& work, Equal equal) {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    work.reading = Which::A;
    const Result<bool> same = equal(i);
    if (!same)
      H5_TRY(note_failure(same.error(), work));
    else if (!*same)
      marks[i] = 1;
  }
  return {};
}

}  // namespace h5mount::front

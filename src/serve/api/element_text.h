// ElementText: the elements of an array as text, made block by block: as nested JSON arrays, or as rows of
// CSV. Threads: one.
#pragma once

#include <vector>

#include "h5mount/text/number_kind.h"
#include "h5mount/text/value_text.h"

namespace h5mount::serve {

// The dimensions of a dataset with those that an array datatype adds, and the type of the array's elements.
struct FlatType {
  format::DatatypePtr type;
  std::vector<std::uint64_t> dims;  // all dimensions
};
FlatType flat_type(format::DatatypePtr type, std::vector<std::uint64_t> dims);

using text::NumberKind;
using text::with_number;

// The kind of elements in NumberForm::Safe; nullopt for complex numbers and arrays.
std::optional<NumberKind> number_kind(const format::Datatype& type);

class ElementText {
 public:
  enum class Form { Json, Csv };
  // For Csv: there must be at least one element and two dimensions at most, of numbers in the processor's
  // formats or pairs of them.
  ElementText(Form form, FlatType array);

  // An array without elements, as JSON; fails with LimitExceeded if it has too many brackets.
  static Result<std::string> empty(const FlatType& array);

  std::uint64_t elements() const { return count_; }
  const format::Datatype& type() const { return *array_.type; }
  // Appends the next elements, which are in `data`, up to the one with which `most` bytes are added; after
  // the last one the end of the array too. Returns the number of bytes of elements.
  Result<std::size_t> add(ByteSpan data, const text::ValueContext& values, std::size_t most,
                          std::string& out);

 private:
  using Writer = void (*)(const std::byte* element, bool csv, std::string& out);
  static Writer writer_of(const format::Datatype& type);
  void open(std::string& out) const;
  void close(std::string& out);

  const Form form_;
  const FlatType array_;
  const Writer writer_;           // null if there is none for the type
  const format::Datatype* part_;  // type of a complex number's parts, else null
  std::uint64_t count_ = 1;
  std::vector<std::uint64_t> at_;  // position of the next element
};

}  // namespace h5mount::serve

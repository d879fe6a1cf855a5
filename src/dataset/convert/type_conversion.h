// Conversion of elements of any type between two files, for virtual datasets: numbers, strings, enumerations
// and bit fields by ElementConversion; compounds member by member, as their names match; arrays of the same
// shape, complex numbers, and values of variable length by their parts. Members that the source lacks keep
// the bytes that are there before. As in libhdf5.
//
// A value of variable length is a place in a heap of its own file: the converted one is a place that the
// target's file understands (metadata/foreign_heaps.h). Immutable; threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "element_conversion.h"
#include "h5mount/metadata/foreign_heaps.h"

namespace h5mount::dataset {

// The files between which values of variable length are converted.
struct HeapMove {
  format::FileSizes from_sizes = {}, to_sizes = {};
  // Not owned: what is kept in the target's heaps may hold conversions.
  std::weak_ptr<metadata::ForeignHeaps> from_heaps = {}, to_heaps = {};
  bool same_file = false;
  std::string name = {};  // of the source's file: its key among those of the target's
  std::function<Result<std::shared_ptr<metadata::FollowedFile>>()> open = nullptr;
};

class TypeConversion {
 public:
  // Null if there is no conversion.
  static Result<std::shared_ptr<const TypeConversion>> make(const format::DatatypePtr& from,
                                                            const format::DatatypePtr& to,
                                                            const HeapMove& move);

  bool identity() const { return kind_ == Kind::Copy; }
  // Converts `count` elements; the spans hold count * size bytes.
  Status convert(std::size_t count, ByteSpan from, MutableByteSpan to) const;

 private:
  using Ptr = std::shared_ptr<const TypeConversion>;
  enum class Kind { Copy, Atoms, Parts, Variable };
  // `times` values, one behind the other, within an element.
  struct Part {
    std::size_t from_at, to_at, times;
    Ptr conversion;
  };

  TypeConversion(Kind kind, std::size_t from_size, std::size_t to_size)
      : kind_(kind), from_size_(from_size), to_size_(to_size) {}
  static Result<Ptr> make_compound(const format::Datatype& from, const format::Datatype& to,
                                   const HeapMove& move);
  static Result<Ptr> make_repeated(const format::Datatype& from, const format::Datatype& to,
                                   std::size_t times, const HeapMove& move);
  static Result<Ptr> make_variable(const format::Datatype& from, const format::Datatype& to,
                                   const HeapMove& move);
  Status convert_places(std::size_t count, ByteSpan from, MutableByteSpan to) const;
  Result<std::uint64_t> place_in_target(std::uint64_t address) const;

  Kind kind_;
  std::size_t from_size_, to_size_;
  std::optional<ElementConversion> atoms_;
  std::vector<Part> parts_;
  // Variable
  HeapMove move_;
  std::string key_;
  std::function<Result<metadata::GlobalHeapObject>(const metadata::GlobalHeapObject&)> convert_object_;
  std::uint64_t place_ = 0;  // of address 0 of the source's file
};

}  // namespace h5mount::dataset

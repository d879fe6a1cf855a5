// Reads the numbers of a dataset block by block, for computations. Threads: one.
#pragma once

#include <span>

#include "numbers.h"

namespace h5mount::serve {

enum class NumberKind : std::uint8_t { I8, I16, I32, I64, U8, U16, U32, U64, F32, F64 };
// The kind of elements in NumberForm::Safe; nullopt for complex numbers and arrays.
std::optional<NumberKind> number_kind(const format::Datatype& type);

// Calls `use` with a value of the C++ type; only the type of the value has meaning.
template <class Use>
auto with_number(NumberKind kind, Use use) {
  switch (kind) {
    case NumberKind::I8:
      return use(std::int8_t{});
    case NumberKind::I16:
      return use(std::int16_t{});
    case NumberKind::I32:
      return use(std::int32_t{});
    case NumberKind::I64:
      return use(std::int64_t{});
    case NumberKind::U8:
      return use(std::uint8_t{});
    case NumberKind::U16:
      return use(std::uint16_t{});
    case NumberKind::U32:
      return use(std::uint32_t{});
    case NumberKind::U64:
      return use(std::uint64_t{});
    case NumberKind::F32:
      return use(float{});
    case NumberKind::F64:
      break;
  }
  return use(double{});
}

// Charges a step for each byte of `reader`'s elements.
Status spend_on_all(const dataset::DatasetReader& reader, RequestBudget& budget);

// Calls `take` with the numbers in order, in as many parts as needed; Number must be the type of `reader`'s
// elements. All workers decode the storage. Fails at once, with BudgetExceeded, if the request may not go
// through so many bytes.
template <class Number, class Take>
Status for_each_block(const dataset::DatasetReader& reader, RequestWork& work, Take take) {
  constexpr std::uint64_t kBlock = 1U << 20;
  H5_TRY(spend_on_all(reader, work.budget()));
  dataset::ReadPattern pattern;
  std::vector<Number> block(static_cast<std::size_t>(std::min(kBlock, reader.size()) / sizeof(Number)));
  for (std::uint64_t offset = 0; offset < reader.size();) {
    const std::uint64_t length = std::min(block.size() * sizeof(Number), reader.size() - offset);
    const std::span<Number> part(block.data(), static_cast<std::size_t>(length / sizeof(Number)));
    dataset::Pieces pieces;
    H5_TRY(reader.read(offset, length, {&pattern, work.budget()}, pieces));
    if (pieces.total() != length) return fail({ErrorCode::Stale, "the dataset became shorter"});
    H5_TRY(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(part)));
    take(std::span<const Number>(part));
    work.go_on();
    offset += length;
  }
  return {};
}

}  // namespace h5mount::serve

#include "number_blocks.h"

#include <fmt/format.h>

#include <algorithm>

namespace h5mount::serve {

std::optional<NumberKind> number_kind(const format::Datatype& given) {
  const format::Datatype* type = &given;
  while (type->cls == format::DatatypeClass::Array || type->cls == format::DatatypeClass::Enum)
    type = type->base.get();
  if (text::complex_part(*type) != nullptr) return std::nullopt;
  if (type->cls == format::DatatypeClass::Float) {
    if (type->size == 4) return NumberKind::F32;
    return type->size == 8 ? std::optional(NumberKind::F64) : std::nullopt;
  }
  const bool is_signed = type->is_signed;
  switch (type->size) {
    case 1:
      return is_signed ? NumberKind::I8 : NumberKind::U8;
    case 2:
      return is_signed ? NumberKind::I16 : NumberKind::U16;
    case 4:
      return is_signed ? NumberKind::I32 : NumberKind::U32;
    case 8:
      return is_signed ? NumberKind::I64 : NumberKind::U64;
    default:
      return std::nullopt;
  }
}

Status spend_on_all(const dataset::DatasetReader& reader, RequestBudget& budget) {
  // Of many runs only the first are looked at: the others count as if they were written.
  constexpr unsigned kMaxRuns = 4096;
  std::uint64_t bytes = 0, offset = 0;
  for (unsigned i = 0; offset < reader.size() && i < kMaxRuns; ++i) {
    H5_TRY(budget.spend(kStepsPerRun));
    H5_ASSIGN(const dataset::WrittenRun run, reader.written_run(offset, budget));
    if (run.written) bytes += run.end - offset;
    offset = run.end;
  }
  bytes += reader.size() - std::min(offset, reader.size());
  auto spent = budget.spend(bytes);
  if (spent || spent.error().code() != ErrorCode::BudgetExceeded) return spent;
  return fail({ErrorCode::BudgetExceeded,
               fmt::format("a request on a file of this size may not go through {} bytes of elements; "
                           "selection= takes fewer",
                           bytes)});
}

}  // namespace h5mount::serve

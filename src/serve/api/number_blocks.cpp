#include "number_blocks.h"

#include <fmt/format.h>

#include <algorithm>

namespace h5mount::serve {

Status spend_on_all(const dataset::DatasetReader& reader, RequestBudget& budget) {
  // Only the first of many runs are examined: the others count as if they were written.
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

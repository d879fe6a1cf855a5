// One side of a comparison of datasets. Private to compare_values.h.
#pragma once

#include "elements_part.h"
#include "h5mount/dataset/stored_chunks.h"
#include "h5mount/view/view.h"

namespace h5mount::front {

struct ComparedSide {
  ComparedSide(view::ViewInput elements, RequestBudget& work_budget)
      : input(std::move(elements)), context{input.values, work_budget}, budget(work_budget) {
    constexpr std::uint64_t kMostBytes = 1U << 20;
    if (element_size() <= kMostBytes) fill = dataset::fill_element(description());
  }
  ComparedSide(const ComparedSide&) = delete;
  ComparedSide& operator=(const ComparedSide&) = delete;

  const dataset::DatasetReader& reader() const { return *input.reader; }
  const object::DatasetDescription& description() const { return reader().description(); }
  std::uint64_t element_size() const { return description().element_size; }
  const std::shared_ptr<cache::BlockCache>& cache() const { return input.environment.cache; }

  const view::ViewInput input;
  const text::ValueContext context;
  RequestBudget& budget;
  std::vector<std::byte> fill;  // the element that was never written; empty: it is large
};

struct ComparedSides {
  const ElementComparison& comparison;
  const ComparedSide &a, &b;
  cache::WorkerPool& workers;
  ElementsTotal& total;

  ElementsPart part(std::uint64_t from) const {
    return {comparison, a.context, b.context, total.wanted(from)};
  }
};

// Whether what neither side ever wrote is equal; false also if that is not known. Errors: those of the
// budget.
Result<bool> have_same_fill(const ComparedSides& sides);
// Whether the elements lie in the same chunks on both sides, so that these can be compared one by one.
bool have_same_chunks(const ComparedSides& sides);
// The elements [begin, end) of such datasets; fails with UnsupportedFeature if chunks do not begin or end
// there. Other errors: those of the budget.
Status compare_chunks(const ComparedSides& sides, std::uint64_t begin, std::uint64_t end);

}  // namespace h5mount::front

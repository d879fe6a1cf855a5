#include "elements_part.h"

namespace h5mount::front {

Result<DifferentValues> compare_attributes(const ElementComparison& comparison, const ComparedValues& a,
                                           const ComparedValues& b, std::uint64_t first) {
  ElementsPart part(comparison, a.context, b.context, first);
  H5_TRY(part.compare(a.attribute.data, b.attribute.data, [](std::uint64_t i) { return i; }));
  ElementsTotal total(first);
  total.add(std::move(part));
  return std::move(total).result(a.attribute.space);
}

}  // namespace h5mount::front

#include "h5mount/meaning/tables.h"

#include <array>

#include "conventions.h"

namespace h5mount::meaning {

namespace {
// The first that speaks of a group says what it is.
constexpr std::array kTableConventions = {decode_anndata, decode_nwb, decode_pandas};
}  // namespace

Result<std::optional<TableDecoding>> table_of_group(const GroupSubject& subject) {
  for (const auto& decode : kTableConventions) {
    H5_ASSIGN(std::optional<TableDecoding> out, decode(subject));
    if (out) return out;
  }
  return std::nullopt;
}

}  // namespace h5mount::meaning

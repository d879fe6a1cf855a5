#include "h5mount/meaning/decoding.h"

#include <array>

#include "conventions.h"

namespace h5mount::meaning {

namespace {
// The first that speaks of a dataset decodes it.
constexpr std::array kConventions = {decode_matlab, decode_pytables, decode_cf};
}  // namespace

dataset::DerivationPtr Decoding::derivation(const object::DatasetDescription& part,
                                            dataset::ShownAs form) const {
  using enum dataset::ShownAs;
  // Each column of such a table has a member of the row's type, and one for its mask.
  constexpr std::uint64_t kMostColumns = 4096;
  const auto& dims = part.space.dims;
  const std::uint64_t columns = dims.size() == 2 ? dims[1] : 1;
  const bool is_table = !dims.empty() && dims.size() <= 2 && columns > 0 && columns <= kMostColumns;
  if (!is_table && form == TextTable) form = Text;
  if (!is_table && form == ColumnTable) form = Bytes;
  return derivations[static_cast<std::size_t>(form)];
}

Result<std::optional<Decoding>> decoding_of(const Subject& subject) {
  for (const auto& decode : kConventions) {
    H5_ASSIGN(std::optional<Decoding> out, decode(subject));
    if (out) return out;
  }
  return std::nullopt;
}

}  // namespace h5mount::meaning

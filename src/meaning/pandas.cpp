#include "conventions.h"

namespace h5mount::meaning {

Result<std::optional<TableDecoding>> decode_pandas(const GroupSubject&) {
  return std::nullopt;
}

}  // namespace h5mount::meaning

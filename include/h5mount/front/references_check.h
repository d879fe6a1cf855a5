// Holds references that were written earlier (references.h) against their source as it is now.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "h5mount/base/error.h"
#include "h5mount/tree/tree.h"

namespace h5mount::front {

struct ReferenceTotals {
  std::uint64_t arrays = 0, ranges = 0, held = 0;  // that were compared
  std::uint64_t elsewhere = 0;                     // ranges of files that were not asked: chunks at a server
};

struct ReferencesCheck {
  // The tree of a source, by its path or URL. `some_served`: chunks that programs cannot read from its files
  // are at a server, and in its references too (tree::ReferenceOptions).
  std::function<Result<std::shared_ptr<tree::Tree>>(const std::string& source, bool some_served)> open;
  // Something is not as the references say. `path`: of an array, or empty. `wrong`: readers may get other
  // bytes than those of the file; else it is only told.
  std::function<void(const std::string& path, const Error& error, bool wrong)> found;
};

// Fails if the references cannot be read, or their source cannot.
Result<ReferenceTotals> check_references(const std::string& path, const ReferencesCheck& check);

}  // namespace h5mount::front

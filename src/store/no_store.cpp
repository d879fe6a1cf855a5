// The store in a build without SQLite: it cannot be opened.
#include "h5mount/store/catalogue_store.h"

namespace h5mount::store {

Result<std::shared_ptr<tree::CatalogueStore>> open_catalogue_store(const std::string&, const StoreUse&) {
  return fail(
      {ErrorCode::UnsupportedFeature, "this h5mount was built without SQLite, which catalogue= needs"});
}

}  // namespace h5mount::store

// Built instead of the other files if libcurl, expat or nlohmann-json is missing.
#include "h5mount/remote/remote.h"

namespace h5mount::remote {

Result<std::shared_ptr<Client>> Client::make(const Options&) {
  return fail(Error(ErrorCode::UnsupportedFeature,
                    "this h5mount was built without libcurl, expat or nlohmann-json, which URLs need"));
}

}  // namespace h5mount::remote

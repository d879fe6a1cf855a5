// Built instead of the other files if nlohmann-json is missing.
#include "h5mount/front/references.h"

namespace h5mount::front {

namespace {
Status not_built_in() {
  return fail({ErrorCode::UnsupportedFeature,
               "references cannot be read: needs nlohmann-json at build time (nlohmann-json3-dev)"});
}
}  // namespace

Status read_references(const std::string&, ReferenceVisitor&) {
  return not_built_in();
}

Status read_icechunk_references(const ReadReferenceFile&, ReferenceVisitor&) {
  return not_built_in();
}

Status read_json_references(std::string_view, ReferenceVisitor&) {
  return not_built_in();
}

}  // namespace h5mount::front

// The server of a build without libmicrohttpd.
#include "h5mount/serve/server.h"

namespace h5mount::serve {

// NOLINTNEXTLINE(performance-unnecessary-value-param): declared for the server that keeps them
Result<std::unique_ptr<Server>> Server::start(const ServerOptions&, std::vector<SourceToServe>) {
  return fail(Error(ErrorCode::UnsupportedFeature,
                    "this h5mount was built without libmicrohttpd, which --serve needs"));
}

bool can_serve() {
  return false;
}

}  // namespace h5mount::serve

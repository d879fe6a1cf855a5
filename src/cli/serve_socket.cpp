#include "serve_socket.h"

#include "h5mount/survive/keeper.h"

namespace h5mount::cli {

serve::ServerOptions place_of(const ServeCommand& command) {
  serve::ServerOptions out;
  out.address = command.place.address;
  out.port = command.place.port;
  out.socket_path = command.place.socket_path;
  return out;
}

Status take_handed_socket(serve::ServerOptions& options) {
  Status trouble;
  for (const int descriptor : survive::handed_sockets()) {
    const auto handed = serve::describe_listening(options, descriptor);
    if (handed) {
      options.handed_socket = descriptor;
      return {};
    }
    trouble = fail(handed.error());
  }
  return trouble;
}

bool is_open_place(const serve::ServerOptions& options) {
  if (options.socket_path.empty()) return true;
  if (options.handed_socket < 0) return false;
  const auto handed = serve::describe_listening(options, options.handed_socket);
  return !handed || !handed->own_file;
}

}  // namespace h5mount::cli

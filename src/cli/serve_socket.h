// The socket on which a server accepts connections, where others made it: systemd, or a keeper.
#pragma once

#include "h5mount/serve/listener.h"
#include "words/command_line.h"

namespace h5mount::cli {

// The place that the command names.
serve::ServerOptions place_of(const ServeCommand& command);

// If this process was started with sockets (LISTEN_FDS), has the server take the one at the place that
// `options` name. Fails with InvalidValue if none is there.
Status take_handed_socket(serve::ServerOptions& options);

// Whether whoever reaches the place may connect, and not this user alone.
bool is_open_place(const serve::ServerOptions& options);

}  // namespace h5mount::cli

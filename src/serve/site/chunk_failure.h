// The answer to a reader of a Zarr store if a chunk cannot be made. A chunk is made as a whole before
// its head is sent, so that this can still be answered. Several take a failed request for a chunk that was
// never written, and go on with the fill value, or with whatever was in their memory; what each takes for an
// error was measured (docs/man/h5mount-serve.1.md, ZARR STORES). Threads: any.
#pragma once

#include <string_view>

#include "../http/message.h"

namespace h5mount::serve {

// Whether a path, decoded, is that of a chunk in a store below `.h5`, by its form alone.
bool is_chunk_key(std::string_view path);
// The same for the path of a target.
bool asks_for_chunk(const Request& request);

// Replaces an error of this server (500 and above) by an answer that the reader takes for an error: for those
// that fetch as pages do it is the error itself; for all others a complete answer of a size that no chunk
// has. `size`: that of the chunk, if it is known.
Answer chunk_failure(const Request& request, Answer answer, std::optional<std::uint64_t> size = {});

}  // namespace h5mount::serve

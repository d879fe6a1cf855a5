// KeptState: the shared memory of a mount that survives its servers, and what one of these servers keeps in
// it.
#pragma once

#include "kept_handles.h"
#include "kept_nodes.h"
#include "kept_requests.h"

namespace h5mount::fuse {

struct KeptState {
  KeptState(KeptMemory mapped, Blame blame)
      : memory(std::move(mapped)), nodes(memory), handles(memory), requests(memory, nodes, blame) {}

  const KeptMemory memory;
  KeptNodes nodes;
  KeptHandles handles;
  KeptRequests requests;
};

}  // namespace h5mount::fuse

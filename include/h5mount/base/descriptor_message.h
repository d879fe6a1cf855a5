// Messages over a socket of a process with descriptors of this one (SCM_RIGHTS).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/unique_fd.h"

namespace h5mount {

// At most two descriptors. Returns whether all of `bytes` was sent.
bool send_with_descriptors(int socket, std::string_view bytes, const std::vector<int>& descriptors);

struct DescriptorMessage {
  std::string bytes;  // empty: the other end was closed, or the message cannot be received
  std::vector<UniqueFd> descriptors;
};
// Waits for a message of at most `most` bytes.
DescriptorMessage receive_with_descriptors(int socket, std::size_t most);

}  // namespace h5mount

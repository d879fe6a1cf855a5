// The messages between keepers and their servers, each a datagram with descriptors.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "h5mount/base/descriptor_message.h"

namespace h5mount::survive {

// To a server: `Begin`, with the memory and, if there is one, the device, or with the socket, and `Replaced`
// where the SIGTERM that follows makes room for the next server. From a server: the others.
enum class KeeperWord : char { Begin = 'B', Mounted = 'M', Ready = 'R', Replaced = 'N' };

struct KeeperMessage {
  KeeperWord word = KeeperWord::Begin;
  unsigned char detail = 0;  // of Begin: Blame; with --serve, whether a server has answered before
  std::vector<UniqueFd> descriptors;
};

inline bool send_message(int socket, KeeperWord word, unsigned char detail = 0,
                         const std::vector<int>& descriptors = {}) {
  const std::array<char, 2> text{static_cast<char>(word), static_cast<char>(detail)};
  return send_with_descriptors(socket, {text.data(), text.size()}, descriptors);
}

// Returns nullopt if the other process has ended.
inline std::optional<KeeperMessage> receive_message(int socket) {
  DescriptorMessage got = receive_with_descriptors(socket, 2);
  if (got.bytes.size() != 2) return std::nullopt;
  return KeeperMessage{static_cast<KeeperWord>(got.bytes[0]), static_cast<unsigned char>(got.bytes[1]),
                       std::move(got.descriptors)};
}

}  // namespace h5mount::survive

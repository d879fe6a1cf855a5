// The messages between keepers and their servers, each a datagram with descriptors, and those to systemd.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::cli {

// To a server: `Begin`, with the memory and, if there is one, the device, or with the socket, and `Replaced`
// where the SIGTERM that follows makes room for the next server. From a server: the others.
enum class KeeperWord : char { Begin = 'B', Mounted = 'M', Ready = 'R', Replaced = 'N' };

struct KeeperMessage {
  KeeperWord word = KeeperWord::Begin;
  unsigned char detail = 0;  // of Begin: fuse::Blame; with --serve, whether a server has answered before
  std::vector<UniqueFd> descriptors;
};

bool send_message(int socket, KeeperWord word, unsigned char detail, const std::vector<int>& descriptors);
// Returns nullopt if the other process has ended.
std::optional<KeeperMessage> receive_message(int socket);

// Sends a text to systemd if systemd has started this process (sd_notify(3)). Returns whether it was sent.
bool notify_systemd(const std::string& text, std::optional<int> descriptor = std::nullopt);

// The descriptor of that name among those that systemd kept for this process (sd_listen_fds(3)), and their
// number.
std::optional<int> stored_descriptor(const std::string& name);
unsigned count_stored_descriptors();
// Those of them that are no keeper's: sockets of a socket unit.
std::vector<int> handed_sockets();

inline constexpr const char* kDeviceName = "h5mount-device";
inline constexpr const char* kMemoryName = "h5mount-memory";

}  // namespace h5mount::cli

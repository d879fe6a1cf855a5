// What systemd hands to a process that it starts, and what the process tells it (sd_listen_fds(3),
// sd_notify(3)).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace h5mount::survive {

// Sends a text to systemd if it has started this process. Returns whether it was sent.
bool notify_systemd(const std::string& text, std::optional<int> descriptor = std::nullopt);

// The descriptors that systemd kept or opened for this process, with their names, which may be empty.
struct StoredDescriptor {
  int number;
  std::string name;
};
std::vector<StoredDescriptor> stored_descriptors();

}  // namespace h5mount::survive

// The protocol between parent and helper over one stream socket, in native byte order.
//
//   helper, once  Reply (greeting), then `bytes` bytes: the plugin's name, or why there is none
//   program       Request, `value_count` values (4 bytes each), `bytes` stored bytes
//   helper        Reply, `bytes` decoded bytes
#pragma once

#include <cstdint>

namespace h5mount::filter {

inline constexpr char kHelperName[] =
    "h5mount-filter-plugin";  // argv[0]; then id, memory, seconds, directories
inline constexpr std::uint32_t kMaxPluginValues = 65'536;
inline constexpr std::uint64_t kMaxGreeting = 4'096;

struct PluginRequest {
  std::uint64_t bytes = 0;
  std::uint64_t most = 0;  // maximum number of decoded bytes
  std::uint32_t value_count = 0;
  std::uint32_t unused = 0;
};

enum class PluginAnswer : std::uint64_t { Done = 0, NotFound = 1, Failed = 2, TooLong = 3 };

struct PluginReply {
  PluginAnswer answer = PluginAnswer::Failed;
  std::uint64_t bytes = 0;
};

}  // namespace h5mount::filter

// The binary interface of HDF5 filter plugins: two exported functions, and a table that the second returns.
//
//   H5PLget_plugin_type   0: a filter
//   H5PLget_plugin_info   its table
#pragma once

#include <cstddef>

namespace h5mount::filter {

inline constexpr int kPluginTypeFilter = 0;
inline constexpr unsigned kPluginReverse = 0x0100;  // decode

// Replaces *buffer (allocated by malloc) by the decoded bytes, sets *buffer_size to its capacity and returns
// the number of bytes; 0 on failure.
using PluginFunction = std::size_t (*)(unsigned flags, std::size_t value_count, const unsigned* values,
                                       std::size_t bytes, std::size_t* buffer_size, void** buffer);

struct PluginTable {
  int version;
  int id;
  unsigned encoder_present;
  unsigned decoder_present;
  const char* name;
  void* can_apply;
  void* set_local;
  PluginFunction filter;
};

using PluginTypeFunction = int (*)();
using PluginInfoFunction = const void* (*)();

}  // namespace h5mount::filter

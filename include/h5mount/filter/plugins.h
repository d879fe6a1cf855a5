// Filter plugins: shared objects with HDF5's own plugin interface that the user already has, for filters that
// this program does not know. Off unless the user names directories; never steered by a file, which only says
// a number.
//
// Plugins in the field read and write out of bounds on bad input, so none is loaded into this process: a
// helper (this program once more, under another name) loads the one that has the number, gives up everything
// but memory and one socket, and decodes one chunk after the other. One that crashes, hangs or gives too much
// costs that chunk (FilterFailed) and is replaced. As many helpers run at once as threads decode.
//
// Threads: use_filter_plugins before any pipeline is made; the rest is the registry's.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace h5mount::filter {

struct PluginOptions {
  std::vector<std::string> directories;        // absolute; searched in order, each in the order of its names
  std::string helper = "/proc/self/exe";       // a program whose main calls is_plugin_helper first
  std::chrono::milliseconds patience{10'000};  // for one chunk
};

// From now on filters that the registry cannot decode are looked for there. Without directories: nowhere.
void use_filter_plugins(PluginOptions options);

// Whether this process was started to be a helper; main then returns run_plugin_helper.
bool is_plugin_helper(int count, const char* const* words);
int run_plugin_helper(int count, const char* const* words);

}  // namespace h5mount::filter

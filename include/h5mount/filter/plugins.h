// Filter plugins: shared objects with HDF5's plugin interface, for filters that this program does not
// implement. Disabled unless the user names directories. A file can only name a filter id, never a path.
//
// Existing plugins read and write out of bounds on invalid input, so none is loaded into this process. A
// helper process (this executable with another argv[0]) loads the plugin with the id, drops every right but
// memory, threads and one socket, and decodes one chunk after the other. If the helper crashes, hangs or
// returns too many bytes, that chunk fails (FilterFailed) and the helper is replaced. Each decoding thread
// has its own helper.
//
// Threads: call use_filter_plugins before the first pipeline is made, and not concurrently.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace h5mount::filter {

struct PluginOptions {
  std::vector<std::string> directories;       // absolute; searched in this order, files by name
  std::string helper = "/proc/self/exe";      // a program whose main calls is_plugin_helper first
  std::chrono::milliseconds timeout{10'000};  // for decoding one chunk
};

// Makes the registry search these directories for filters that it cannot decode. Without directories plugins
// are disabled.
void use_filter_plugins(PluginOptions options);

// While it lives, no pipeline that its thread makes starts a plugin: such filters count as not available.
class WithoutPlugins {
 public:
  WithoutPlugins() { ++depth(); }
  ~WithoutPlugins() { --depth(); }
  WithoutPlugins(const WithoutPlugins&) = delete;
  WithoutPlugins& operator=(const WithoutPlugins&) = delete;
  static bool in_force() { return depth() > 0; }

 private:
  static unsigned& depth() {
    static thread_local unsigned one = 0;
    return one;
  }
};

// Whether this process was started as a helper; main must then return run_plugin_helper.
bool is_plugin_helper(int count, const char* const* words);
int run_plugin_helper(int count, const char* const* words);

}  // namespace h5mount::filter

// The helper process: drops its rights, loads the plugin, drops the rights that loading needed, and decodes
// until the socket is closed. Third-party plugin code runs only here, and never with more rights than that.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "abi.h"
#include "confine.h"
#include "h5mount/filter/plugins.h"
#include "protocol.h"

namespace h5mount::filter {

namespace {

constexpr int kSocket = 0;

bool read_all(void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::read(kSocket, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool write_all(const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = ::write(kSocket, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool answer(PluginAnswer what, const void* data = nullptr, std::size_t bytes = 0) {
  const PluginReply reply{what, bytes};
  return write_all(&reply, sizeof reply) && write_all(data, bytes);
}

template <class Function>
Function symbol(void* library, const char* name) {
  return std::bit_cast<Function>(::dlsym(library, name));
}

// The table of a shared object, if it is a plugin for `id` that can decode; else null.
const PluginTable* load_plugin(const std::string& path, int id) {
  void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto type = symbol<PluginTypeFunction>(library, "H5PLget_plugin_type");
  const auto info = symbol<PluginInfoFunction>(library, "H5PLget_plugin_info");
  if (type != nullptr && info != nullptr && type() == kPluginTypeFilter) {
    const auto* table = static_cast<const PluginTable*>(info());
    if (table != nullptr && table->version == 1 && table->id == id && table->filter != nullptr) return table;
  }
  ::dlclose(library);
  return nullptr;
}

// A shared object in the directories, opened before the rights to do so are dropped.
struct Candidate {
  std::string path;
  int descriptor;
};

std::vector<Candidate> find_candidates(int count, const char* const* directories) {
  namespace fs = std::filesystem;
  std::vector<Candidate> candidates;
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> paths;
    std::error_code trouble;
    for (const fs::directory_entry& entry : fs::directory_iterator(directories[i], trouble)) {
      const std::string name = entry.path().filename();
      if (name.ends_with(".so") || name.find(".so.") != std::string::npos) paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    for (std::string& path : paths) {
      const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      candidates.push_back({std::move(path), descriptor});
    }
  }
  return candidates;
}

// Loads a plugin by its name, as its dependencies may be relative to it; if the user nobody may not use the
// name, by its descriptor.
const PluginTable* find_plugin(int id, const std::vector<Candidate>& candidates) {
  for (const auto& [path, descriptor] : candidates) {
    if (const PluginTable* table = load_plugin(path, id)) return table;
    if (descriptor < 0 || ::access(path.c_str(), R_OK) == 0) continue;
    if (const PluginTable* table = load_plugin("/proc/self/fd/" + std::to_string(descriptor), id))
      return table;
  }
  return nullptr;
}

[[noreturn]] void refuse() {
  constexpr std::string_view kWhy = "the kernel does not let a plugin be confined";
  answer(PluginAnswer::Failed, kWhy.data(), kWhy.size());
  ::_exit(1);
}

// Ends this process after `seconds`. The parent waits no longer than that; if the parent has died, nothing
// else would end a hanging plugin.
void end_after(long seconds) {
  itimerval when{};
  when.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_REAL, &when, nullptr);
}

// Decodes one chunk. Returns false if the socket was closed.
bool serve_one(const PluginTable& plugin, long seconds) {
  PluginRequest request;
  if (!read_all(&request, sizeof request) || request.value_count > kMaxPluginValues) return false;
  std::vector<unsigned> values(request.value_count);
  if (!read_all(values.data(), values.size() * sizeof(unsigned))) return false;
  std::size_t capacity = std::max<std::size_t>(1, request.bytes);
  void* buffer = std::malloc(capacity);
  if (buffer == nullptr || !read_all(buffer, request.bytes)) return false;
  end_after(seconds);
  const std::size_t bytes =
      plugin.filter(kPluginReverse, values.size(), values.data(), request.bytes, &capacity, &buffer);
  end_after(0);
  bool said = false;
  if (bytes == 0 || buffer == nullptr)
    said = answer(PluginAnswer::Failed);
  else if (bytes > request.most ||
           bytes > ::malloc_usable_size(buffer))  // some plugins set a wrong `capacity`
    said = answer(PluginAnswer::TooLong);
  else
    said = answer(PluginAnswer::Done, buffer, bytes);
  std::free(buffer);
  return said;
}

}  // namespace

bool is_plugin_helper(int count, const char* const* words) {
  return count >= 4 && std::string_view(words[0]) == kHelperName;
}

// Ends the process with _exit, as destructors could run the plugin's code.
int run_plugin_helper(int count, const char* const* words) {
  const int id = std::atoi(words[1]);
  const std::uint64_t memory = std::strtoull(words[2], nullptr, 10);
  const long seconds = std::max(1L, std::strtol(words[3], nullptr, 10));
  close_all_else();
  end_after(seconds);  // loading a plugin runs its code, which may hang as well
  const std::vector<Candidate> candidates = find_candidates(count - 4, words + 4);
  if (!confine_loading(memory)) refuse();
  const PluginTable* const plugin = find_plugin(id, candidates);
  end_after(0);
  if (plugin == nullptr) {
    answer(PluginAnswer::NotFound);
    ::_exit(0);
  }
  if (!confine(memory)) refuse();
  const std::string_view name = plugin->name != nullptr ? plugin->name : "";
  bool more = answer(PluginAnswer::Done, name.data(), std::min<std::size_t>(name.size(), 256));
  while (more) more = serve_one(*plugin, seconds);
  ::_exit(0);
}

}  // namespace h5mount::filter

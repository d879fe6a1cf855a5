#include "h5mount/base/late_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "h5mount/base/log.h"

namespace h5mount {

Status LateLibrary::load() {
  if (library_.load() != nullptr) return {};
  library_ = ::dlopen(soname_, RTLD_NOW | RTLD_LOCAL);
  if (library_.load() != nullptr) return {};
  const char* const why = ::dlerror();
  return fail(Error(ErrorCode::UnsupportedFeature,
                    fmt::format("a library is missing: {}", why != nullptr ? why : soname_)));
}

void* LateLibrary::function(const char* name) {
  void* const found = load() ? ::dlsym(library_.load(), name) : nullptr;
  if (found == nullptr) {
    log(LogLevel::Error, "{} has no function {}", soname_, name);
    std::abort();
  }
  return found;
}

}  // namespace h5mount

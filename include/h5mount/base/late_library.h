// LateLibrary: a shared library that is loaded when it is first needed, and not with the program. To load
// libcurl and its own libraries takes 4 of the 8 ms that a program with all libraries starts in,
// libmicrohttpd and libcrypto more than 1 ms each, and most runs use none of them. So `h5mount --version`
// takes 2.5 ms of processor time, where it took 9 with all libraries.
//
// The library's functions are also defined in this program, by H5_LATE_FUNCTION, and call the library's own:
// so its header is used as ever, by callers who have called `load` before.
#pragma once

#include <atomic>

#include "h5mount/base/error.h"

namespace h5mount {

// Threads: any. A library is never unloaded.
class LateLibrary {
 public:
  explicit LateLibrary(const char* soname) : soname_(soname) {}

  // Loads the library unless it is loaded. Errors: UnsupportedFeature, in the words of the dynamic loader.
  // After an error the next call tries again.
  Status load();

  // A function of the library, which is loaded if it was not; ends the program if it or the library is
  // missing.
  void* function(const char* name);

 private:
  const char* const soname_;
  std::atomic<void*> library_ = nullptr;
};

}  // namespace h5mount

// Defines `result name parameters` as a call of the library's own function. `parameters` and `arguments` are
// in parentheses.

// NOLINTBEGIN(bugprone-macro-parentheses,cppcoreguidelines-macro-usage): the names of a definition
#define H5_LATE_FUNCTION(library, result, name, parameters, arguments)                      \
  result name parameters {                                                                  \
    static auto* const real = reinterpret_cast<decltype(&name)>((library).function(#name)); \
    return real arguments;                                                                  \
  }
// NOLINTEND(bugprone-macro-parentheses,cppcoreguidelines-macro-usage)

// Exit codes of errors. mount(8) passes exit codes on, so they have the same meaning as its own:
// 1 is "incorrect invocation or permissions", so it also stands for a file that is missing or cannot be read
// (66, EX_NOINPUT, would be the bits "some mount succeeded" and "system error"); 32 is "mount failure".
#pragma once

#include <string>

#include "h5mount/base/error.h"

namespace h5mount::cli {

inline constexpr int kExitUsage = 1;
inline constexpr int kExitUnreadable = 1;
inline constexpr int kExitPartial = 1;  // without a mount: something could not be read or written
inline constexpr int kExitBadFile = 2;
inline constexpr int kExitMountFailed = 32;
inline constexpr int kExitDifferent = 1,
                     kExitDiffTrouble = 2;  // of --diff, as of diff(1), whatever the trouble

// Whether such an error of opening FILE says nothing of its content: it could not be read, or had better not
// be.
bool cannot_be_read(const Error& error);
// The exit code of a program that ends with such an error: that of the verdict, if a policy refuses FILE.
int exit_code_of(const Error& error);

// Prints `h5mount: FILE: words` on stderr. Returns `code`, for a program that ends with it.
int print_error(const std::string& about, const std::string& words, int code = kExitUsage,
                const char* program = "h5mount");

}  // namespace h5mount::cli

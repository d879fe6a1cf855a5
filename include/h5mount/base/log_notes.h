// Lines of the log in memory (/.h5/log) that record the conditions under which the program runs. They are
// printed nowhere else, whatever the log level is. Threads: any.
#pragma once

#include <string_view>

namespace h5mount {

void note_in_log(std::string_view text);

}  // namespace h5mount

// The answer that a person gets where something cannot be shown.
#pragma once

#include "message.h"

namespace h5mount::serve {

// An error's line of text becomes a page for clients that name text/html: it says what was asked for and
// leads back. All other answers stay. `path`: as asked for, decoded; `root`: as in NodeRequest.
Answer problem_answer(const Request& request, Answer answer, std::string_view path, const std::string& root);

}  // namespace h5mount::serve

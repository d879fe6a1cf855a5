// The page that tells a person why something cannot be shown.
#pragma once

#include "../http/message.h"

namespace h5mount::serve {

// Makes an error's line of text a page for clients that name text/html: it says what was asked for and leads
// back. All other answers are returned as they are. `path` is the requested one, decoded; `root` is as in
// NodeRequest.
Answer problem_answer(const Request& request, Answer answer, std::string_view path, const std::string& root);

}  // namespace h5mount::serve

// The common parts of all answers that show a state: validators, the request's conditions, and compression.
// Threads: any.
#pragma once

#include <optional>
#include <string>

#include "conditions.h"
#include "message.h"

namespace h5mount::serve {

// The validators of an answer, and the answer that the request's conditions ask for instead, if they do.
void add_validators(const Validators& validators, Answer& answer);
std::optional<Answer> conditional_answer(const Request& request, const Validators& validators);

// Sets the fields that all listings and pages have, and compresses them if the client accepts that.
Answer listing_answer(const Request& request, BodyPtr body, bool json, std::string etag, RequestWork& work);

}  // namespace h5mount::serve

// What all answers have in common that show a state of something: validators, the request's conditions, and
// compression. Threads: any.
#pragma once

#include <optional>
#include <string>

#include "conditions.h"
#include "message.h"

namespace h5mount::serve {

// Validators of an answer, and the answer instead of it that the request's conditions ask for.
void add_validators(const Validators& validators, Answer& answer);
std::optional<Answer> conditional_answer(const Request& request, const Validators& validators);

// Sets what all listings and pages have, and compresses them where the client takes that.
Answer listing_answer(const Request& request, BodyPtr body, bool json, std::string etag, RequestWork& work);

}  // namespace h5mount::serve

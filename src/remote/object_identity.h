// What tells one object of a server, at one version, from every other.
#pragma once

#include <string>

#include "far_object.h"

namespace h5mount::remote {

// The URL without its user and what signs it, validators and length; a text of any length, which may be
// secret. Empty where the server does not say which version it is: a weak tag may name several, and a time
// with which an object may still be written again.
std::string object_identity(const FarObject& object);
// The URL's part of it.
std::string unsigned_url(const Url& url);

}  // namespace h5mount::remote

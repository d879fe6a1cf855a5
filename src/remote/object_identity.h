// The identity of one version of one object of a server.
#pragma once

#include <string>

#include "far_object.h"

namespace h5mount::remote {

// The URL without its user and signature, the validators and the length; a text of any length, which may be
// secret. Empty if the server does not state the version precisely: several versions may have the same weak
// tag, or a time at which the object may still be written.
std::string object_identity(const FarObject& object);
// Whether the server states the version precisely.
bool tells_versions(const Version& version);
// The part of the identity that comes from the URL.
std::string unsigned_url(const Url& url);

}  // namespace h5mount::remote

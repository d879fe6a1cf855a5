// Requests to services that issue credentials, and the answers of these and of programs. Threads: pure
// functions.
#pragma once

#include <optional>
#include <string>

#include "../transport/transfers.h"
#include "h5mount/remote/url.h"
#include "h5mount/sign/signature_v4.h"

namespace h5mount::remote {

struct Issued {
  sign::Credentials credentials;
  std::int64_t expires = 0;  // seconds since 1970; 0: not known
};

// Reads credentials; returns nullopt if the text has none. `token` is the name of the session token, which
// differs.
std::optional<Issued> credentials_of_json(const std::string& text, const std::string& token);
std::optional<Issued> credentials_of_xml(const std::string& text);

// The fields that sign a POST of a form to STS.
Result<Fields> sign_form(const Url& at, const HttpRequest& request, const sign::Credentials& signer,
                         const std::string& region);

// Whether a service at that URL may be asked for credentials: by https, or at the addresses of this machine
// and of the container services.
bool may_give_credentials(const Url& at);

}  // namespace h5mount::remote

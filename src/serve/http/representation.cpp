#include "representation.h"

#include <ctime>

#include "fields.h"
#include "h5mount/base/deflate.h"

namespace h5mount::serve {
namespace {

constexpr std::size_t kMinCompressed = 1024;
}  // namespace

void add_validators(const Validators& validators, Answer& answer) {
  if (!validators.etag.empty()) answer.add("ETag", (validators.weak ? "W/" : "") + validators.etag);
  if (validators.modified) answer.add("Last-Modified", format_date(*validators.modified));
  answer.add("Cache-Control", "no-cache");
}

// The answer to be sent instead of the representation, if the request's conditions ask for one.
std::optional<Answer> conditional_answer(const Request& request, const Validators& validators) {
  switch (evaluate(request.conditions, validators, std::time(nullptr))) {
    case Verdict::Proceed:
      return std::nullopt;
    case Verdict::PreconditionFailed:
      return plain_answer(412, "the file is another one, or has changed");
    case Verdict::NotModified:
      break;
  }
  Answer out;
  out.status = 304;
  add_validators(validators, out);
  return out;
}

Answer listing_answer(const Request& request, BodyPtr body, bool json, std::string etag, RequestWork& work) {
  const bool whole = body->size().has_value() && *body->size() >= kMinCompressed;
  const bool compress = whole && request.accepts_gzip;
  if (compress && !etag.empty()) {
    etag.pop_back();  // its last quote
    etag += "z\"";
  }
  // The tag is weak, as a listing contains sizes as soon as they are known.
  const Validators validators{etag, std::nullopt, true};
  Answer out;
  if (auto instead = conditional_answer(request, validators)) {
    out = *std::move(instead);
  } else {
    add_validators(validators, out);
    out.add("Content-Type", json ? "application/json" : "text/html; charset=utf-8");
    out.body = std::move(body);
    if (compress) {
      auto text = read_all(*out.body, work);
      if (!text) return error_answer(text.error());
      auto small = to_gzip(*text);
      if (small) out.add("Content-Encoding", "gzip");
      out.body = make_text_body(small ? *std::move(small) : *std::move(text));
    }
  }
  out.add("Vary", "Accept, Accept-Encoding");
  return out;
}

}  // namespace h5mount::serve

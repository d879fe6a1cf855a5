#include "conditions.h"

#include "fields.h"
#include "h5mount/base/text.h"

namespace h5mount::serve {
namespace {

// Dates have a resolution of a second, so two writes within one second have the same date. A date is
// therefore not used until this many seconds have passed.
constexpr std::time_t kDateSettles = 2;

bool matches_list(std::string_view list, std::string_view etag, bool weak_too) {
  if (trim(list) == "*") return true;
  bool found = false;
  for_each_item(list, [&](std::string_view item) {
    if (weak_too && item.starts_with("W/")) item.remove_prefix(2);
    found = found || (!etag.empty() && item == etag);
  });
  return found;
}

}  // namespace

Verdict evaluate(const Conditions& conditions, const Validators& validators, std::time_t now) {
  if (conditions.if_match) {
    const std::string etag = validators.weak ? std::string() : validators.etag;
    if (!matches_list(*conditions.if_match, etag, false)) return Verdict::PreconditionFailed;
  } else if (conditions.if_unmodified_since && validators.modified) {
    const auto date = parse_date(*conditions.if_unmodified_since);
    if (date && *validators.modified > *date) return Verdict::PreconditionFailed;
  }
  if (conditions.if_none_match)
    return matches_list(*conditions.if_none_match, validators.etag, true) ? Verdict::NotModified
                                                                          : Verdict::Proceed;
  if (conditions.if_modified_since && validators.modified) {
    const auto date = parse_date(*conditions.if_modified_since);
    const bool settled = *validators.modified + kDateSettles <= now;
    if (date && settled && *validators.modified <= *date) return Verdict::NotModified;
  }
  return Verdict::Proceed;
}

bool range_applies(const std::optional<std::string>& if_range, const Validators& validators,
                   std::time_t now) {
  if (!if_range) return true;
  const std::string_view value = trim(*if_range);
  if (value.starts_with('"')) return value == validators.etag && !validators.weak;
  const auto date = parse_date(value);
  return date && validators.modified && *date == *validators.modified &&
         *validators.modified + kDateSettles <= now;
}

}  // namespace h5mount::serve

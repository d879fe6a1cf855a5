#include "policy_word.h"

namespace h5mount::cli {

Result<std::shared_ptr<const check::Policy>> policy_of_word(const std::string& word, SalvageMode salvage) {
  auto policy = check::read_policy(word);
  if (!policy) return fail({ErrorCode::InvalidValue, policy.error().text()});
  if (salvage != SalvageMode::Off)
    return fail({ErrorCode::InvalidValue, "policy= refuses what is damaged, so salvage does not go with it"});
  return std::make_shared<const check::Policy>(*std::move(policy));
}

}  // namespace h5mount::cli

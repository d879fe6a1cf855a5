#include "policy_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "h5mount/base/hash.h"
#include "h5mount/base/log.h"
#include "h5mount/base/lru_cache.h"
#include "h5mount/check/verdict.h"
#include "h5mount/object/named_places.h"

namespace h5mount::cli {
namespace {

Error refusal(const check::Verdict& verdict, const check::Policy& policy) {
  if (verdict.code == check::VerdictCode::CouldNotRun)
    return {ErrorCode::Io, verdict.findings.front().text()};
  return refused_error(static_cast<int>(verdict.code),
                       fmt::format("refused by policy {}: {}", policy.name, verdict.findings.front().text()));
}

void log_warnings(const std::string& file, const check::Verdict& verdict, const check::Policy& policy) {
  constexpr std::size_t kMostLogged = 16;
  const std::size_t logged = std::min(verdict.findings.size(), kMostLogged);
  for (std::size_t i = 0; i < logged; ++i)
    log(LogLevel::Warning, "{}: policy {}: {}", file, policy.name, verdict.findings[i].text());
  if (const std::uint64_t more = verdict.findings.size() - logged + verdict.left_out; more > 0)
    log(LogLevel::Warning, "{}: policy {}: and {} more findings", file, policy.name, more);
}

// Files that were refused: a mount that may be reloaded and a server try the same one again and again.
struct RefusedFile {
  PolicyPtr policy;
  std::string name;
  io::SourceStamp stamp;
  Error why;
};

LruCache<RefusedFile>& refused_files() {
  constexpr std::size_t kBytes = 1U << 20;
  static auto* const files = new LruCache<RefusedFile>(kBytes);
  return *files;
}

check::AllowedNames allowed_names(const check::Policy& policy, object::NameUse use) {
  return use == object::NameUse::Link            ? policy.allow_external_links
         : use == object::NameUse::VirtualSource ? policy.allow_vds
                                                 : policy.allow_external_storage;
}

class JudgingOpener final : public object::SourceOpener {
 public:
  JudgingOpener(std::shared_ptr<object::SourceOpener> inner, PolicyPtr policy)
      : inner_(std::move(inner)), policy_(std::move(policy)) {}

  Result<object::FoundSource> find_main(const std::string& name) override { return inner_->find_main(name); }
  // A file that is written to while it is shown may come to name what it did not when it was judged.
  Result<object::FoundSource> find_named(const object::OpenedFile& from, std::string_view name,
                                         object::NameUse use) const override {
    const check::AllowedNames allowed = allowed_names(*policy_, use);
    const bool refused =
        allowed == check::AllowedNames::None ||
        (allowed == check::AllowedNames::Beneath && !object::NamedPlaces(from).is_beneath(std::string(name)));
    if (refused)
      return fail(
          {ErrorCode::AccessDenied, fmt::format("{} is not opened (policy {})", name, policy_->name)});
    return inner_->find_named(from, name, use);
  }
  const object::ExternalAccess& access() const override { return inner_->access(); }

  Status admit(const object::OpenedFilePtr& file) const override {
    const std::string name = file->followed->source()->name();
    const auto stamp = file->followed->source()->state().stamp();
    const std::uint64_t key = fnv1a(name);
    const auto before = refused_files().find(key);
    if (before && stamp && before->stamp == *stamp && before->name == name && before->policy == policy_)
      return fail(before->why);
    const check::Verdict verdict = check::judge_file(file, *policy_, {.quick = true});
    if (!verdict.refused()) return log_warnings(name, verdict, *policy_), Status{};
    const Error why = refusal(verdict, *policy_);
    if (stamp && why.verdict() != 0 && !file->followed->source()->far())
      refused_files().insert(key, std::make_shared<const RefusedFile>(policy_, name, *stamp, why),
                             sizeof(RefusedFile) + name.size() + why.text().size());
    return fail(why);
  }

 private:
  const std::shared_ptr<object::SourceOpener> inner_;
  const PolicyPtr policy_;
};

}  // namespace

std::shared_ptr<object::SourceOpener> make_judging_opener(std::shared_ptr<object::SourceOpener> inner,
                                                          PolicyPtr policy) {
  if (!policy) return inner;
  return std::make_shared<JudgingOpener>(std::move(inner), std::move(policy));
}

Error judged_error(const Error& why, const PolicyPtr& policy) {
  if (!policy || !is_about_bytes(why.code())) return why;
  return refusal(check::verdict_of_unopened(why), *policy);
}

}  // namespace h5mount::cli

#include <array>
#include <set>

#include "../http/gradual_body.h"
#include "api.h"
#include "h5mount/base/advice.h"
#include "h5mount/text/json_writer.h"

namespace h5mount::serve {
namespace {

constexpr std::uint64_t kStepsPerPath = 500;
constexpr std::size_t kMaxDepth = 10'000;

// The paths of a group and of all links below it, depth first: a group that several hard links lead to is
// entered once.
class PathsBody final : public GradualBody {
 public:
  PathsBody(const ApiRequest& request, const Entity& base, LinkResolution resolution)
      : snapshot_(request.snapshot), base_(base), path_(base.path), resolution_(resolution) {}

 private:
  struct Level {
    tree::FileObjectPtr group;
    tree::LinkListPtr links;
    std::size_t next, path_bytes;
  };

  Status add_next(std::string& out, RequestWork& work) override {
    RequestBudget& budget = work.budget();
    H5_TRY(budget.spend(kStepsPerPath + path_.size()));
    if (levels_.empty()) {
      out += '[';
      text::append_json_string(path_, out);
      while (path_.ends_with('/')) path_.pop_back();
      return enter(base_.object, budget);
    }
    Level& level = levels_.back();
    path_.resize(level.path_bytes);
    if (level.next == level.links->size()) return leave(out);
    const format::Link link = level.links->at(level.next++);
    path_ += '/';
    path_ += link.name;
    out += ',';
    text::append_json_string(path_, out);
    if (!link.is(format::LinkType::Hard)) return check(level, link.name, budget);
    const auto object = level.group->follow(link, budget);
    if (!object) return is_passing(object.error()) ? Status(fail(object.error())) : Status();
    return (*object)->object().kind == object::ObjectKind::Group ? enter(*object, budget) : Status();
  }

  Status enter(const tree::FileObjectPtr& group, RequestBudget& budget) {
    const object::Object& object = group->object();
    const bool entered = object.header->reference_count > 1 && !entered_.insert(object.address).second;
    if (entered) return {};
    if (levels_.size() == kMaxDepth) return fail({ErrorCode::LimitExceeded, "groups are nested too deeply"});
    H5_ASSIGN(auto links, group->links(budget));
    levels_.push_back({group, std::move(links), 0, path_.size()});
    return {};
  }

  // If some links of a group cannot be read, the answer ends with an error: it must not look complete.
  Status leave(std::string& out) {
    if (const Error* const damage = levels_.back().links->damage()) return fail(*damage);
    levels_.pop_back();
    if (levels_.empty()) {
      out += ']';
      end();
    }
    return {};
  }

  Status check(const Level& level, const std::string& name, RequestBudget& budget) const {
    if (resolution_ != LinkResolution::All) return {};
    H5_ASSIGN(const format::Link link, level.group->find_link(name, budget));
    const auto object = follow_shown(*snapshot_, *level.group, link, budget);
    if (object || is_passing(object.error())) return object ? Status() : fail(object.error());
    return fail({ErrorCode::NotFound,
                 "Cannot resolve the link at " + path_ + ": " + text_with_advice(object.error())});
  }

  Status confirm() override { return confirm_unchanged(*base_.object); }

  const std::shared_ptr<const Snapshot> snapshot_;
  const Entity base_;
  std::string path_;
  const LinkResolution resolution_;
  std::vector<Level> levels_;
  std::set<std::uint64_t> entered_;  // the addresses of groups that several links lead to
};

Status read_to_end(Body& body, RequestWork& work) {
  std::array<std::byte, 16384> buffer;
  for (;;) {
    H5_ASSIGN(const std::size_t count, body.read(buffer, work));
    if (count == 0) return {};
  }
}

}  // namespace

Result<Answer> answer_paths(const ApiRequest& request) {
  H5_ASSIGN(const LinkResolution resolution, link_resolution(request.query));
  H5_ASSIGN(const Entity entity, find_object(request));
  if (entity.object->object().kind != object::ObjectKind::Group)
    return fail(refused(entity.path + " is not a group"));
  const auto make = [&] { return std::make_unique<PathsBody>(request, entity, resolution); };
  // A link that leads nowhere must be an error, which the status tells, so all links are followed before the
  // answer begins.
  if (resolution == LinkResolution::All) {
    auto trial = make();
    H5_TRY(trial->begin(request.work));
    H5_TRY(read_to_end(*trial, request.work));
  }
  auto body = make();
  H5_TRY(body->begin(request.work));
  const bool own = entity.object->is_of_main_file() && resolution != LinkResolution::All;
  return described(request, std::move(body), "application/json", own);
}

}  // namespace h5mount::serve

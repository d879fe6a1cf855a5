#include <fmt/format.h>

#include "../http/gradual_body.h"
#include "entity_json.h"

namespace h5mount::serve {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::uint64_t kStepsPerChild = 1000;

// The last name of a path as it was given.
std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// A body that describes a group and its children. Links within the file and to other files are resolved if
// possible.
class GroupBody final : public GradualBody {
 public:
  GroupBody(const ApiRequest& request, const Entity& entity, tree::LinkListPtr links)
      : snapshot_(request.snapshot),
        group_(entity.object),
        links_(std::move(links)),
        name_(last_name(entity.path)),
        own_(group_->is_of_main_file()) {}

  // Whether everything so far was made from the source's file alone.
  bool is_own_so_far() const { return own_; }
  // Whether something could not be read, which may be read the next time.
  bool is_damaged_so_far() const { return damaged_; }

 private:
  Status add_next(std::string& out, RequestWork& work) override {
    RequestBudget& budget = work.budget();
    H5_TRY(budget.spend(kStepsPerChild));
    if (!begun_) {
      text::JsonWriter json(out);
      json.begin_object();
      H5_TRY(write_object(*group_, name_, json, budget, damaged_));
      json.key("children").next() += '[';
      begun_ = true;
    }
    if (next_ < links_->size()) {
      if (next_ > 0) out += ',';
      return add_child(links_->at(next_++), out, budget);
    }
    if (const Error* const damage = links_->damage()) {
      if (is_passing(*damage)) return fail(*damage);
      if (next_ > 0) out += ',';
      text::JsonWriter json(out);
      write_damaged(*damage, "", json);
      damaged_ = true;
    }
    out += "]}";
    end();
    return {};
  }

  Status add_child(format::Link link, std::string& out, RequestBudget& budget) {
    text::JsonWriter json(out);
    const std::string name = link.name;
    const bool hard = link.is(format::LinkType::Hard);
    if (!hard) {
      auto whole = group_->find_link(name, budget);
      if (!whole) return add_damaged(whole.error(), name, json);
      link = *std::move(whole);
    }
    const auto object = follow_shown(*snapshot_, *group_, link, budget);
    if (!object && hard) return add_damaged(object.error(), name, json);
    if (!object && !is_shown_as_link(object.error())) return fail(object.error());
    if (!object) {
      own_ = own_ && link.is(format::LinkType::Soft);
      write_link(link, name, json);
      return {};
    }
    (*object)->add_to(read_);
    own_ = own_ && is_own(**object, OwnPart::Description, budget);
    const std::size_t before = out.size();
    json.begin_object();
    const Status written = write_object(**object, name, json, budget, damaged_);
    if (written) {
      json.end_object();
      return {};
    }
    if (is_passing(written.error())) return written;
    out.resize(before);
    text::JsonWriter again(out);
    return add_damaged(written.error(), name, again);
  }

  Status add_damaged(const Error& error, const std::string& name, text::JsonWriter& json) {
    if (is_passing(error)) return fail(error);  // a client would keep it
    damaged_ = true;
    write_damaged(error, name, json);
    return {};
  }

  Status confirm() override {
    group_->add_to(read_);
    return std::exchange(read_, {}).confirm_unchanged();
  }

  const std::shared_ptr<const Snapshot> snapshot_;
  const tree::FileObjectPtr group_;
  const tree::LinkListPtr links_;
  const std::string name_;
  tree::FilesRead read_;
  bool own_;
  bool damaged_ = false;
  bool begun_ = false;
  std::size_t next_ = 0;
};

Result<Answer> answer_one(const ApiRequest& request, const Entity& entity) {
  std::string out;
  text::JsonWriter json(out);
  if (!entity.object) {
    write_link(*entity.link, last_name(entity.path), json);
    return described(request, make_text_body(std::move(out)), kJson, false);
  }
  json.begin_object();
  bool damaged = false;
  H5_TRY(write_object(*entity.object, last_name(entity.path), json, request.budget(), damaged));
  json.end_object();
  H5_TRY(confirm_unchanged(*entity.object));
  return described(request, make_text_body(std::move(out)), kJson,
                   is_own(*entity.object, OwnPart::Description, request.budget()));
}

}  // namespace

// Describing a group takes time in proportion to its members, so the texts of the groups that were asked for
// last are kept.
Result<Answer> answer_meta(const ApiRequest& request) {
  H5_ASSIGN(const LinkResolution resolution, link_resolution(request.query));
  RecentFiles& recent = *request.snapshot->recent;
  const std::string& version = request.snapshot->version;
  std::string asked = fmt::format("{} {} {}", request.root, static_cast<int>(resolution), request.path());
  if (const auto known = recent.find_text(asked, version))
    return described(request, make_text_body(known->text), kJson, true);
  H5_ASSIGN(const tree::FileObjectPtr root,
            request.snapshot->tree->root_object(request.root, request.budget()));
  H5_ASSIGN(const Entity entity, find_entity(request, root, request.path(), resolution));
  if (!entity.object || entity.object->object().kind != object::ObjectKind::Group)
    return answer_one(request, entity);
  H5_ASSIGN(tree::LinkListPtr links, entity.object->links(request.budget()));
  auto body = std::make_unique<GroupBody>(request, entity, std::move(links));
  H5_TRY(body->begin(request.work));
  if (!body->is_own_so_far() || !body->size()) return described(request, std::move(body), kJson, false);
  const bool damaged = body->is_damaged_so_far();
  H5_ASSIGN(std::string text, read_all(*body, request.work));
  if (!damaged) recent.keep_text({std::move(asked), version, text});
  return described(request, make_text_body(std::move(text)), kJson, true);
}

}  // namespace h5mount::serve

#include "file_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/object/walk_ahead.h"

namespace h5mount::join {

namespace {

constexpr std::size_t kMostPaths = 32U << 20;  // bytes, of all together
constexpr std::uint64_t kStepsPerLink = 2'000;

class FileWalk {
 public:
  FileWalk(const metadata::FileMetadataPtr& file, RequestBudget& budget)
      : file_(file), budget_(budget), ahead_(file, ahead::Wanted::All) {}

  Result<WalkedFile> walk() {
    const std::uint64_t root = file_->root_address();
    ahead_.will_visit({&root, 1}, budget_);
    out_.objects.emplace_back().address = root;
    out_.first.emplace(root, 0);
    H5_TRY(list(0));
    if (out_.objects[0].error && out_.objects.size() == 1) return fail(*out_.objects[0].error);
    for (std::size_t next = 1; next < out_.objects.size(); ++next)
      if (out_.objects[next].kind == MemberCard::Kind::Group && !out_.objects[next].error) H5_TRY(list(next));
    return std::move(out_);
  }

 private:
  // Adds what is in a group. What is damaged is noted there; errors are those of the whole walk.
  Status list(std::size_t group) {
    std::vector<format::Link> links;
    const Status read = read_links(group, links);
    if (!read && (too_many_ || is_passing(read.error()))) return read;
    if (!read) out_.objects[group].error = read.error();
    std::ranges::sort(links, {}, &format::Link::name);
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (ahead_.is_of_use() && i % object::WalkAhead::kPage == 0) tell(links, i);
      H5_TRY(add(group, links[i]));
    }
    return {};
  }

  Status read_links(std::size_t group, std::vector<format::Link>& links) {
    H5_ASSIGN(const object::Object object, object::open_object(*file_, out_.objects[group].address));
    if (object.kind != object::ObjectKind::Group)
      return fail({ErrorCode::InvalidValue, "the root is no group"});
    H5_ASSIGN(const auto opened, object::Group::open(file_, object));
    std::optional<Error> damage;
    Status spent;
    H5_TRY(opened->for_each(
        [&](const format::Link& link) {
          spent = budget_.spend(kStepsPerLink + link.name.size());
          too_many_ = links.size() + out_.objects.size() >= kMostMembers;
          if (spent && too_many_) spent = fail(too_many());
          if (spent) links.push_back(link);
          return spent.has_value();
        },
        [&](const Error& error) { damage = error; }));
    H5_TRY(spent);
    if (damage) return fail(*damage);
    return {};
  }

  void tell(const std::vector<format::Link>& links, std::size_t from) {
    std::vector<std::uint64_t> page;
    for (std::size_t i = from; i < std::min(from + object::WalkAhead::kPage, links.size()); ++i)
      if (links[i].is(format::LinkType::Hard)) page.push_back(links[i].address);
    ahead_.will_visit(page, budget_);
  }

  Status add(std::size_t group, const format::Link& link) {
    // No path leads to what is named like that.
    if (link.name.empty() || link.name == "." || link.name.contains('/')) return {};
    const std::string& parent = out_.objects[group].path;
    WalkedObject found;
    found.path = parent.empty() ? link.name : fmt::format("{}/{}", parent, link.name);
    paths_ += found.path.size() + link.target.size() + link.file.size();
    if (paths_ > kMostPaths || out_.objects.size() >= kMostMembers) return fail(too_many());
    if (link.is(format::LinkType::Hard)) {
      H5_TRY(set_object(link.address, found));
    } else {
      const bool soft = link.is(format::LinkType::Soft);
      found.kind = soft ? MemberCard::Kind::SoftLink : MemberCard::Kind::ExternalLink;
      found.target = soft ? link.target : fmt::format("{}:{}", link.file, link.target);
      if (!soft && !link.is(format::LinkType::External))
        found.error = Error(ErrorCode::UnsupportedFeature, "a link of a kind that only a program knows");
    }
    out_.objects.push_back(std::move(found));
    return {};
  }

  Status set_object(std::uint64_t address, WalkedObject& found) {
    found.address = address;
    const auto [known, is_new] = out_.first.emplace(address, out_.objects.size());
    if (!is_new) {
      const WalkedObject& first = out_.objects[known->second];
      found.kind = first.kind;
      found.error = first.error;
      if (first.kind != MemberCard::Kind::Group) return {};
      found.kind = MemberCard::Kind::SoftLink;
      found.target = "/" + first.path;
      return {};
    }
    const auto object = object::open_object(*file_, address);
    if (!object) {
      if (is_passing(object.error())) return fail(object.error());
      found.error = object.error();
      found.kind = MemberCard::Kind::Dataset;  // the most likely, of which it is said why it cannot be read
      return {};
    }
    if (object->kind == object::ObjectKind::Dataset) found.kind = MemberCard::Kind::Dataset;
    if (object->kind == object::ObjectKind::Datatype) found.kind = MemberCard::Kind::Datatype;
    return {};
  }

  static Error too_many() {
    return {ErrorCode::LimitExceeded, fmt::format("more than {} members, or too long paths", kMostMembers)};
  }

  const metadata::FileMetadataPtr& file_;
  RequestBudget& budget_;
  object::WalkAhead ahead_;
  WalkedFile out_;
  std::size_t paths_ = 0;
  bool too_many_ = false;
};

}  // namespace

Result<WalkedFile> walk_file(const metadata::FileMetadataPtr& file, RequestBudget& budget) {
  return FileWalk(file, budget).walk();
}

}  // namespace h5mount::join

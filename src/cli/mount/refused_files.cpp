#include "refused_files.h"

#include <fmt/format.h>

#include <chrono>
#include <unordered_set>
#include <vector>

#include "h5mount/base/log.h"
#include "h5mount/dataset/dataset_reader.h"
#include "h5mount/tree/file_object.h"

namespace h5mount::cli {
namespace {

constexpr std::size_t kMostObjects = 10'000;
constexpr std::chrono::milliseconds kMostTime{200};

// Breadth first, as what lies near the root is sooner met.
class Search {
 public:
  std::optional<std::string> run(const tree::FileObjectPtr& root) {
    groups_.push_back({root, ""});
    seen_.insert(root->object().address);
    for (std::size_t next = 0; next < groups_.size() && !found_ && goes_on(); ++next) {
      const Group group = groups_[next];
      const auto links = group.object->links(budget_);
      for (std::size_t i = 0; links && i < (*links)->size() && !found_ && goes_on(); ++i)
        visit(group, (*links)->at(i));
    }
    return std::move(found_);
  }

 private:
  struct Group {
    tree::FileObjectPtr object;
    std::string path;
  };

  bool goes_on() {
    return ++objects_ <= kMostObjects && std::chrono::steady_clock::now() - begin_ < kMostTime;
  }

  void note(const std::string& path, std::string_view file) {
    found_ = fmt::format("{} names {}", escape_for_log(path), escape_for_log(file));
  }

  void visit(const Group& group, const format::Link& listed) {
    const std::string path = group.path + "/" + listed.name;
    if (listed.is(format::LinkType::External)) {
      const auto link = group.object->find_link(listed.name, budget_);
      return note(path, link ? std::string_view(link->file) : "another file");
    }
    if (!listed.is(format::LinkType::Hard) || !seen_.insert(listed.address).second) return;
    const auto object = group.object->follow(listed, budget_);
    if (!object) return;
    if ((*object)->object().kind == object::ObjectKind::Group) groups_.push_back({*object, path});
    if ((*object)->object().kind == object::ObjectKind::Dataset) visit_dataset(path, **object);
  }

  void visit_dataset(const std::string& path, const tree::FileObject& object) {
    const auto description = object::describe_dataset(*object.snapshot(), object.object());
    if (!description) return;
    if (!description->external.empty()) return note(path, description->external[0].file);
    if (description->layout.cls != format::LayoutClass::Virtual) return;
    const auto data = object.elements()(budget_);
    if (!data) return;
    for (const dataset::NamedSource& source : data->reader->named_sources(kMostObjects, budget_).list)
      if (source.state == dataset::NamedSource::State::Refused) return note(path, source.file);
  }

  RequestBudget budget_;
  std::vector<Group> groups_;
  std::unordered_set<std::uint64_t> seen_;
  std::size_t objects_ = 0;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<std::string> found_;
};

}  // namespace

std::optional<std::string> first_named_file(tree::Tree& tree) {
  RequestBudget budget;
  const auto root = tree.root_object(tree::kRootNode, budget);
  return root ? Search().run(*root) : std::nullopt;
}

}  // namespace h5mount::cli

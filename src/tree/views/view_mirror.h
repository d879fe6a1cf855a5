// ViewMirror: the directory of a view of datasets, and of groups that are tables. Threads: any, as for nodes.
#pragma once

#include "../core/followed_bytes.h"
#include "group_column.h"
#include "mirror.h"

namespace h5mount::tree {

// The file of an object has its name and the view's suffix, which is also the name of its part.
class ViewMirror : public Mirror {
 public:
  explicit ViewMirror(const view::View& view) : view_(view) {}

  std::string_view name() const override { return view_.directory; }
  NodeType entry_type() const override { return NodeType::File; }
  std::string_view suffix() const override { return view_.suffix; }

  Status for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget& budget,
                       const std::function<void(std::string)>& each) const override;
  // A group is a directory by its own name.
  std::string part_for_damage(const OpenedObject& object) const override {
    return object.object.kind == object::ObjectKind::Group ? std::string(view_.suffix) : std::string();
  }
  Status find_part(ServedFile& file, const OpenedObject& object, const std::string& part,
                   RequestBudget& budget) const override;
  Result<NodePtr> make_node(const GroupContents& group, const format::Link& link, const std::string& part,
                            RequestBudget& budget) const override;

 protected:
  const view::View& view() const { return view_; }

  // Fails with NotFound if the view cannot show that part of the object.
  Status check_part(ServedFile& file, const OpenedObject& object, const std::string& part,
                    RequestBudget& budget) const;
  // The object as a dataset; null if the view does not show objects of its kind. `table`: how it is one of
  // several datasets.
  Result<DatasetDescriptionPtr> describe(ServedFile& file, const OpenedObject& object,
                                         const std::optional<TableForm>& table, RequestBudget& budget) const;

  // How the object is a table of datasets; nullopt: it is a dataset by itself, or nothing.
  virtual Result<std::optional<TableForm>> table_form(ServedFile& file, const OpenedObject& object,
                                                      const std::string& part, RequestBudget& budget) const;

 private:
  // What is shown of an object: by default the dataset itself.
  virtual Result<ViewOf> view_of(ServedFile&, const OpenedObject&, const std::optional<TableForm>&,
                                 RequestBudget&) const {
    return ViewOf{&view_, nullptr, {}};
  }
  // Adds what depends on the object's path, which is asked where a file is made.
  virtual Status complete(ServedFile&, const OpenedObject&, const LinkPlace&, ViewOf&, RequestBudget&) const {
    return {};
  }

  const view::View& view_;
};

}  // namespace h5mount::tree

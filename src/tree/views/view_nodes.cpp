#include "virtual_directories.h"

#include "../core/inode_numbers.h"
#include "../objects/decoded.h"
#include "../objects/followed_dataset.h"
#include "categories.h"
#include "group_table.h"
#include "view_mirror.h"

namespace h5mount::tree {

namespace {

class ViewFileNode : public Node {
 public:
  ViewFileNode(std::shared_ptr<FollowedData> data, std::string name, ViewOf of)
      : Node({data->file().get(), NodeKey::Kind::ViewFile, data->address(), std::move(name)}),
        data_(std::move(data)),
        bytes_(*data_, std::move(of)) {}

  bool follows() const override { return data_->follows(); }
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override { return data_->sources(budget); }
  std::string_view media_type() const override { return bytes_.of().view->media_type; }
  void catch_up() override { bytes_.catch_up(id()); }

  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file().object(key().address, budget));
    NodeStat stat = object_stat(file(), object->object, NodeType::File);
    stat.nlink = 1;
    stat.ino = make_ino(make_ino(file().ino_of(key().address), "view"), key().name);
    bytes_.measure(depth, stat, id(), budget);
    H5_TRY(ended_early(budget));
    if (data_->grows()) stat.complete = false;
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    return open_bytes(shared_from_this(), bytes_, budget);
  }

  Result<std::vector<std::string>> list_xattrs(RequestBudget& budget) override {
    std::vector<std::string> out;
    for (const std::string_view name : {kLeftOutXattr, kDecodedXattr}) {
      const auto value = text_of(name, budget);
      H5_TRY(budget.check());
      if (value && !value->empty()) out.emplace_back(name);
    }
    return out;
  }

  Result<std::string> get_xattr(std::string_view name, RequestBudget& budget) override {
    H5_ASSIGN(std::string value, text_of(name, budget));
    if (value.empty()) return Node::get_xattr(name, budget);
    return value;
  }

 private:
  ServedFile& file() const { return *data_->file(); }

  // The value of an extended attribute; empty: there is none.
  Result<std::string> text_of(std::string_view name, RequestBudget& budget) const {
    if (name == kLeftOutXattr) return data_->left_out(budget);
    if (name != kDecodedXattr) return std::string();
    if (!bytes_.of().decoded.empty()) return bytes_.of().decoded;
    return data_->decoded(budget);
  }

  const std::shared_ptr<FollowedData> data_;
  FollowedBytes bytes_;
};

Error no_view(std::string why) {
  return {ErrorCode::NotFound, std::move(why)};
}

}  // namespace

Status ViewMirror::for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget& budget,
                                 const std::function<void(std::string)>& each) const {
  const Status fit = find_part(file, object, std::string(view_.suffix), budget);
  if (fit) each(std::string(view_.suffix));
  return fit || fit.error().code() == ErrorCode::NotFound ? Status() : fit;
}

Status ViewMirror::find_part(ServedFile& file, const OpenedObject& object, const std::string& part,
                             RequestBudget& budget) const {
  if (part != view_.suffix) return fail(no_view("no view of this name"));
  return check_part(file, object, part, budget);
}

Status ViewMirror::check_part(ServedFile& file, const OpenedObject& object, const std::string& part,
                              RequestBudget& budget) const {
  H5_ASSIGN(const std::optional<TableForm> table, table_form(file, object, part, budget));
  H5_ASSIGN(const DatasetDescriptionPtr described, describe(file, object, table, budget));
  if (!described) return fail(no_view("no view of this object"));
  H5_ASSIGN(std::optional<std::string> why, view_.unfit(*described, budget));
  if (why) return fail(no_view(*std::move(why)));
  return {};
}

Result<NodePtr> ViewMirror::make_node(const GroupContents& group, const format::Link& link,
                                      const std::string& part, RequestBudget& budget) const {
  const ServedFilePtr& file = group.file();
  const LinkPlace place = group.place_of(link);
  H5_ASSIGN(const OpenedObjectPtr object, file->object(link.address, budget));
  H5_ASSIGN(std::optional<TableForm> table, table_form(*file, *object, part, budget));
  H5_ASSIGN(ViewOf of, view_of(*file, *object, table, budget));
  H5_TRY(complete(*file, *object, place, of, budget));
  std::string name(this->name());
  std::shared_ptr<FollowedData> data;
  if (table) {
    if (!table->grid.empty()) name += "@" + table->grid;
    data = std::make_shared<GroupTable>(file, link.address, place, *std::move(table));
  } else {
    data = std::make_shared<FollowedDataset>(file, link.address, place);
  }
  return make_view_file(std::move(data), std::move(name), std::move(of));
}

Result<std::optional<TableForm>> ViewMirror::table_form(ServedFile& file, const OpenedObject& object,
                                                        const std::string&, RequestBudget& budget) const {
  if (!view_.of_groups) return std::nullopt;
  if (object.object.kind == object::ObjectKind::Group) return TableForm();
  const auto categorical = find_categorical(file, object, budget);
  return categorical && *categorical ? std::optional<TableForm>(TableForm()) : std::nullopt;
}

Result<DatasetDescriptionPtr> ViewMirror::describe(ServedFile& file, const OpenedObject& object,
                                                   const std::optional<TableForm>& table,
                                                   RequestBudget& budget) const {
  // A categorical dataset is described as the codes that it stores, which have the same shape.
  const bool dataset_itself =
      object.object.kind == object::ObjectKind::Dataset && (!table || !table->decoded);
  if (dataset_itself) {
    H5_ASSIGN(DatasetDescriptionPtr dataset, viewed_description_of(file, object));
    if (!dataset) return dataset;
    H5_ASSIGN(const ViewOf of, view_of(file, object, table, budget));
    if (!of.derivation) return dataset;
    auto derived = of.derivation->describe(*dataset);
    if (!derived && derived.error().code() == ErrorCode::TooLarge) return nullptr;
    H5_TRY(derived);
    return std::make_shared<const object::DatasetDescription>(*std::move(derived));
  }
  if (!table) return nullptr;
  auto joined = describe_group_table(file, object, *table, budget);
  if (!joined && joined.error().code() == ErrorCode::TooLarge) return nullptr;
  return joined;
}

NodePtr make_view_file(std::shared_ptr<FollowedData> data, std::string name, ViewOf of) {
  return std::make_shared<ViewFileNode>(std::move(data), std::move(name), std::move(of));
}

NodePtr make_view_directory(const VirtualDirectorySetup& setup, const view::View& view) {
  return make_mirror(setup, std::make_shared<ViewMirror>(view));
}

}  // namespace h5mount::tree

// What directories of parts of datasets have in common: /.h5/slice, /.h5/fields and /.h5/refs. They mirror
// the tree with a directory for each dataset that has parts. Threads: any, as for nodes.
#pragma once

#include <fmt/format.h>

#include "../core/inode_numbers.h"
#include "../objects/decoded.h"
#include "../objects/followed_dataset.h"
#include "mirror.h"
#include "virtual_directories.h"

namespace h5mount::tree {

inline Error no_part() {
  return {ErrorCode::NotFound, "no such part of the dataset"};
}

// The dataset that the nodes of a directory share.
using DatasetPtr = std::shared_ptr<FollowedDataset>;

// A directory of parts. `name` distinguishes the directory from others of the dataset's link.
class PartsDirectory : public Node {
 public:
  PartsDirectory(DatasetPtr dataset, std::string name)
      : Node({dataset->file().get(), NodeKey::Kind::ViewDirectory, dataset->place().group,
              fmt::format("/{}/{}", dataset->place().name, name)}),
        dataset_(std::move(dataset)),
        name_(std::move(name)) {}

  Subject subject() const override { return {&file(), file().path_of(dataset_->place())}; }

  bool follows() const override { return dataset_->follows(); }

  Result<NodeStat> stat(StatDepth, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file().object(dataset_->address(), budget));
    NodeStat stat = object_stat(file(), object->object, NodeType::Directory);
    stat.nlink = 1;
    stat.ino = make_ino(file().ino_of(key().address), key().name);
    return stat;
  }

 protected:
  const DatasetPtr& dataset() const { return dataset_; }
  const std::string& name() const { return name_; }

  Result<DatasetDescriptionPtr> description(RequestBudget& budget) const {
    return dataset_->newest_description(budget, true);
  }

  Result<std::optional<meaning::Decoding>> decoding(RequestBudget& budget) const {
    H5_ASSIGN(const OpenedObjectPtr object, file().object(dataset_->address(), budget));
    return decoding_of_object(file(), *object, budget);
  }

  // Fails with NotFound if the view cannot show the part.
  Result<NodePtr> file_of(std::string name, ViewOf of, RequestBudget& budget) const {
    H5_ASSIGN(const DatasetDescriptionPtr described, description(budget));
    H5_ASSIGN(const object::DatasetDescription part, of.derivation->describe(*described));
    H5_ASSIGN(const std::optional<std::string> why, of.view->unfit(part, budget));
    if (why) return fail(no_part());
    return make_view_file(dataset_, std::move(name), std::move(of));
  }

 private:
  ServedFile& file() const { return *dataset_->file(); }

  DatasetPtr dataset_;
  std::string name_;
};

// Has a directory for each dataset that has such parts.
class PartsMirror : public Mirror {
 public:
  using HasParts = bool (*)(const object::DatasetDescription&);
  // `depth`: of the directory, below that of the file's root.
  using MakeDirectory = NodePtr (*)(DatasetPtr dataset, std::string_view name, unsigned depth);
  PartsMirror(std::string_view name, HasParts has_parts, MakeDirectory make)
      : name_(name), has_parts_(has_parts), make_(make) {}

  std::string_view name() const override { return name_; }
  NodeType entry_type() const override { return NodeType::Directory; }

  Status for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget&,
                       const std::function<void(std::string)>& each) const override {
    if (object.object.kind != object::ObjectKind::Dataset) return {};
    H5_ASSIGN(const DatasetDescriptionPtr described, viewed_description_of(file, object));
    if (described && has_parts_(*described)) each({});
    return {};
  }

  Result<NodePtr> make_node(const GroupContents& group, const format::Link& link, const std::string&,
                            RequestBudget&) const override {
    return make_(std::make_shared<FollowedDataset>(group.file(), link.address, group.place_of(link)), name_,
                 group.depth() + 1);
  }

 private:
  std::string_view name_;
  HasParts has_parts_;
  MakeDirectory make_;
};

}  // namespace h5mount::tree

#include "view_nodes.h"

#include "../core/inode_numbers.h"
#include "../core/open_nodes.h"
#include "../objects/object_facts.h"
#include "categories.h"
#include "group_table.h"
#include "h5mount/metadata/torn_retry.h"
#include "h5mount/tree/names.h"
#include "mirror.h"

namespace h5mount::tree {

namespace {

class OpenViewFile : public OpenNode {
 public:
  OpenViewFile(NodePtr keep, ViewImage& image, view::ComputedFilePtr file)
      : keep_(std::move(keep)), image_(image), file_(std::move(file)) {
    image_.data().context().open_nodes->add(keep_);
  }
  ~OpenViewFile() override { image_.data().context().open_nodes->remove(keep_); }
  OpenViewFile(const OpenViewFile&) = delete;
  OpenViewFile& operator=(const OpenViewFile&) = delete;

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
              RequestBudget& budget) override {
    allow(budget);
    dataset::Pieces pieces;
    Status done = read_once(offset, length, pieces, budget);
    if (!done && done.error().code() != ErrorCode::Interrupted) {
      image_.data().note_failure(offset, done.error());
      if (done.error().code() == ErrorCode::Stale) drop_pages();
    }
    H5_TRY(std::move(done));
    out.append(std::move(pieces));
    return {};
  }

  Status revalidate() override {
    Status same = image_.data().confirm_unchanged();
    if (!same) drop_pages();
    return same;
  }

  Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget& budget) override {
    allow(budget);
    H5_ASSIGN(const view::ComputedFilePtr file, now(budget));
    if (offset >= file->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    return unchanged(file->find_data(offset, &budget));
  }

  Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget& budget) override {
    allow(budget);
    H5_ASSIGN(const view::ComputedFilePtr file, now(budget));
    if (offset >= file->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    return unchanged(file->find_hole(offset, &budget));
  }

 private:
  void allow(RequestBudget& budget) const {
    budget.allow_for(image_.data().followed().source()->stored_bytes());
  }

  // Reads bytes of one state of the file. `kernel_only` bytes are so only if `revalidate` succeeds after they
  // were copied.
  Status read_once(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out, RequestBudget& budget) {
    ViewedData& data = image_.data();
    if (!data.grows()) {
      H5_TRY(data.revalidate());
      H5_TRY(file_->read(offset, length, {&pattern_, &budget}, out));
      H5_TRY(data.confirm_unchanged());
      if (!data.grows()) return {};
    }
    const auto attempt = [&](const auto&) -> Status {
      H5_ASSIGN(const view::ComputedFilePtr file, image_.newest(keep_->id(), budget));
      dataset::Pieces pieces;
      H5_TRY(file->read(offset, length, {&pattern_, &budget}, pieces));
      H5_TRY(data.confirm_unchanged());
      data.note_missing_sources(image_.last_reader());
      out = std::move(pieces);
      return {};
    };
    // The reader of a virtual dataset makes the attempts itself, for each source.
    if (data.repeats_attempts()) return attempt(nullptr);
    return metadata::retry_torn(data.followed(), "dataset", budget, attempt);
  }

  Result<view::ComputedFilePtr> now(RequestBudget& budget) {
    return image_.data().grows() ? image_.newest(keep_->id(), budget) : file_;
  }

  Result<std::uint64_t> unchanged(Result<std::uint64_t> found) const {
    H5_TRY(image_.data().confirm_unchanged());
    return found;
  }

  // Drops the kernel's pages once: a page may contain bytes copied while the file was being written.
  void drop_pages() {
    const auto kernel = image_.data().context().open_nodes->kernel();
    if (kernel && !dropped_pages_.exchange(true)) kernel->invalidate(keep_->id(), {{0, format::kUnlimited}});
  }

  NodePtr keep_;
  ViewImage& image_;
  view::ComputedFilePtr file_;
  dataset::ReadPattern pattern_;
  std::atomic<bool> dropped_pages_ = false;
};

class ViewFileNode : public Node {
 public:
  template <class Data>  // one that ViewImage takes
  ViewFileNode(const ServedFilePtr& file, std::uint64_t address, std::string name, Data data, ViewOf of)
      : Node({file.get(), NodeKey::Kind::ViewFile, address, std::move(name)}),
        file_(file),
        image_(file, std::move(data), std::move(of)) {}

  Subject subject() const override { return {file_.get(), file_->path_of_object(key().address)}; }
  const FollowedFilePtr& read_from() const override { return file_->file()->followed; }
  bool follows() const override { return image_.data().follows(); }
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override {
    return image_.data().sources(budget);
  }
  std::string_view media_type() const override { return image_.of().view->media_type; }
  void catch_up() override {
    RequestBudget budget(RequestBudget::unbounded());
    NodeStat ignored;
    image_.measure(StatDepth::Size, ignored, id(), budget);
  }

  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(key().address, budget));
    NodeStat stat = object_stat(*file_, object->object, NodeType::File);
    stat.nlink = 1;
    stat.ino = make_ino(make_ino(file_->ino_of(key().address), "view"), key().name);
    image_.measure(depth, stat, id(), budget);
    H5_TRY(ended_early(budget));
    if (image_.data().grows()) stat.complete = false;
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    auto file = image_.newest(id(), budget);
    if (!file) {
      if (file.error().code() != ErrorCode::Interrupted) image_.data().note_failure(0, file.error());
      return fail(std::move(file).error());
    }
    image_.data().note_missing_sources(image_.last_reader());
    return std::make_shared<OpenViewFile>(shared_from_this(), image_, *std::move(file));
  }

 private:
  ServedFilePtr file_;
  ViewImage image_;
};

Error no_view(std::string why) {
  return {ErrorCode::NotFound, std::move(why)};
}

// The file of a dataset, or of a group that is a table, has the object's name and the view's suffix, which is
// also the name of its part.
class ViewMirror : public Mirror {
 public:
  explicit ViewMirror(const view::View& view) : view_(view) {}

  std::string_view name() const override { return view_.directory; }
  NodeType entry_type() const override { return NodeType::File; }
  std::string_view suffix() const override { return view_.suffix; }

  Status for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget& budget,
                       const std::function<void(std::string)>& each) const override {
    H5_ASSIGN(const DatasetDescriptionPtr described, describe(file, object, budget));
    if (!described) return {};
    H5_ASSIGN(const std::optional<std::string> why, view_.unfit(*described, &budget));
    if (!why) each(std::string(view_.suffix));
    return {};
  }

  Status find_part(ServedFile& file, const OpenedObject& object, const std::string& part,
                   RequestBudget& budget) const override {
    if (part != view_.suffix) return fail(no_view("no view of this name"));
    H5_ASSIGN(const DatasetDescriptionPtr described, describe(file, object, budget));
    if (!described) return fail(no_view("no view of this object"));
    H5_ASSIGN(std::optional<std::string> why, view_.unfit(*described, &budget));
    if (why) return fail(no_view(*std::move(why)));
    return {};
  }

  NodePtr make_node(const GroupContents& group, const format::Link& link, const std::string&,
                    RequestBudget& budget) const override {
    const ServedFilePtr& file = group.file();
    const LinkPlace place{group.address(), link.name};
    const auto object = file->object(link.address, budget);
    std::shared_ptr<ViewedData> data;
    if (object && is_table_of_others(*file, **object, budget))
      data = std::make_shared<GroupTable>(file, link.address, place);
    else
      data = std::make_shared<DatasetImage>(file, link.address, place);
    return make_view_file(file, link.address, std::string(view_.directory), std::move(data),
                          {&view_, nullptr});
  }

 private:
  bool is_table_of_others(ServedFile& file, const OpenedObject& object, RequestBudget& budget) const {
    if (object.object.kind == object::ObjectKind::Group) return true;
    if (!view_.of_groups) return false;
    const auto categorical = find_categorical(file, object, budget);
    return categorical && *categorical;
  }

  // The object as a dataset; null where the view shows no objects of its kind.
  Result<DatasetDescriptionPtr> describe(ServedFile& file, const OpenedObject& object,
                                         RequestBudget& budget) const {
    if (object.object.kind == object::ObjectKind::Dataset) return viewed_description_of(file, object);
    if (object.object.kind != object::ObjectKind::Group || !view_.of_groups) return nullptr;
    auto joined = describe_group_table(file, object, budget, false);
    if (!joined && joined.error().code() == ErrorCode::TooLarge) return nullptr;
    return joined;
  }

  const view::View& view_;
};

}  // namespace

NodePtr make_view_file(const ServedFilePtr& file, std::uint64_t address, std::string name,
                       std::shared_ptr<ViewedData> own, ViewOf of) {
  return std::make_shared<ViewFileNode>(file, address, std::move(name), std::move(own), std::move(of));
}

NodePtr make_view_file(const ServedFilePtr& file, std::uint64_t address, std::string name,
                       SharedDataset shared, ViewOf of) {
  return std::make_shared<ViewFileNode>(file, address, std::move(name), std::move(shared), std::move(of));
}

NodePtr make_view_directory(const VirtualDirectorySetup& setup, const view::View& view) {
  return make_mirror(setup, std::make_shared<ViewMirror>(view));
}

}  // namespace h5mount::tree

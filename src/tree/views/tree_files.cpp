// /.h5/metadata.jsonl, /.h5/list.txt and /.h5/README: texts about the whole file, made when they are opened.

#include "../core/open_files.h"
#include "../objects/attribute_values.h"
#include "../objects/metadata_lines.h"
#include "../objects/object_facts.h"
#include "../objects/object_walk.h"
#include "../objects/tree_text.h"
#include "group_table.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/object_line.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

// The whole tree of a file as text for people: the root and every link by the paths that the mount shows,
// each with lines for its attributes.
class ListWriter final : public ObjectVisitor {
 public:
  ListWriter(ServedFile& file, TreeText& out, RequestBudget& budget)
      : file_(file), out_(out), budget_(budget) {}

  Status visit_object(const WalkedPlace& place, const OpenedObject& object) override {
    // Links may share objects, so a small file can ask for any amount of text.
    if (work_ > limits::kMaxOpenTextBytes)
      return fail({ErrorCode::TooLarge, "more attributes than a list can have"});
    H5_TRY(budget_.check());
    // The bytes of all values count, of which the lines show only a part.
    const XattrSource xattrs{
        [&] { return list_object_xattrs(file_, object, budget_); },
        [&](std::string_view name) {
          auto value = get_object_xattr(file_, object, name, budget_);
          work_ += value ? value->size() : value.error().code() == ErrorCode::TooLarge ? kMaxXattrBytes : 0;
          return value;
        }};
    return out_.append(object_line(place.shown, describe_object(xattrs)) + describe_attributes(xattrs));
  }
  Status visit_link(const WalkedPlace& place, const format::Link&, const SymlinkPath& symlink) override {
    return out_.append(object_line(place.shown, describe_symlink(symlink_text(symlink))));
  }
  Status visit_damage(const WalkedPlace& place, const Error& why) override {
    return out_.append(object_line(place.shown, "error: " + escape_for_log(text_with_advice(why))));
  }

 private:
  ServedFile& file_;
  TreeText& out_;
  RequestBudget& budget_;
  std::uint64_t work_ = 0;
};

Status append_list_lines(const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
  ListWriter writer(*file, out, budget);
  return walk_objects(file, writer, budget);
}

// The text is held in memory as long as it is open. A stat makes it as well, to count its bytes, and
// remembers their number: the text is the same as long as the snapshot and the failures that it names are.
class TreeTextNode : public Node {
 public:
  TreeTextNode(const VirtualDirectorySetup& setup, std::string name, std::string_view media_type,
               MakeTreeText make)
      : Node(virtual_key(std::move(name))),
        context_(setup.context),
        file_(setup.main),
        media_type_(media_type),
        make_(std::move(make)) {}

  std::string_view media_type() const override { return media_type_; }

  bool follows() const override { return file_->followed().following(); }
  Result<std::vector<NodeSource>> sources(RequestBudget&) override { return std::vector{file_->as_source()}; }

  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override {
    NodeStat stat = virtual_stat(*context_, NodeType::File, key().name);
    stat.complete = false;
    if (depth == StatDepth::Listing) {
      set_size(stat, known_size());
      return stat;
    }
    const auto bytes = size(budget);
    bytes ? set_size(stat, *bytes) : set_unreadable_size(stat);
    H5_TRY(ended_early(budget));
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    const VersionPtr version = current();
    const MakingPtr making = making_of(*version);
    const auto held = [&] { return making->get([&] { return held_text(budget); }, budget); };
    // A walk of the file needs as much memory as the text. So a request that comes while a walk is under way
    // waits for it, whether it counts or keeps the bytes, and gets the same text or the same error.
    TreeTextPtr text;
    const auto bytes = version->bytes.get(
        [&]() -> Result<std::uint64_t> {
          H5_ASSIGN(text, held());
          return text->size();
        },
        budget);
    if (!bytes) return fail(bytes.error());
    if (!text) {
      H5_ASSIGN(text, held());
    }
    const MutexLock lock(mutex_);
    opened_ = text;
    return open_tree_text(text, false);
  }

 private:
  // A text that is being made and will be held, shared by those who open it at the same time.
  using Making = OnceValue<TreeTextPtr>;
  using MakingPtr = std::shared_ptr<Making>;

  // One version of the text, valid as long as the snapshot and the failures that it names are the same.
  struct Version {
    const std::uint64_t snapshot, failures;
    OnceValue<std::uint64_t> bytes;
    std::weak_ptr<Making> making;  // guarded by the node's mutex
  };
  using VersionPtr = std::shared_ptr<Version>;

  // The version for the present state of the file.
  VersionPtr current() {
    const std::uint64_t snapshot = file_->metadata()->number(), failures = file_->failures().changes();
    const MutexLock lock(mutex_);
    if (!version_ || version_->snapshot != snapshot || version_->failures != failures)
      version_ = std::make_shared<Version>(snapshot, failures);
    return version_;
  }

  MakingPtr making_of(Version& version) {
    const MutexLock lock(mutex_);
    MakingPtr making = version.making.lock();
    if (!making) version.making = making = std::make_shared<Making>();
    return making;
  }

  Status fill(TreeText& text, RequestBudget& budget) {
    H5_TRY(make_(file_, text, budget));
    return file_->followed().confirm_unchanged();
  }

  Result<TreeTextPtr> held_text(RequestBudget& budget) {
    auto text = std::make_shared<TreeText>(*context_);
    H5_TRY(fill(*text, budget));
    return text;
  }

  TreeTextPtr opened() {
    const MutexLock lock(mutex_);
    return opened_.lock();
  }

  // Returns 0 if the text was not made yet.
  std::uint64_t known_size() {
    if (const auto text = opened()) return text->size();
    const MutexLock lock(mutex_);
    return version_ ? version_->bytes.peek().value_or(0) : 0;
  }

  Result<std::uint64_t> size(RequestBudget& budget) {
    if (const auto text = opened()) return text->size();
    const VersionPtr version = current();
    return version->bytes.get_once(
        [&]() -> Result<std::uint64_t> {
          TreeText text(*context_, TreeText::Bytes::Counted);
          H5_TRY(fill(text, budget));
          return text.size();
        },
        budget);
  }

  MountContextPtr context_;
  ServedFilePtr file_;
  const std::string_view media_type_;
  const MakeTreeText make_;
  Mutex mutex_;
  VersionPtr version_ H5_GUARDED_BY(mutex_);
  std::weak_ptr<const TreeText> opened_ H5_GUARDED_BY(mutex_);  // the text opened last
};

class ReadmeNode : public Node {
 public:
  ReadmeNode(MountContextPtr context, std::string text)
      : Node(virtual_key("README")),
        context_(std::move(context)),
        text_(std::make_shared<const std::string>(std::move(text))) {}

  std::string_view media_type() const override { return kPlainText; }

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    NodeStat stat = virtual_stat(*context_, NodeType::File, key().name);
    set_size(stat, text_->size());
    return stat;
  }
  Result<std::shared_ptr<OpenNode>> open(RequestBudget&) override { return open_text(text_); }

 private:
  MountContextPtr context_;
  const std::shared_ptr<const std::string> text_;
};

}  // namespace

NodePtr make_tree_text_file(const VirtualDirectorySetup& setup, std::string name, std::string_view media_type,
                            MakeTreeText make) {
  return std::make_shared<TreeTextNode>(setup, std::move(name), media_type, std::move(make));
}

NodePtr make_metadata_file(const VirtualDirectorySetup& setup) {
  const auto append = [](const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
    return append_metadata_lines(file, absent_views_of_group, out, budget);
  };
  return std::make_shared<TreeTextNode>(setup, "metadata.jsonl", "application/x-ndjson", append);
}

NodePtr make_list_file(const VirtualDirectorySetup& setup) {
  return std::make_shared<TreeTextNode>(setup, "list.txt", kPlainText, append_list_lines);
}

NodePtr make_readme_file(const VirtualDirectorySetup& setup, std::string text) {
  return std::make_shared<ReadmeNode>(setup.context, std::move(text));
}

}  // namespace h5mount::tree

#include "sibling_files.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "../core/inode_numbers.h"
#include "h5mount/base/shared_slot.h"
#include "h5mount/object/external_access.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

using object::ExternalPolicy;
using object::FileSet;
using object::NameUse;
using object::OpenedFilePtr;

constexpr std::size_t kFewSiblings = 256;

// The key differs if another file has the name, or if other users may read the file.
std::uint64_t key_of(const ForestDirectory& in, const std::string& name, const ForestEntry& entry) {
  const object::FileAttributes& file = entry.source.attributes;
  return mix_bits(
      {mix_bits({file.uid, file.gid, file.mode}), entry.source.identity, fnv1a(in.name() + "/" + name)});
}

// The files of one source of a forest, together with its siblings.
class FilesBeside final : public FileSet {
 public:
  FilesBeside(std::shared_ptr<FileSet> own, std::shared_ptr<SiblingFiles> siblings, ForestDirectoryPtr in)
      : own_(std::move(own)), siblings_(std::move(siblings)), in_(std::move(in)) {}

  const OpenedFilePtr& main() const override { return own_->main(); }

  Result<OpenedFilePtr> open_hdf5(const OpenedFilePtr& from, std::string_view name, NameUse use) override {
    const bool own = name.empty() || name == "." || use != NameUse::VirtualSource;
    if (own || access().policy == ExternalPolicy::None) return own_->open_hdf5(from, name, use);
    H5_ASSIGN(SiblingFiles::Sibling sibling, siblings_->find(*in_, *from, name));
    if (!sibling.file) return own_->open_hdf5(from, name, use);
    if (access().for_others && !object::readable_by_all_readers(from->attributes, sibling.readers))
      return fail(object::fewer_readers(sibling.file->path, from->path));
    if (sibling.file != main() && remember(sibling.file))
      if (const auto notify = notify_.load()) (*notify)();
    return sibling.file;
  }

  Result<std::shared_ptr<io::ByteSource>> open_raw(const OpenedFilePtr& from,
                                                   std::string_view name) override {
    return own_->open_raw(from, name);
  }

  bool may_be_salvaged() const override { return own_->may_be_salvaged(); }
  bool salvage_fills() const override { return own_->salvage_fills(); }
  Result<std::shared_ptr<FileSet>> salvaged(const std::function<bool()>& go_on) const override {
    H5_ASSIGN(auto files, own_->salvaged(go_on));
    if (!files) return nullptr;
    return std::make_shared<FilesBeside>(std::move(files), siblings_, in_);
  }

  const object::ExternalAccess& access() const override { return own_->access(); }
  const std::shared_ptr<SharedCache>& memory() const override { return own_->memory(); }

  std::vector<OpenedFilePtr> open_files() const override {
    std::vector<OpenedFilePtr> out = own_->open_files();
    const MutexLock lock(mutex_);
    for (const auto& one : used_)
      if (OpenedFilePtr open = one.lock()) out.push_back(std::move(open));
    return out;
  }
  bool follows() const override {
    if (own_->follows()) return true;
    const MutexLock lock(mutex_);
    return std::ranges::any_of(used_, [](const auto& one) {
      const OpenedFilePtr open = one.lock();
      return open && open->followed->following();
    });
  }
  bool many_open() const override {
    const MutexLock lock(mutex_);
    return used_.size() > kFewSiblings || own_->many_open();
  }
  void when_opened(std::function<void()> callback) override {
    notify_.store(callback ? std::make_shared<const std::function<void()>>(callback) : nullptr);
    own_->when_opened(std::move(callback));
  }

 private:
  // Returns whether the file is a new one.
  bool remember(const OpenedFilePtr& file) {
    const MutexLock lock(mutex_);
    if (std::ranges::any_of(used_, [&](const auto& one) { return one.lock() == file; })) return false;
    std::erase_if(used_, [](const auto& one) { return one.expired(); });
    used_.push_back(file);
    return true;
  }

  const std::shared_ptr<FileSet> own_;
  const std::shared_ptr<SiblingFiles> siblings_;
  const ForestDirectoryPtr in_;
  SharedSlot<const std::function<void()>> notify_;
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<const object::OpenedFile>> used_ H5_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<FileSet> SiblingFiles::join(const ForestDirectoryPtr& in, const std::string& name,
                                            const ForestEntry& entry, std::shared_ptr<FileSet> files) {
  add(key_of(*in, name, entry), files->main());
  return std::make_shared<FilesBeside>(std::move(files), shared_from_this(), in);
}

void SiblingFiles::add(std::uint64_t key, const OpenedFilePtr& file) {
  const MutexLock lock(mutex_);
  if (files_.size() >= sweep_at_) {
    std::erase_if(files_, [](const auto& one) { return one.second.expired(); });
    sweep_at_ = std::max(kFewSiblings, 2 * files_.size());
  }
  files_[key] = file;
}

OpenedFilePtr SiblingFiles::known(std::uint64_t key) const {
  const MutexLock lock(mutex_);
  const auto found = files_.find(key);
  return found == files_.end() ? nullptr : found->second.lock();
}

Result<SiblingFiles::Sibling> SiblingFiles::find(const ForestDirectory& in, const object::OpenedFile& from,
                                                 std::string_view name) {
  const auto shown = in.shown_at(from.directory, name);
  if (!shown) return Sibling{};
  H5_ASSIGN(const ForestEntry entry, shown->in->find_entry(shown->name));
  const std::uint64_t key = key_of(*shown->in, shown->name, entry);
  // A file that was written since then is opened again.
  if (auto file = known(key); file && file->followed->revalidate())
    return Sibling{std::move(file), shown->attributes};
  H5_ASSIGN(const auto files, shown->in->open(shown->name));
  add(key, files->main());
  return Sibling{files->main(), shown->attributes};
}

}  // namespace h5mount::tree

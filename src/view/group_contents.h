// GroupContents: the links of one group as a directory shows them, whatever it makes of them (the tree itself, or a
// view that mirrors it): names, order, and what each link leads to.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "file_view.h"
#include "symlink_text.h"

namespace h5mount {

// The links of a group in the order of readdir, each with a name of its own.
class GroupListing : public DirectoryListing {
 public:
  GroupListing(FileViewPtr file, std::vector<Link> links, bool by_creation_order,
               std::optional<Error> damage);

  std::size_t size() const override { return items_.size(); }
  Item at(std::size_t position) const override;
  Item typed_at(std::size_t position) const override;
  const Error* damage() const override { return damage_ ? &*damage_ : nullptr; }

  // The link at a position, without a soft link's target.
  Link link(std::size_t position) const;

  // Those names that are cut or look so (see CutNames).
  CutNames cut_names() const;

 private:
  struct Stored {
    std::size_t offset;         // of the shown name in text_; the link's own name follows where it differs
    std::uint32_t shown_bytes;
    std::uint32_t name_bytes;   // 0: the same as shown
    std::uint64_t address;
    std::uint64_t ino;
    std::uint8_t type;
    bool renamed;
  };
  FileViewPtr file_;
  std::vector<Stored> items_;
  std::string text_;
  std::optional<Error> damage_;
};

// What a link leads to in the mount.
struct LinkTarget {
  struct Broken {
    Error why;
    std::uint64_t address;
  };
  std::variant<OpenedObjectPtr, SymlinkPath, Broken> what;
};

class GroupContents {
 public:
  // `depth`: directories between the file's root and this group's place.
  GroupContents(FileViewPtr file, std::uint64_t address, unsigned depth)
      : file_(std::move(file)), address_(address), depth_(depth) {}

  const FileViewPtr& file() const { return file_; }
  std::uint64_t address() const { return address_; }
  unsigned depth() const { return depth_; }

  // The link that a shown name stands for. NotFound. Lists the group only for names that may be cut.
  Result<Link> find(std::string_view shown) const;
  // The link of that own name. NotFound.
  Result<Link> find_named(std::string_view name) const;
  // The link as listed, with its target.
  Result<Link> find_listed(const GroupListing& listing, std::size_t position) const;
  Result<std::shared_ptr<const GroupListing>> list() const;

  LinkTarget resolve(const Link& link) const;

 private:
  Result<std::shared_ptr<const Group>> group(const OpenedObjectPtr& object) const;
  Result<Link> find_cut(const OpenedObjectPtr& object, const Group& group, std::string_view shown) const;
  LinkTarget resolve_external(const Link& link, unsigned depth_to_mount) const;
  LinkTarget resolve_hard(const Link& link) const;
  LinkTarget resolve_group(const Link& link, const OpenedObjectPtr& object) const;
  std::string external_name(const std::string& stored) const;

  FileViewPtr file_;
  std::uint64_t address_;
  unsigned depth_;
};

}  // namespace h5mount

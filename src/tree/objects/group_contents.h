// GroupContents: the links of one group as a directory shows them, in the tree itself or in a view that
// mirrors it: names, order, and what each link leads to.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../core/served_file.h"
#include "../core/symlink_text.h"

namespace h5mount::tree {

// The steps that a walk charges to its budget for each link, as it opens the object.
inline constexpr std::uint64_t kStepsPerLink = 1000;

// The links of a group without their targets, from which a listing is made. Each is small, as there may be
// millions.
struct FoundLinks {
  struct Found {
    std::size_t name;  // its offset in `names`
    std::uint32_t name_bytes;
    std::uint8_t type;
    std::uint64_t address;
    std::int64_t creation_order;  // 0 if it has none
  };
  void add(const format::Link& link);
  std::string_view name_of(const Found& link) const {
    return std::string_view(names).substr(link.name, link.name_bytes);
  }

  std::vector<Found> links;
  std::string names;
  bool tracked = true;  // every link has an order of creation
};

// The links of a group in the order of readdir, each with a unique name.
class GroupListing : public DirectoryListing {
 public:
  GroupListing(ServedFilePtr file, FoundLinks found, bool by_creation_order, std::optional<Error> damage);

  std::size_t size() const override { return items_.size(); }
  Item at(std::size_t position, std::string&) const override;
  Item typed_at(std::size_t position, std::string&) const override;
  std::string_view name(std::size_t position) const;  // as shown
  const Error* damage() const override { return damage_ ? &*damage_ : nullptr; }

  // The link at a position, without a soft link's target.
  format::Link link(std::size_t position) const;

  // The position of the link that was created after `number` others, where the group tracks that order; else
  // `number`: the order of readdir, which follows the order of creation only if the group has an index of it.
  std::size_t created(std::size_t number) const { return created_.empty() ? number : created_[number]; }

  // The names that were cut or that look like cut ones (see CutNames).
  CutNames cut_names() const;

  // The budget of pauses that all entries share: a listing of many damaged objects waits no longer than one
  // damaged object would make it wait.
  const std::shared_ptr<PauseBudget>& pauses() const { return pauses_; }

 private:
  // Offsets into text_; the two are equal if the name is shown as it is.
  struct Stored {
    std::size_t name, shown;
    std::uint32_t name_bytes, shown_bytes;
    std::uint64_t address;
    std::uint8_t type;
  };
  std::string_view name_of(const Stored& item) const {  // the link's own
    return std::string_view(text_).substr(item.name, item.name_bytes);
  }

  void ask_for_page(std::size_t position) const;

  ServedFilePtr file_;
  std::vector<Stored> items_;
  std::string text_;
  std::vector<std::uint32_t> created_;  // empty: the order is that of the positions, or there is none
  std::optional<Error> damage_;
  const std::shared_ptr<PauseBudget> pauses_ = std::make_shared<PauseBudget>();
};

// The target of a link, as the mount shows it.
struct LinkTarget {
  struct Broken {
    Error why;
    std::uint64_t address;
  };
  std::variant<OpenedObjectPtr, SymlinkPath, Broken> what;
};

// Other links than a group's own, each a hard one: the elements of an object (element_links.h).
class ElementLinks {
 public:
  virtual ~ElementLinks() = default;
  // Fails with NotFound, also for an element that leads nowhere.
  virtual Result<format::Link> find(std::string_view name, RequestBudget& budget) const = 0;
  // In the order of creation_order, as far as kMostListed.
  virtual Result<FoundLinks> list(RequestBudget& budget) const = 0;
  // What is shown in place of the target of one of these links; null: the target itself.
  virtual std::shared_ptr<const ElementLinks> inside(const format::Link&) const { return nullptr; }

  static constexpr std::uint64_t kMostListed = 1U << 20;
};
using ElementLinksPtr = std::shared_ptr<const ElementLinks>;

class GroupContents {
 public:
  // `depth`: directories between the file's root and this group. `elements`: what stands for the group's own
  // links; `path`: of the directory, if references lead to it or to one above it, else empty.
  GroupContents(ServedFilePtr file, std::uint64_t address, unsigned depth, ElementLinksPtr elements = nullptr,
                std::string path = {})
      : file_(std::move(file)),
        address_(address),
        depth_(depth),
        elements_(std::move(elements)),
        path_(std::move(path)) {}

  const ServedFilePtr& file() const { return file_; }
  std::uint64_t address() const { return address_; }
  unsigned depth() const { return depth_; }
  const ElementLinksPtr& elements() const { return elements_; }
  const std::string& path() const { return path_; }

  // Where a link of the directory is, for messages and keys.
  LinkPlace place_of(const format::Link& link) const;

  // The link with a shown name. Fails with NotFound. The group is listed only for names that may be cut.
  Result<format::Link> find(std::string_view shown, RequestBudget& budget) const;
  // The link with that own name. Fails with NotFound.
  Result<format::Link> find_named(std::string_view name, RequestBudget& budget) const;
  // The link at a position of a listing, with its target.
  Result<format::Link> find_listed(const GroupListing& listing, std::size_t position,
                                   RequestBudget& budget) const;
  Result<std::shared_ptr<const GroupListing>> list(RequestBudget& budget) const;

  LinkTarget resolve(const format::Link& link, RequestBudget& budget) const;

 private:
  Result<std::shared_ptr<const GroupListing>> make_list(const OpenedObjectPtr& object,
                                                        RequestBudget& budget) const;
  Result<format::Link> find_cut(const OpenedObjectPtr& object, const object::Group& group,
                                std::string_view shown, RequestBudget& budget) const;
  LinkTarget resolve_hard(const format::Link& link, RequestBudget& budget) const;
  LinkTarget resolve_group(const format::Link& link, const OpenedObjectPtr& object) const;

  ServedFilePtr file_;
  std::uint64_t address_;
  unsigned depth_;
  ElementLinksPtr elements_;
  std::string path_;
  // The listing that was made last, kept as long as somebody holds it, so that open directories share it.
  struct Listed {
    Mutex mutex;
    std::weak_ptr<const GroupListing> listing H5_GUARDED_BY(mutex);
    std::uint64_t snapshot H5_GUARDED_BY(mutex) = 0;  // its number
  };
  std::shared_ptr<Listed> listed_ = std::make_shared<Listed>();
};

}  // namespace h5mount::tree

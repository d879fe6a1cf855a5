#include <atomic>

#include "group_kinds.h"
#include "h5mount/ahead/prefetch.h"
#include "h5mount/metadata/symbol_table.h"

namespace h5mount::object {

namespace {

Result<format::Link> make_link(const metadata::LocalHeap& heap, std::string name,
                               const format::SymbolTableEntry& entry) {
  format::Link link;
  link.name = std::move(name);
  if (entry.soft) {
    link.type = static_cast<std::uint8_t>(format::LinkType::Soft);
    H5_ASSIGN(link.target, heap.text(entry.target_offset));
  } else {
    link.address = entry.header_address;
  }
  return link;
}

class OldGroup final : public Group {
 public:
  OldGroup(metadata::FileMetadataPtr file, metadata::SymbolTable table,
           const format::SymbolTableMessage& message)
      : file_(std::move(file)), table_(std::move(table)), message_(message) {}

  Result<format::Link> find(std::string_view name) const override {
    // A stored name cannot contain a NUL, and the search would match the text before it.
    if (name.find('\0') != std::string_view::npos) return fail(no_such_link(name));
    const auto entry = table_.find(name);
    if (entry && *entry) return make_link(table_.heap(), std::string(name), **entry);
    // A binary search may miss a name if the order is broken, so the listing is searched too.
    if (!entry) return find_by_scan(*this, name, entry.error());
    if (damaged_.load(std::memory_order_relaxed)) return find_by_scan(*this, name);
    return fail(no_such_link(name));
  }

  Status for_each(const std::function<bool(const format::Link&)>& visit,
                  const std::function<void(const Error&)>& damaged) const override {
    ahead::prefetch_links(*file_, message_);
    const metadata::SymbolTable table = table_.with_names();
    const auto note = [&](const Error& error) {
      if (!is_momentary(error)) damaged_.store(true, std::memory_order_relaxed);
      if (damaged) damaged(error);
    };
    return within_budget(*file_, visit, [&](const std::function<bool(const format::Link&)>& each) {
      const auto visit_entry = [&](std::string&& name, const format::SymbolTableEntry& entry) {
        const Result<format::Link> link = make_link(table.heap(), std::move(name), entry);
        if (link) return each(*link);
        note(link.error());
        return true;
      };
      return table.for_each(visit_entry, note);
    });
  }

  bool creation_order_indexed() const override { return false; }

 private:
  metadata::FileMetadataPtr file_;
  metadata::SymbolTable table_;
  const format::SymbolTableMessage message_;
  mutable std::atomic<bool> damaged_ = false;  // damage was found, so a search may miss a name
};

}  // namespace

Result<std::unique_ptr<Group>> open_old_group(metadata::FileMetadataPtr file,
                                              const format::SymbolTableMessage& message) {
  ahead::prefetch_links(*file, message, 1);
  H5_ASSIGN(metadata::SymbolTable table,
            metadata::SymbolTable::open(file, message.btree_address, message.local_heap_address));
  return std::make_unique<OldGroup>(std::move(file), std::move(table), message);
}

}  // namespace h5mount::object

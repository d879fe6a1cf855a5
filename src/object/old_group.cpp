#include "group_kinds.h"
#include "h5mount/metadata/symbol_table.h"

namespace h5mount {

namespace {

Result<Link> make_link(const LocalHeap& heap, std::string name, const SymbolTableEntry& entry) {
  Link link;
  link.name = std::move(name);
  if (entry.soft) {
    link.type = static_cast<std::uint8_t>(LinkType::Soft);
    H5_ASSIGN(link.target, heap.text(entry.target_offset));
  } else {
    link.address = entry.header_address;
  }
  return link;
}

Result<Link> load_link(const LocalHeap& heap, const SymbolTableEntry& entry) {
  H5_ASSIGN(std::string name, heap.text(entry.name_offset));
  return make_link(heap, std::move(name), entry);
}

class OldGroup final : public Group {
 public:
  OldGroup(FileMetadataPtr file, SymbolTable table) : file_(std::move(file)), table_(std::move(table)) {}

  Result<Link> find(std::string_view name) const override {
    // A name cannot hold a NUL, and the search would meet the text before it.
    if (name.find('\0') != std::string_view::npos) return fail(no_such_link(name));
    H5_ASSIGN(const auto entry, table_.find(name));
    if (!entry) return fail(no_such_link(name));
    return make_link(table_.heap(), std::string(name), *entry);
  }

  Status for_each(const std::function<bool(const Link&)>& visit,
                  const std::function<void(const Error&)>& damaged) const override {
    LocalHeap heap = table_.heap();
    heap.load();
    return within_budget(*file_, visit, [&](const std::function<bool(const Link&)>& each) {
      const auto visit_entry = [&](const SymbolTableEntry& entry) {
        const Result<Link> link = load_link(heap, entry);
        if (link) return each(*link);
        if (damaged) damaged(link.error());
        return true;
      };
      return table_.for_each(visit_entry, damaged);
    });
  }

  bool creation_order_indexed() const override { return false; }

 private:
  FileMetadataPtr file_;
  SymbolTable table_;
};

}  // namespace

Result<std::unique_ptr<Group>> open_old_group(FileMetadataPtr file, const SymbolTableMessage& message) {
  H5_ASSIGN(SymbolTable table,
            SymbolTable::open(file, message.btree_address, message.local_heap_address));
  return std::make_unique<OldGroup>(std::move(file), std::move(table));
}

}  // namespace h5mount

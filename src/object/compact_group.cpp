#include "group_kinds.h"

namespace h5mount {

namespace {

class CompactGroup final : public Group {
 public:
  CompactGroup(FileMetadataPtr file, std::shared_ptr<const ObjectHeader> header, bool creation_order_indexed)
      : file_(std::move(file)), header_(std::move(header)), creation_order_indexed_(creation_order_indexed) {}

  Result<Link> find(std::string_view name) const override { return find_by_scan(*this, name); }

  Status for_each(const std::function<bool(const Link&)>& visit,
                  const std::function<void(const Error&)>& damaged) const override {
    return within_budget(*file_, visit, [&](const std::function<bool(const Link&)>& each) -> Status {
      for (const HeaderMessage& message : header_->messages) {
        if (message.type != MessageType::Link) continue;
        const Result<Link> link = load(message);
        if (!link) {
          if (damaged) damaged(link.error());
        } else if (!each(*link)) {
          return {};
        }
      }
      if (header_->damage && damaged) damaged(*header_->damage);
      return {};
    });
  }

  bool creation_order_indexed() const override { return creation_order_indexed_; }

 private:
  Result<Link> load(const HeaderMessage& stored) const {
    H5_ASSIGN(const HeaderMessage message, resolve_message(*file_, stored));
    Cursor cursor = message.cursor("LinkMessage");
    return decode_link(cursor);
  }

  FileMetadataPtr file_;
  std::shared_ptr<const ObjectHeader> header_;
  bool creation_order_indexed_;
};

}  // namespace

std::unique_ptr<Group> make_compact_group(FileMetadataPtr file, std::shared_ptr<const ObjectHeader> header,
                                          bool creation_order_indexed) {
  return std::make_unique<CompactGroup>(std::move(file), std::move(header), creation_order_indexed);
}

}  // namespace h5mount

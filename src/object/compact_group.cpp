#include "group_kinds.h"

#include "h5mount/base/structures.h"

namespace h5mount::object {

namespace {

class CompactGroup final : public Group {
 public:
  CompactGroup(metadata::FileMetadataPtr file, std::shared_ptr<const metadata::ObjectHeader> header,
               bool creation_order_indexed)
      : file_(std::move(file)), header_(std::move(header)), creation_order_indexed_(creation_order_indexed) {}

  Result<format::Link> find(std::string_view name) const override { return find_by_scan(*this, name); }

  Status for_each(const std::function<bool(const format::Link&)>& visit,
                  const std::function<void(const Error&)>& damaged) const override {
    return within_budget(*file_, visit, [&](const std::function<bool(const format::Link&)>& each) -> Status {
      for (const metadata::HeaderMessage& message : header_->messages) {
        if (message.type != format::MessageType::Link) continue;
        const auto link =
            metadata::decode_message(*file_, message, structures::kLinkMessage, format::decode_link);
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
  metadata::FileMetadataPtr file_;
  std::shared_ptr<const metadata::ObjectHeader> header_;
  bool creation_order_indexed_;
};

}  // namespace

std::unique_ptr<Group> make_compact_group(metadata::FileMetadataPtr file,
                                          std::shared_ptr<const metadata::ObjectHeader> header,
                                          bool creation_order_indexed) {
  return std::make_unique<CompactGroup>(std::move(file), std::move(header), creation_order_indexed);
}

}  // namespace h5mount::object

#include "page_prefetch.h"

#include "h5mount/base/mechanism.h"

namespace h5mount::fuse {

std::unique_ptr<PagePrefetch> PagePrefetch::make(const tree::OpenNode& file, tree::NodeId node,
                                                 const std::shared_ptr<tree::KernelPages>& kernel) {
  if (!kernel || !is_on(Mechanism::ColumnAhead)) return nullptr;
  auto image = file.fixed_image();
  if (!image || !image->environment.workers) return nullptr;
  return std::make_unique<PagePrefetch>(*std::move(image), node, kernel);
}

PagePrefetch::PagePrefetch(tree::FixedImage image, tree::NodeId node,
                           const std::shared_ptr<tree::KernelPages>& kernel) {
  const auto as_opened = [asked = std::move(image.as_opened), changed = changed_] {
    if (*changed) return false;
    if (!asked()) *changed = true;
    return !*changed;
  };
  const dataset::ReadEnvironment& environment = image.environment;
  const PageTarget target{image.reader, environment.workers, environment.counters, kernel, node, as_opened};
  column_ = std::make_shared<ColumnAhead>(target);
}

PagePrefetch::~PagePrefetch() {
  column_->stop();
}

void PagePrefetch::note(std::uint64_t offset, std::uint64_t length) {
  if (!*changed_) column_->note(offset, length);
}

}  // namespace h5mount::fuse

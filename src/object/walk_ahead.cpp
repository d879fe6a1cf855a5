#include "h5mount/object/walk_ahead.h"

#include <utility>
#include <vector>

#include "h5mount/object/object.h"

namespace h5mount::object {
namespace {

constexpr std::uint64_t kStepsPerLink = 200;
constexpr std::size_t kMaxObjects = 4096;         // that are asked for by one call
constexpr std::size_t kMaxRemembered = 1U << 16;  // what is forgotten is asked for again, which does no harm

}  // namespace

WalkAhead::WalkAhead(metadata::FileMetadataPtr file, ahead::Wanted what)
    : file_(std::move(file)), what_(what), far_(file_->far()) {}

void WalkAhead::will_visit(std::span<const std::uint64_t> objects, RequestBudget& budget) {
  if (!far_) return;
  if (asked_.size() > kMaxRemembered) asked_.clear();
  std::vector<std::uint64_t> level;
  const auto add = [&](std::uint64_t address, std::size_t asked, std::vector<std::uint64_t>& to) {
    if (asked + to.size() < kMaxObjects && asked_.insert(address).second) to.push_back(address);
  };
  for (const std::uint64_t address : objects) add(address, 0, level);
  for (std::size_t asked = 0; !level.empty();) {
    ahead::prefetch(*file_, level, what_, budget);
    asked += level.size();
    std::vector<std::uint64_t> below;
    for (const std::uint64_t address : level) {
      if (asked + below.size() >= kMaxObjects || !budget.check()) return;
      const auto object = open_object(*file_, address);
      if (!object || object->kind != ObjectKind::Group) continue;
      const auto group = Group::open(file_, *object);
      if (!group) continue;
      (void)(*group)->for_each(
          [&](const format::Link& link) {
            if (link.is(format::LinkType::Hard)) add(link.address, asked, below);
            return asked + below.size() < kMaxObjects && budget.spend(kStepsPerLink);
          },
          nullptr);
    }
    level = std::move(below);
  }
}

}  // namespace h5mount::object

// Finds objects that nothing links to.
#include <algorithm>
#include <unordered_set>

#include "salvager.h"

namespace h5mount::salvage {
namespace {

constexpr std::size_t kMaxUnlinked = 1U << 19;  // number of objects in lost+found
constexpr std::size_t kMaxName = 200;           // longest name, in bytes, that an object keeps

}  // namespace

void Salvager::find_unlinked() {
  unlinked_.emplace(state_.file, state_.end, state_.used_by_unlinked, &state_.used, state_.options);
  unlinked_->leave_out(reachable_->result());
  // An object that the walk left out, as there are too many, looks as if nothing linked to it.
  if (reachable_->full()) return;
  std::vector<std::uint64_t> met;
  for (const Found& found : state_.found) {
    const bool lost = is_header(found) && !state_.used.contains(found.offset) &&
                      !reachable_->result().reached.contains(found.offset);
    if (!lost) continue;
    unlinked_->walk(found.offset);
    if (unlinked_->result().reached.contains(found.offset)) met.push_back(found.offset);
  }
  state_.used_by_unlinked.settle();
  find_headless();
  const Surveyed& result = unlinked_->result();
  UsedRanges none;
  Survey below(state_.file, state_.end, none, nullptr, state_.options);  // from lost+found
  below.leave_out(reachable_->result());
  const auto add = [&](std::uint64_t address) {
    lost_.push_back({address, result.is_group(address)});
    if (result.is_group(address)) below.walk(address);
  };
  for (const std::uint64_t address : met)
    if (!result.links_in.contains(address) && lost_.size() < kMaxUnlinked) add(address);
  // If groups link to one another and nothing else links to them, one of them is put into lost+found for all.
  for (const std::uint64_t address : met) {
    const bool known = !result.links_in.contains(address) || below.result().reached.contains(address) ||
                       headless_members_.contains(address);
    if (!known && lost_.size() < kMaxUnlinked) add(address);
  }
}

// Makes groups for names and links of which the group is lost, if they lead to objects that are lost too.
void Salvager::find_headless() {
  if (state_.unclaimed(Kind::LocalHeap).empty() && state_.unclaimed(Kind::FractalHeap).empty()) return;
  for (HeadlessGroup& group : headless_groups(state_, {&state_.used, &state_.used_by_unlinked})) {
    std::erase_if(group.links, [&](const format::Link& link) {
      return link.is(format::LinkType::Hard) && !unlinked_->result().reached.contains(link.address);
    });
    const bool any = std::ranges::any_of(
        group.links, [](const format::Link& link) { return link.is(format::LinkType::Hard); });
    const auto made = any && lost_.size() < kMaxUnlinked ? make_group(state_, group.links) : std::nullopt;
    if (!made) continue;
    for (const format::Link& link : group.links) {
      if (!link.is(format::LinkType::Hard)) continue;
      unlinked_->result().links_in.add(link.address);
      headless_members_.insert(link.address);
    }
    state_.findings.note(*made, Certainty::Guessed,
                         "links in surviving nodes and heap blocks, without a group");
    lost_.push_back({*made, true});
  }
}

// Space that nothing refers to may have been used again, and data in it may have been overwritten.
bool Salvager::is_proven(std::uint64_t address, object::ObjectKind kind) const {
  const auto opened = object::open_object(*state_.file, address);
  if (!opened || opened->header->version != 2) return false;
  if (kind != object::ObjectKind::Dataset) return true;
  const auto described = object::describe_dataset(*state_.file, *opened);
  return described && described->layout.cls == format::LayoutClass::Compact &&
         !described->type->has_variable_part;
}

// Notes an object that the ordinary way does not reach.
void Salvager::note_object(std::uint64_t address, object::ObjectKind kind, const char* found_by) {
  state_.findings.note(address, is_proven(address, kind) ? Certainty::Proven : Certainty::Guessed, found_by);
}

void Salvager::note_unlinked() {
  AddressTable shown;
  for (const Lost& one : lost_) shown.add(one.address);
  unlinked_->result().reached.for_each([&](std::uint64_t address, std::uint8_t kind) {
    if (!shown.contains(address) && !unlinked_->result().links_in.contains(address)) return;
    note_object(address, static_cast<object::ObjectKind>(kind), "its object header, to which nothing links");
  });
  mend_datasets(unlinked_->result(), true);
}

// The links of lost+found: each object has the name that something still gives it, if there is one, else a
// name made of its address.
std::vector<format::Link> Salvager::lost_links() {
  std::vector<std::uint64_t> addresses;
  for (const Lost& one : lost_) addresses.push_back(one.address);
  const auto names = surviving_names(state_, reachable_->result().groups, addresses);
  state_.take_found({});  // nothing is looked for after this, and making the links takes memory
  unlinked_.reset();
  std::vector<format::Link> links;
  links.reserve(lost_.size());
  std::unordered_set<std::string> taken;
  for (const Lost& one : lost_) {
    format::Link link;
    link.address = one.address;
    const auto known = names.find(one.address);
    const bool named = known != names.end() && known->second.size() <= kMaxName;
    link.name = named ? known->second : (one.group ? "group-" : "object-") + std::to_string(one.address);
    if (!taken.insert(link.name).second) link.name += "-" + std::to_string(one.address);
    Finding finding;
    finding.address = one.address;
    finding.name = link.name;
    state_.findings.note(std::move(finding));
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace h5mount::salvage

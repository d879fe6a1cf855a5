// Finds the root group if the superblock does not tell which group it is, and adds lost+found to it.
#include <algorithm>
#include <unordered_set>

#include "salvager.h"

namespace h5mount::salvage {
namespace {

constexpr std::size_t kMaxRoots = 64;       // groups that are compared to find the root
constexpr std::uint64_t kBeginning = 8192;  // lower addresses count as a file's beginning

// A group that may be the root: one with a header, or the links of one whose header is gone.
struct Candidate {
  std::uint64_t address = format::kUndefinedAddress;  // of the group's header or of the heap with its names
  const HeadlessGroup* headless = nullptr;
};

std::vector<std::uint64_t> reach_of(const SalvageState& state, const Candidate& root) {
  UsedRanges none;
  Survey survey(state.file, state.end, none, nullptr, state.options);
  if (root.headless == nullptr) survey.walk(root.address);
  if (root.headless != nullptr)
    for (const format::Link& link : root.headless->links)
      if (link.is(format::LinkType::Hard)) survey.walk(link.address);
  std::vector<std::uint64_t> out;
  survey.result().reached.for_each([&](std::uint64_t address, std::uint8_t) { out.push_back(address); });
  std::ranges::sort(out);
  return out;
}

// libhdf5 makes the root before all other objects. So a group that does not reach everything is the root only
// if it lies at the file's beginning and no object that it does not reach lies before it; else the root is
// lost, and that group is one of its members.
bool may_be_root(const Candidate& candidate, const std::vector<std::uint64_t>& reach, const Surveyed& all) {
  bool everything = true, first = candidate.address < kBeginning;
  all.reached.for_each([&](std::uint64_t address, std::uint8_t) {
    if (std::ranges::binary_search(reach, address)) return;
    everything = false;
    first = first && address > candidate.address;
  });
  return everything || first;
}

}  // namespace

// Takes as the root the group that reaches most objects of those that nothing links to.
Status Salvager::choose_root() {
  UsedRanges used;
  Survey all(state_.file, state_.end, used, nullptr, state_.options);
  for (const Found& found : state_.found)
    if (is_header(found)) all.walk(found.offset);
  used.settle();
  const Surveyed& met = all.result();
  if (met.reached.empty())
    return fail(Error(ErrorCode::BadSignature, "not an HDF5 file, and no objects of one are in it"));
  const std::vector<HeadlessGroup> headless = headless_groups(state_, {&used, nullptr});
  std::unordered_set<std::uint64_t> linked;
  std::vector<Candidate> candidates;
  for (const HeadlessGroup& group : headless) {
    for (const format::Link& link : group.links) linked.insert(link.address);
    if (candidates.size() < kMaxRoots / 2) candidates.push_back({group.heap, &group});
  }
  for (const Found& found : state_.found) {
    if (!is_header(found) || candidates.size() >= kMaxRoots) continue;
    if (!met.is_group(found.offset)) continue;
    if (!met.links_in.contains(found.offset) && !linked.contains(found.offset))
      candidates.push_back({found.offset, nullptr});
  }
  std::vector<std::uint64_t> most;
  Candidate best;
  for (const Candidate& candidate : candidates) {
    std::vector<std::uint64_t> reach = reach_of(state_, candidate);
    if (reach.size() > most.size()) most = std::move(reach), best = candidate;
  }
  if (most.empty() || !may_be_root(best, most, met)) return {};
  if (best.headless != nullptr) {
    root_links_ = best.headless->links;
    return {};
  }
  root_ = best.address;
  set_root(root_);
  return {};
}

void Salvager::set_root(std::uint64_t address) {
  const format::Superblock& block = state_.shape.superblock;
  state_.findings.report.changed = true;
  if (block.version >= 2 || !state_.shape.root_known) {
    format::Superblock changed = state_.file->superblock();
    changed.root_address = address;
    state_.made->lay_over(0, format::encode_superblock(changed));
    return;
  }
  // In versions 0 and 1 the root's address stands in its symbol table entry, behind the name's offset.
  const std::size_t o = block.sizes.offsets;
  const std::size_t at = (block.version == 0 ? 24 : 28) + 4 * o + block.sizes.lengths;
  format::Writer out(block.sizes);
  state_.made->lay_over(at, out.address(address).uint(0, 4).take());
}

// If the root's header is gone, the superblock may still contain the addresses of the root's tree and heap.
void Salvager::find_root_links() {
  if (root_opens_) return;
  if (root_links_.empty() && state_.shape.root_heap != format::kUndefinedAddress)
    root_links_ = links_of_table(state_, state_.shape.root_tree, state_.shape.root_heap);
  for (const format::Link& link : root_links_)
    if (link.is(format::LinkType::Hard)) reachable_->walk(link.address);
  state_.used.settle();
}

std::vector<format::Link> Salvager::links_of_root(const object::Object& root) const {
  std::vector<format::Link> out;
  const auto& groups = reachable_->result().groups;
  const auto damaged =
      std::ranges::find(groups, root_, [](const DamagedGroup& group) { return group.object.address; });
  if (damaged != groups.end()) return damaged->links;
  if (const auto group = object::Group::open(state_.file, root)) {
    (void)(*group)->for_each(
        [&](const format::Link& link) {
          out.push_back(link);
          return true;
        },
        [](const Error&) {});
  }
  return out;
}

void Salvager::add_lost_and_found(std::vector<format::Link>& root) {
  if (lost_.empty()) return;
  const auto made = make_group(state_, lost_links());
  if (!made) return;
  format::Link link;
  link.name = "lost+found";
  const auto has = [&] { return std::ranges::find(root, link.name, &format::Link::name) != root.end(); };
  for (unsigned i = 2; has(); ++i) link.name = "lost+found-" + std::to_string(i);
  link.address = *made;
  state_.findings.report.lost_and_found = link.name;
  if (!root.empty() && root.back().creation_order) {
    std::int64_t last = 0;
    for (const format::Link& one : root) last = std::max(last, one.creation_order.value_or(0));
    link.creation_order = last + 1;
  }
  root.push_back(std::move(link));
  state_.findings.note(*made, Certainty::Proven, "made by salvage");
}

void Salvager::write_lost_and_found() {
  if (root_opens_) {
    const auto root = object::open_object(*state_.file, root_);
    if (!root) return;
    std::vector<format::Link> links = links_of_root(*root);
    add_lost_and_found(links);
    (void)replace_links(state_, *root, links);
    return;
  }
  std::vector<format::Link> links = root_links_;
  add_lost_and_found(links);
  const auto made = make_group(state_, links);
  if (!made) return;
  set_root(*made);
  state_.findings.note(*made, root_links_.empty() ? Certainty::Proven : Certainty::Plausible,
                       "made in the place of a root that cannot be read");
}

}  // namespace h5mount::salvage

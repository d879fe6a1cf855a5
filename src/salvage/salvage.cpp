#include "h5mount/salvage/salvage.h"

#include <algorithm>
#include <unordered_set>

#include "claiming_metadata.h"
#include "h5mount/format/cache_image.h"
#include "h5mount/metadata/symbol_table.h"
#include "rescue.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kStepsAnyway = 64U << 20;
constexpr std::size_t kMaxRoots = 64;       // groups that are compared to find the root
constexpr std::size_t kMaxLost = 1U << 19;  // objects of lost+found

std::string_view certainty_name(Certainty certainty) {
  switch (certainty) {
    case Certainty::Proven:
      return "proven";
    case Certainty::Plausible:
      return "plausible";
    case Certainty::Guessed:
      return "guessed";
  }
  return "guessed";
}

bool is_header(const Found& found) {
  return found.kind == Kind::Header1 || found.kind == Kind::Header2;
}

// One salvaged file, from the first look to the source that is shown.
class Salvager {
 public:
  Salvager(std::shared_ptr<io::ByteSource> source, const Options& options)
      : rescue_{.options = options,
                .source = std::move(source),
                .made = {},
                .file = {},
                .shape = {},
                .found = {},
                .claims = {},
                .weak_claims = {},
                .finding_at = {},
                .report = {}} {}

  Result<Salvaged> run();

 private:
  Status open();
  Status sweep_rest();
  void take_found(Swept swept);
  Status choose_root();
  std::uint64_t reach_of(std::uint64_t root) const;
  bool is_lost(const Found& found) const;
  void claim_extension(std::uint64_t address);
  void walk_reachable();
  void mend_groups();
  void find_root_links();
  void find_unlinked();
  void tell_of_unlinked();
  void count_damaged_trees();
  std::vector<format::Link> lost_links();
  void write_lost_and_found();
  void set_root(std::uint64_t address);
  void tell_of_writer();
  Salvaged finish();

  Rescue rescue_;
  std::optional<Swept> swept_;
  bool swept_whole_ = false;
  std::optional<Survey> reachable_, unlinked_;
  std::uint64_t root_ = format::kUndefinedAddress;
  bool root_opens_ = false;
  std::vector<format::Link> root_links_;  // of a root that has to be made
  std::vector<std::uint64_t> lost_;       // that go into lost+found
};

Status Salvager::open() {
  H5_ASSIGN(rescue_.shape, find_shape(rescue_.source, rescue_.options, swept_));
  swept_whole_ = swept_.has_value();
  const Shape& shape = rescue_.shape;
  rescue_.made = std::make_shared<MadeSource>(rescue_.source, shape.base);
  rescue_.end = rescue_.made->own_end();
  rescue_.steps = kStepsAnyway + kSweepsPerByte * rescue_.source->stored_bytes();
  if (!shape.root_known || shape.flags_left) rescue_.made->lay_over(0, encode_superblock(shape.superblock));
  rescue_.made->begin_behind(std::max(shape.superblock.end_of_file, rescue_.end),
                             shape.superblock.sizes.offsets);
  rescue_.report.superblock = shape.found_by;
  rescue_.report.changed = !shape.found_by.empty() || shape.flags_left;
  if (rescue_.reopen()) return {};
  // An extension that names a cache image that is gone: what the file's own bytes tell is older, but there.
  format::Superblock plain = shape.superblock;
  plain.extension_address = format::kUndefinedAddress;
  rescue_.made->lay_over(0, encode_superblock(plain));
  rescue_.report.changed = true;
  rescue_.report.superblock +=
      rescue_.report.superblock.empty() ? "no superblock extension" : ", no superblock extension";
  return rescue_.reopen();
}

// A cache image holds copies of structures, which are no others.
void Salvager::claim_extension(std::uint64_t address) {
  const auto header = metadata::load_object_header(ClaimingMetadata(rescue_.file, rescue_.claims), address);
  if (!header) return;
  const metadata::HeaderMessage* const image = (*header)->find(format::MessageType::MetadataCacheImage);
  if (image == nullptr) return;
  format::Cursor cursor = image->cursor("MetadataCacheImageMessage");
  if (const auto message = format::decode_cache_image_message(cursor))
    rescue_.claims.add(message->address, message->length);
}

void Salvager::walk_reachable() {
  reachable_.emplace(rescue_.file, rescue_.end, rescue_.claims, nullptr);
  rescue_.claims.add(0, 48);
  const std::uint64_t extension = rescue_.file->superblock().extension_address;
  if (extension != format::kUndefinedAddress) claim_extension(extension);
  if (root_ != format::kUndefinedAddress) reachable_->walk(root_);
  root_opens_ = reachable_->result().reached.contains(root_) &&
                reachable_->result().reached.at(root_) == object::ObjectKind::Group;
  rescue_.claims.settle();
}

void Salvager::take_found(Swept swept) {
  rescue_.report.swept += swept.bytes;
  rescue_.report.found += swept.found.size();
  const std::int64_t base = rescue_.shape.base;
  for (Found& one : swept.found) {
    const std::int64_t address = static_cast<std::int64_t>(one.offset) - base;
    if (address < 0) continue;
    one.offset = static_cast<std::uint64_t>(address);
    rescue_.found.push_back(one);
  }
}

// Where everything is whole, only what nothing accounts for is of interest; else blocks that are led to may
// be looked for too.
Status Salvager::sweep_rest() {
  if (swept_whole_) return {};
  const Surveyed& walked = reachable_->result();
  const bool damaged =
      !root_opens_ || !walked.groups.empty() || !walked.unreadable.empty() ||
      std::ranges::any_of(walked.datasets, [](const auto& d) { return d.index.has_value(); });
  const auto base = static_cast<std::uint64_t>(rescue_.shape.base);
  std::vector<Range> ranges{{0, rescue_.end}};
  if (!damaged) ranges = rescue_.claims.gaps(rescue_.end);
  // Of a file inside another one, what lies behind its end is the other's.
  const std::uint64_t stated = rescue_.shape.superblock.end_of_file;
  for (Range& range : ranges) {
    if (!rescue_.shape.found_by.empty()) range.end = std::max(range.begin, std::min(range.end, stated));
    range.begin += base, range.end += base;
  }
  H5_ASSIGN(Swept swept, sweep(*rescue_.source, ranges, rescue_.options));
  take_found(std::move(swept));
  return {};
}

std::uint64_t Salvager::reach_of(std::uint64_t root) const {
  Claims none;
  Survey survey(rescue_.file, rescue_.end, none, nullptr);
  survey.walk(root);
  return survey.result().reached.size();
}

// The root is the group that nothing links to and that reaches most.
Status Salvager::choose_root() {
  Claims none;
  Survey all(rescue_.file, rescue_.end, none, nullptr);
  for (const Found& found : rescue_.found)
    if (is_header(found)) all.walk(found.offset);
  std::uint64_t most = 0;
  std::size_t compared = 0;
  for (const Found& found : rescue_.found) {
    if (!is_header(found) || compared >= kMaxRoots) continue;
    const auto kind = all.result().reached.find(found.offset);
    if (kind == all.result().reached.end() || kind->second != object::ObjectKind::Group) continue;
    if (all.result().links_in.contains(found.offset)) continue;
    ++compared;
    const std::uint64_t reach = reach_of(found.offset);
    if (reach > most) most = reach, root_ = found.offset;
  }
  if (all.result().reached.empty())
    return fail(Error(ErrorCode::BadSignature, "not an HDF5 file, and no objects of one are in it"));
  if (root_ != format::kUndefinedAddress) set_root(root_);
  return {};
}

void Salvager::set_root(std::uint64_t address) {
  const format::Superblock& block = rescue_.shape.superblock;
  rescue_.report.changed = true;
  if (block.version >= 2 || !rescue_.shape.root_known) {
    format::Superblock changed = rescue_.file->superblock();
    changed.root_address = address;
    rescue_.made->lay_over(0, encode_superblock(changed));
    return;
  }
  // In versions 0 and 1 the address stands in the root's symbol table entry, behind its name.
  const std::size_t o = block.sizes.offsets;
  const std::size_t at = (block.version == 0 ? 24 : 28) + 4 * o + block.sizes.lengths;
  Writer out(block.sizes);
  rescue_.made->lay_over(at, out.address(address).uint(0, 4).take());
}

// ---- groups

// A root whose header is gone: its superblock may still name its tree and heap.
void Salvager::find_root_links() {
  if (root_opens_ || rescue_.shape.root_heap == format::kUndefinedAddress) return;
  const auto table =
      metadata::SymbolTable::open(rescue_.file, rescue_.shape.root_tree, rescue_.shape.root_heap);
  if (!table) return;
  const auto keep = [&](std::string&& name, const format::SymbolTableEntry& entry) {
    format::Link link;
    link.name = std::move(name);
    link.address = entry.header_address;
    if (entry.soft) {
      const auto target = table->heap().text(entry.target_offset);
      if (!target) return true;
      link.type = static_cast<std::uint8_t>(format::LinkType::Soft);
      link.target = *target;
    }
    root_links_.push_back(std::move(link));
    return true;
  };
  (void)table->for_each(keep, [](const Error&) {});
  for (const format::Link& link : root_links_)
    if (link.is(format::LinkType::Hard)) reachable_->walk(link.address);
  rescue_.claims.settle();
}

// Groups that are found through the links of a mended one may be damaged themselves.
void Salvager::mend_groups() {
  std::vector<DamagedGroup>& groups = reachable_->result().groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<format::Link> more = surviving_links(rescue_, groups[i].object, groups[i].links);
    if (more.empty()) continue;
    std::vector<format::Link> links = groups[i].links;
    links.insert(links.end(), more.begin(), more.end());
    if (!replace_links(rescue_, groups[i].object, links)) continue;
    groups[i].links = links;
    Finding finding;
    finding.address = groups[i].object.address;
    // A link that was removed leaves its bytes in the heap, and a node may be left from before a split.
    finding.certainty = Certainty::Guessed;
    finding.found_by = "links in surviving nodes and heap blocks";
    rescue_.note(std::move(finding));
    for (const format::Link& link : more)
      if (link.is(format::LinkType::Hard)) reachable_->walk(link.address);
    rescue_.claims.settle();
  }
}

// ---- what nothing links to

bool Salvager::is_lost(const Found& found) const {
  return is_header(found) && !rescue_.claims.contains(found.offset) &&
         !reachable_->result().reached.contains(found.offset);
}

void Salvager::find_unlinked() {
  unlinked_.emplace(rescue_.file, rescue_.end, rescue_.weak_claims, &rescue_.claims);
  unlinked_->leave_out(reachable_->result());
  std::vector<std::uint64_t> met;
  for (const Found& found : rescue_.found) {
    if (!is_lost(found)) continue;
    unlinked_->walk(found.offset);
    if (unlinked_->result().reached.contains(found.offset)) met.push_back(found.offset);
  }
  rescue_.weak_claims.settle();
  Surveyed& result = unlinked_->result();
  for (const std::uint64_t address : met)
    if (!result.links_in.contains(address) && lost_.size() < kMaxLost) lost_.push_back(address);
  // Groups that link to one another and to which nothing else links: one of them stands for all.
  std::unordered_set<std::uint64_t> covered;
  Claims none;
  for (const std::uint64_t address : lost_) {
    Survey below(rescue_.file, rescue_.end, none, nullptr);
    if (result.reached.at(address) != object::ObjectKind::Group) continue;
    below.walk(address);
    for (const auto& [reached, kind] : below.result().reached) covered.insert(reached);
  }
  covered.insert(lost_.begin(), lost_.end());
  for (const std::uint64_t address : met) {
    if (covered.contains(address) || lost_.size() >= kMaxLost) continue;
    Survey below(rescue_.file, rescue_.end, none, nullptr);
    below.walk(address);
    for (const auto& [reached, kind] : below.result().reached) covered.insert(reached);
    lost_.push_back(address);
  }
}

void Salvager::tell_of_unlinked() {
  for (const auto& [address, kind] : unlinked_->result().reached) {
    Finding finding;
    finding.address = address;
    finding.found_by = "its object header, to which nothing links";
    // Space that nothing leads to may have been used again, and what was written there may be gone too.
    const auto opened = object::open_object(*rescue_.file, address);
    const auto described =
        opened && kind == object::ObjectKind::Dataset
            ? object::describe_dataset(*rescue_.file, *opened)
            : Result<object::DatasetDescription>(fail(Error(ErrorCode::NotFound, "no dataset")));
    const bool within = kind != object::ObjectKind::Dataset ||
                        (described && described->layout.cls == format::LayoutClass::Compact &&
                         !described->type->has_variable_part);
    const bool proven = opened && opened->header->version == 2 && within;
    finding.certainty = proven ? Certainty::Proven : Certainty::Guessed;
    rescue_.note(std::move(finding));
  }
  for (const DatasetTrouble& trouble : unlinked_->result().datasets) rescue_dataset(rescue_, trouble, true);
}

void Salvager::count_damaged_trees() {
  for (const Survey* survey : {&*reachable_, &*unlinked_})
    for (const DatasetTrouble& trouble : survey->result().datasets) {
      const format::ChunkIndexKind index = trouble.description.layout.index;
      const bool tree = index == format::ChunkIndexKind::BTree1 || index == format::ChunkIndexKind::BTree2;
      if (trouble.index && tree) ++rescue_.damaged_trees;
    }
}

// The links of lost+found: each object by a name that something still gives it, else by its address.
std::vector<format::Link> Salvager::lost_links() {
  const auto names = surviving_names(rescue_, reachable_->result().groups, lost_);
  std::vector<format::Link> links;
  std::unordered_set<std::string> taken;
  for (const std::uint64_t address : lost_) {
    format::Link link;
    link.address = address;
    const auto known = names.find(address);
    link.name =
        known != names.end() && known->second.size() <= 200
            ? known->second
            : (unlinked_->result().reached.at(address) == object::ObjectKind::Group ? "group-" : "object-") +
                  std::to_string(address);
    if (!taken.insert(link.name).second) link.name += "-" + std::to_string(address);
    Finding finding;
    finding.address = address;
    finding.name = link.name;
    rescue_.note(std::move(finding));
    links.push_back(std::move(link));
  }
  return links;
}

void Salvager::write_lost_and_found() {
  const std::vector<format::Link> links = lost_.empty() ? std::vector<format::Link>{} : lost_links();
  std::vector<format::Link> root = root_links_;
  std::optional<object::Object> root_object;
  if (root_opens_) {
    const auto opened = object::open_object(*rescue_.file, root_);
    if (!opened) return;
    root_object = *opened;
    const auto& groups = reachable_->result().groups;
    const auto damaged =
        std::ranges::find(groups, root_, [](const DamagedGroup& group) { return group.object.address; });
    if (damaged != groups.end()) {
      root = damaged->links;
    } else if (const auto group = object::Group::open(rescue_.file, *root_object)) {
      (void)(*group)->for_each(
          [&](const format::Link& link) {
            root.push_back(link);
            return true;
          },
          [](const Error&) {});
    }
  }
  if (!links.empty()) {
    const auto made = make_group(rescue_, links);
    if (made) {
      format::Link link;
      link.name = "lost+found";
      const auto has = [&] { return std::ranges::find(root, link.name, &format::Link::name) != root.end(); };
      for (unsigned i = 2; has(); ++i) link.name = "lost+found-" + std::to_string(i);
      link.address = *made;
      if (!root.empty() && root.back().creation_order) {
        std::int64_t last = 0;
        for (const format::Link& one : root) last = std::max(last, one.creation_order.value_or(0));
        link.creation_order = last + 1;
      }
      root.push_back(std::move(link));
      Finding finding;
      finding.address = *made;
      finding.found_by = "made by salvage";
      rescue_.note(std::move(finding));
    }
  }
  if (root_object) {
    if (!links.empty()) (void)replace_links(rescue_, *root_object, root);
    return;
  }
  if (const auto made = make_group(rescue_, root)) {
    set_root(*made);
    Finding finding;
    finding.address = *made;
    finding.certainty = root_links_.empty() ? Certainty::Proven : Certainty::Plausible;
    finding.found_by = "made in the place of a root that cannot be read";
    rescue_.note(std::move(finding));
  }
}

// ---- the end

// A writer that did not close the file may have written one of two structures that belong together.
void Salvager::tell_of_writer() {
  const std::uint64_t stated = rescue_.shape.superblock.end_of_file;
  const bool behind = rescue_.shape.found_by.empty() && rescue_.shape.root_known &&
                      std::ranges::any_of(rescue_.found, [&](const Found& found) {
                        return found.offset >= stated && (is_header(found) || found.kind == Kind::BTree1);
                      });
  Finding all;
  if (rescue_.shape.flags_left || behind) {
    all.certainty = Certainty::Guessed;
    all.found_by = "a file that its writer did not close";
  } else if (!rescue_.shape.root_known) {
    all.certainty = Certainty::Guessed;
    all.found_by = "a root that was inferred";
  } else if (!rescue_.shape.found_by.empty()) {
    all.certainty = Certainty::Plausible;
    all.found_by = rescue_.shape.found_by;
  } else {
    return;
  }
  rescue_.made->remark_on_all(all.json());
  rescue_.report.changed = true;
}

Salvaged Salvager::finish() {
  Report& report = rescue_.report;
  if (!report.changed) return {rescue_.source, std::move(report)};
  for (const Finding& finding : report.findings) rescue_.made->remark_on(finding.address, finding.json());
  return {rescue_.made, std::move(report)};
}

Result<Salvaged> Salvager::run() {
  H5_TRY(open());
  if (swept_whole_) take_found(*std::move(swept_));
  root_ = rescue_.shape.root_known ? rescue_.shape.superblock.root_address : format::kUndefinedAddress;
  if (!rescue_.shape.root_known) H5_TRY(choose_root());
  walk_reachable();
  H5_TRY(sweep_rest());
  find_root_links();
  mend_groups();
  find_unlinked();
  count_damaged_trees();
  for (const DatasetTrouble& trouble : reachable_->result().datasets) rescue_dataset(rescue_, trouble, false);
  tell_of_unlinked();
  if (!lost_.empty() || !root_opens_) write_lost_and_found();
  tell_of_writer();
  return finish();
}

}  // namespace

std::string Finding::json() const {
  std::string out = R"({"certainty":")";
  out.append(certainty_name(certainty)).append(R"(","found_by":")").append(found_by);
  out.append(R"(","missing":[)");
  for (const Range& range : missing) {
    if (out.back() != '[') out += ',';
    out.append("[").append(std::to_string(range.begin)).append(",").append(std::to_string(range.end)) += ']';
  }
  return out.append(R"(],"filled":)").append(std::to_string(filled)).append("}");
}

Result<Salvaged> salvage_source(std::shared_ptr<io::ByteSource> source, const Options& options) {
  // Members of a set lie far apart in the address space, and some may be missing: what is sought may be
  // there.
  if (source->stored_bytes() != source->size()) return Salvaged{std::move(source), {}};
  io::SourceState& state = source->state();
  H5_ASSIGN(const io::SourceStamp before, io::settled_stamp(state));
  H5_ASSIGN(Salvaged out, Salvager(source, options).run());
  H5_ASSIGN(const io::SourceStamp after, state.stamp());
  if (!io::same_bytes(before, after))
    return fail(Error(ErrorCode::Stale, source->name() + " was written while it was salvaged"));
  return out;
}

bool may_help(const Error& error) {
  switch (error.code()) {
    case ErrorCode::BadSignature:
    case ErrorCode::ChecksumMismatch:
    case ErrorCode::Truncated:
    case ErrorCode::InvalidValue:
    case ErrorCode::OutOfRange:
    case ErrorCode::UnsupportedVersion:
    case ErrorCode::Cycle:
      return true;
    default:
      return false;
  }
}

}  // namespace h5mount::salvage

#include "h5mount/salvage/salvage.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "find/claiming_metadata.h"
#include "h5mount/base/checked.h"
#include "h5mount/format/cache_image.h"
#include "h5mount/format/filter_ids.h"
#include "salvager.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kStepsAnyway = 64U << 20;
constexpr std::size_t kMaxRegained =
    1U << 19;  // objects of which it is told that the ordinary way does not reach them

void append_ranges(std::span<const Range> ranges, std::string& out) {
  for (const Range& range : ranges) {
    if (out.back() != '[') out += ',';
    out.append("[").append(std::to_string(range.begin)).append(",").append(std::to_string(range.end)) += ']';
  }
}

// Whether data may follow `address`, where the file should end. libhdf5 cuts a file at its stated end when it
// closes it; versions that write old superblocks left a few bytes behind it. Zeros do not count, as other
// programs pad files with them.
bool has_bytes_from(const io::ByteSource& source, std::uint64_t address, unsigned version) {
  constexpr std::uint64_t kLooked = 1U << 20, kLeftByOld = 512;
  const std::uint64_t least = version < 2 ? kLeftByOld : 0;
  if (address >= source.size() || source.size() - address <= least) return false;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(kLooked, source.size() - address)));
  return source.read_at(address, bytes) &&
         std::ranges::any_of(bytes, [](std::byte one) { return one != std::byte{0}; });
}

}  // namespace

Status Salvager::open() {
  H5_ASSIGN(state_.shape, find_shape(state_.source, state_.options, swept_));
  swept_whole_ = swept_.has_value();
  state_.filled_left = kFilledAnyway + kFilledPerFileByte * state_.source->stored_bytes();
  state_.decoded_left = state_.filled_left;
  const Shape& shape = state_.shape;
  state_.made = std::make_shared<MadeSource>(state_.source, shape.base);
  state_.end = state_.made->own_end();
  state_.steps = kStepsAnyway + kSweepsPerByte * state_.source->stored_bytes();
  if (!shape.root_known || shape.flags_left)
    state_.made->lay_over(0, format::encode_superblock(shape.superblock));
  state_.data.end = std::max(shape.superblock.end_from_base(), state_.end);
  state_.made->begin_behind(state_.data.end, shape.superblock.sizes.offsets);
  state_.findings.report.superblock = shape.found_by;
  state_.findings.report.changed = !shape.found_by.empty() || shape.flags_left;
  if (state_.reopen()) return {};
  // The superblock's extension may name a cache image that is gone. Without the extension the file's own
  // structures are read, which are older but are there.
  format::Superblock plain = shape.superblock;
  plain.extension_address = format::kUndefinedAddress;
  state_.made->lay_over(0, format::encode_superblock(plain));
  state_.findings.report.changed = true;
  state_.findings.report.superblock +=
      state_.findings.report.superblock.empty() ? "no superblock extension" : ", no superblock extension";
  return state_.reopen();
}

// Notes the cache image as used: it holds copies of structures, which must not be found as further
// structures.
void Salvager::claim_extension(std::uint64_t address) {
  std::uint64_t read = 0;
  const ClaimingMetadata file(state_.file, state_.used, read);
  const auto header = metadata::load_object_header(file, address);
  if (!header) return;
  const metadata::HeaderMessage* const image = (*header)->find(format::MessageType::MetadataCacheImage);
  if (image == nullptr) return;
  format::Cursor cursor = image->cursor("MetadataCacheImageMessage");
  if (const auto message = format::decode_cache_image_message(cursor))
    state_.used.add(message->address, message->length);
}

void Salvager::walk_reachable() {
  reachable_.emplace(state_.file, state_.end, state_.used, nullptr, state_.options, &state_.data);
  state_.used.add(0, 48);
  const std::uint64_t extension = state_.file->superblock().extension_address;
  if (extension != format::kUndefinedAddress) claim_extension(extension);
  if (root_ != format::kUndefinedAddress) reachable_->walk(root_);
  root_opens_ = reachable_->result().is_group(root_);
  const Surveyed& walked = reachable_->result();
  if (!root_opens_ || !walked.groups.empty() || !walked.unreadable.empty()) ordinary_ = walked.reached;
  state_.used.settle();
}

void Salvager::take_unreadable(const std::vector<Range>& ranges) {
  const std::int64_t base = state_.shape.base;
  for (const Range& range : ranges) {
    state_.findings.report.unreadable.push_back(range);
    const auto begin = std::max<std::int64_t>(static_cast<std::int64_t>(range.begin) - base, 0);
    const auto end = static_cast<std::int64_t>(range.end) - base;
    if (begin < end)
      state_.unreadable.add(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end - begin));
  }
  state_.unreadable.settle();
}

void Salvager::take_found(Swept swept) {
  take_unreadable(swept.unreadable);
  state_.findings.report.swept += swept.bytes;
  state_.findings.report.found += swept.found.size();
  const std::int64_t base = state_.shape.base;
  std::erase_if(swept.found, [&](const Found& one) { return static_cast<std::int64_t>(one.offset) < base; });
  for (Found& one : swept.found)
    one = Found(static_cast<std::uint64_t>(static_cast<std::int64_t>(one.offset) - base), one.kind);
  state_.take_found(std::move(swept.found));
}

// If everything is whole, only bytes that nothing accounts for are swept; else blocks that are referred to
// may be looked for too. To fill what a disk does not give, all others have to be read.
Status Salvager::sweep_rest() {
  if (swept_whole_) return {};
  const Surveyed& walked = reachable_->result();
  const bool damaged = !root_opens_ || !walked.groups.empty() || !walked.unreadable.empty() ||
                       std::ranges::any_of(walked.datasets, &DamagedDataset::index);
  const auto base = static_cast<std::uint64_t>(state_.shape.base);
  std::vector<Range> ranges{{0, state_.end}};
  OnlyRead only_read;
  if (!damaged && state_.options.fill && !state_.source->far())
    only_read = {&state_.used, base};
  else if (!damaged)
    ranges = state_.used.gaps(state_.end);
  // If the file lies inside another one, bytes behind its end belong to the other file.
  const std::uint64_t stated = state_.shape.superblock.end_from_base();
  for (Range& range : ranges) {
    if (!state_.shape.found_by.empty()) range.end = std::max(range.begin, std::min(range.end, stated));
    range.begin += base, range.end += base;
  }
  H5_ASSIGN(Swept swept, sweep(*state_.source, ranges, state_.options, only_read));
  take_found(std::move(swept));
  return {};
}

// Mends the headers of objects that are linked to and cannot be opened. Objects that a mended group leads to
// may be damaged too.
void Salvager::mend_headers() {
  std::vector<std::uint64_t>& broken = reachable_->result().unreadable;
  if (!root_opens_ && state_.shape.root_known && root_links_.empty()) broken.push_back(root_);
  if (broken.empty()) return;
  const auto tables = cached_tables(state_);
  std::unordered_set<std::uint64_t> tried;
  while (!broken.empty()) {
    std::vector<std::uint64_t> mended;
    for (const std::uint64_t address : std::exchange(broken, {})) {
      if (!tried.insert(address).second) continue;
      const auto table = tables.find(address);
      const bool old = table != tables.end() && mend_old_group(state_, address, table->second);
      if (!old && !mend_header(state_, address)) continue;
      state_.findings.note(address, Certainty::Guessed,
                           old ? "its entry in a symbol node; its header is damaged"
                               : "messages that are left of its damaged header");
      mended.push_back(address);
    }
    if (mended.empty() || !state_.reopen()) return;
    reachable_->read_through(state_.file);
    for (const std::uint64_t address : mended) reachable_->walk(address);
    state_.used.settle();
  }
  root_opens_ = reachable_->result().is_group(root_);
}

// Rebuilds the links of damaged groups. Groups that are found through the links of a mended one may be
// damaged themselves.
void Salvager::mend_groups() {
  std::vector<DamagedGroup>& groups = reachable_->result().groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<format::Link> more = surviving_links(state_, groups[i].object, groups[i].links);
    if (more.empty()) continue;
    std::vector<format::Link> links = groups[i].links;
    links.insert(links.end(), more.begin(), more.end());
    if (!replace_links(state_, groups[i].object, links)) continue;
    groups[i].links = links;
    // Removed links leave their bytes in the heap, and a node may be left from before a split.
    state_.findings.note(groups[i].object.address, Certainty::Guessed,
                         "links in surviving nodes and heap blocks");
    for (const format::Link& link : more)
      if (link.is(format::LinkType::Hard)) reachable_->walk(link.address);
    state_.used.settle();
  }
}

// Objects that only mended groups and headers lead to. The link to one may have been removed, and its space
// used again.
void Salvager::note_regained() {
  if (!ordinary_) return;
  std::size_t told = 0;
  reachable_->result().reached.for_each([&](std::uint64_t address, std::uint8_t kind) {
    if (ordinary_->contains(address) || ++told > kMaxRegained) return;
    note_object(address, static_cast<object::ObjectKind>(kind), "a link of a damaged group or header");
  });
}

void Salvager::count_damaged_trees() {
  for (const Survey* survey : {&*reachable_, &*unlinked_})
    for (const DamagedDataset& one : survey->result().datasets)
      if (one.index && one.index_tree) ++state_.damaged_trees;
}

// The datasets that are not damaged, ascending; `summed`: of these, those that have Fletcher-32.
std::vector<std::uint64_t> Salvager::datasets_beside(const Surveyed& walked, bool summed) const {
  std::unordered_set<std::uint64_t> damaged;
  for (const DamagedDataset& one : walked.datasets) damaged.insert(one.address);
  std::vector<std::uint64_t> out;
  if (summed) {
    std::ranges::copy_if(walked.summed, std::back_inserter(out),
                         [&](std::uint64_t address) { return !damaged.contains(address); });
    return out;
  }
  walked.reached.for_each([&](std::uint64_t address, std::uint8_t kind) {
    if (kind == static_cast<std::uint8_t>(object::ObjectKind::Dataset) && !damaged.contains(address))
      out.push_back(address);
  });
  std::ranges::sort(out);
  return out;
}

// Whether salvage has to look at the dataset's bytes, though its structures are sound. With `fill` all that
// have filters: only decoding a chunk tells whether it can be decoded.
bool Salvager::needs_look(const object::DatasetDescription& dataset) const {
  if (state_.options.fill && !dataset.pipeline.filters.empty()) return true;
  if (dataset.layout.cls == format::LayoutClass::Chunked && has_filter(dataset, format::kFletcher32))
    return true;
  if (state_.unreadable.count() == 0) return false;
  if (dataset.layout.cls == format::LayoutClass::Chunked) return true;
  const std::uint64_t begin = dataset.layout.address;
  return is_contiguous(dataset) &&
         state_.unreadable.touches(begin, checked_add(begin, dataset.image_bytes).value_or(begin));
}

void Salvager::mend_datasets(const Surveyed& walked, bool unlinked) {
  for (const DamagedDataset& one : walked.datasets) {
    if (!state_.go_on()) return;
    if (const auto dataset = state_.describe(one.address)) mend_dataset(state_, *dataset, unlinked);
  }
  // A writer whose disk was full leaves such chunks: one of them has the bytes of the other.
  for (const std::uint64_t address : walked.overlapping)
    state_.findings.note(address, Certainty::Guessed, "an index of chunks that overlap one another");
  for (const std::uint64_t address : walked.misnamed)
    state_.findings.note(address, Certainty::Guessed, "a list of links whose names are out of order");
  const bool all = state_.options.fill || state_.unreadable.count() > 0;
  for (const std::uint64_t address : datasets_beside(walked, !all)) {
    if (!state_.go_on()) return;
    const auto dataset = state_.describe(address);
    if (dataset && needs_look(dataset->description)) mend_dataset(state_, *dataset, unlinked);
  }
}

// If the writer did not close the file, it may have written only one of two structures that belong together.
void Salvager::note_writer() {
  const std::uint64_t stated = state_.shape.superblock.end_from_base();
  const auto base = static_cast<std::uint64_t>(state_.shape.base);
  const bool as_stated = state_.shape.found_by.empty() && state_.shape.root_known;
  const bool behind =
      as_stated && (has_bytes_from(*state_.source, checked_add(base, stated).value_or(~std::uint64_t{0}),
                                   state_.shape.superblock.version) ||
                    std::ranges::any_of(state_.found, [&](const Found& found) {
                      return found.offset >= stated && is_header(found);
                    }));
  Finding all;
  if (state_.findings.incomplete) {
    all.certainty = Certainty::Guessed;
    all.found_by = "a file of which more is damaged than is told";
  } else if (state_.shape.flags_left || behind) {
    all.certainty = Certainty::Guessed;
    all.found_by = "a file that its writer did not close";
  } else if (!state_.shape.root_known) {
    all.certainty = Certainty::Guessed;
    all.found_by = "a root that was inferred";
  } else if (!state_.shape.found_by.empty()) {
    all.certainty = Certainty::Plausible;
    all.found_by = state_.shape.found_by;
  } else {
    return;
  }
  state_.made->remark_on_all(all.json());
  state_.findings.report.changed = true;
  general_ = std::move(all);
}

Salvaged Salvager::finish() {
  Report& report = state_.findings.report;
  if (!report.changed && report.findings.empty()) return {state_.source, std::move(report)};
  for (Finding& finding : report.findings) {
    std::string text = finding.json();
    if (general_ && general_->certainty > finding.certainty) {
      finding.certainty = general_->certainty;
      Finding both = finding;  // the report has the reason once, as there may be many findings
      both.found_by += ", in " + general_->found_by;
      text = both.json();
    }
    state_.made->remark_on(finding.address, std::move(text));
    if (!finding.missing.empty() && finding.filled == 0) state_.made->note_missing(finding.address);
  }
  return {state_.made, std::move(report)};
}

// Fails if options.progress ended a walk: the result would be incomplete.
Status Salvager::check_walks() const {
  const bool stopped =
      state_.stopped || (reachable_ && reachable_->stopped()) || (unlinked_ && unlinked_->stopped());
  return stopped ? Status(fail(Error(ErrorCode::Interrupted, "salvage was interrupted"))) : Status{};
}

Result<Salvaged> Salvager::run() {
  H5_TRY(open());
  if (swept_whole_) take_found(*std::move(swept_));
  root_ = state_.shape.root_known ? state_.shape.superblock.root_address : format::kUndefinedAddress;
  if (!state_.shape.root_known) H5_TRY(choose_root());
  walk_reachable();
  H5_TRY(check_walks());
  H5_TRY(sweep_rest());
  find_root_links();
  mend_headers();
  mend_groups();
  note_regained();
  find_unlinked();
  H5_TRY(check_walks());
  count_damaged_trees();
  mend_datasets(reachable_->result(), false);
  note_shared();
  note_unlinked();
  H5_TRY(check_walks());
  note_writer();
  if (!lost_.empty() || !root_opens_) write_lost_and_found();
  return finish();
}

void Finding::add_reason(std::string_view reason) {
  if (reason.empty() || found_by.find(reason) != std::string::npos) return;
  found_by.append(found_by.empty() ? "" : ", ").append(reason);
}

std::string Finding::json() const {
  std::string out = R"({"certainty":")";
  static constexpr std::string_view kNames[] = {"proven", "plausible", "guessed"};
  out.append(kNames[static_cast<std::size_t>(certainty)]).append(R"(","found_by":")").append(found_by);
  out.append(R"(","missing":[)");
  append_ranges(missing, out);
  out.append(R"(],"filled":)").append(std::to_string(filled));
  if (guessed.empty()) return out.append("}");
  out.append(R"(,"guessed":[)");
  append_ranges(guessed, out);
  return out.append("]}");
}

Result<Salvaged> salvage_source(std::shared_ptr<io::ByteSource> source, const Options& options) {
  // Members of a file set lie far apart in the address space, and some may be missing: lost structures may be
  // in these.
  if (source->stored_bytes() != source->size()) return Salvaged{std::move(source), {}};
  io::SourceState& state = source->state();
  H5_ASSIGN(const io::SourceStamp before, io::settled_stamp(state));
  H5_ASSIGN(Salvaged out, Salvager(source, options).run());
  H5_ASSIGN(const io::SourceStamp after, state.stamp());
  if (!io::same_bytes(before, after))
    return fail(Error(ErrorCode::Stale, source->name() + " was written while it was salvaged"));
  return out;
}

bool opens_plainly(const std::shared_ptr<io::ByteSource>& source) {
  if (source->stored_bytes() != source->size()) return true;
  const auto file = metadata::FileMetadata::open(source, {.force = true});
  if (!file) return false;
  const format::Superblock& superblock = (*file)->superblock();
  if (superblock.open_for_writing() && !superblock.open_for_swmr_writing()) return false;
  const auto root = object::open_object(**file, (*file)->root_address());
  return root && root->kind == object::ObjectKind::Group && !root->header->damage &&
         !has_bytes_from(*(*file)->source(), superblock.end_from_base(), superblock.version);
}

}  // namespace h5mount::salvage

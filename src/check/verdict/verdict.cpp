#include "h5mount/check/verdict.h"

#include <fmt/format.h>
#include <time.h>

#include <new>
#include <set>
#include <unordered_set>

#include "../walk.h"
#include "file_names.h"
#include "findings.h"
#include "foreign_bytes.h"
#include "h5mount/base/momentary.h"
#include "h5mount/filter/plugins.h"
#include "h5mount/format/virtual_mapping.h"
#include "h5mount/metadata/global_heap.h"
#include "heap_references.h"
#include "loops.h"
#include "owners.h"
#include "reference_targets.h"
#include "sizes.h"

namespace h5mount::check {

namespace {

// Nanoseconds of the processor that the calling thread has used.
std::int64_t processor_time() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

class Judge final : public Report, public Observer {
 public:
  Judge(const object::OpenedFilePtr& file, const Policy& policy, const VerdictOptions& options)
      : policy_(policy),
        options_(options),
        names_(file, policy, findings_),
        sizes_(policy, findings_),
        references_(file->snapshot()->sizes()),
        walk_(file, nullptr, Options{.quick = options.quick}, *this, this, &ranges_) {}

  Verdict run() {
    // What others hold is not looked at.
    if (names_.judge_set(walk_.metadata())) judge_all();
    // What could not be read, wherever that was put up with, was not judged. A walk that is stopped is told.
    if (const auto& met = watch_.met(); met && met->code() != ErrorCode::Interrupted)
      findings_.add_damage({Severity::Damage, "", *met}, policy_.strict);
    return findings_.take();
  }

 private:
  void judge_all() {
    walk_.run();
    if (tally().go_on()) judge_overlaps();
    judge_foreign_bytes(walk_, policy_.strict, whole_ && tally().go_on(), tally(), findings_);
    if (!out_of_bounds_) sizes_.judge_file(references_.claimed_unfollowed(), stored_bytes());
    tell_counts();
  }

  Tally& tally() { return walk_.tally(); }
  std::string path(PlaceId place) const { return walk_.places().path(place); }
  std::uint64_t stored_bytes() const { return walk_.metadata().source()->stored_bytes(); }

  // ---- Report

  void found(const Finding& finding) override {
    findings_.add_damage(finding, policy_.strict);
    whole_ = whole_ && (finding.severity == Severity::Note || finding.read_all_the_same);
  }

  bool go_on(const Totals& so_far) override {
    constexpr unsigned kEach = 16;
    totals_ = so_far;
    if (++asked_ % kEach == 0 && processor_time() - began_ > most_time())
      out_of_bounds_ = "5 s of a processor";
    if (walk_.places().size() > kMostPlaces || ranges_.full() || loops_.full())
      out_of_bounds_ = "1 GiB of memory";
    return out_of_bounds_ == nullptr && !above(so_far.objects, policy_.max_object_count) &&
           !above(so_far.attributes, policy_.max_attribute_count) &&
           !above(so_far.chunks, policy_.max_chunk_count);
  }

  // What is left for the end: extents and references are sorted.
  std::int64_t most_time() const {
    constexpr std::int64_t kMost = 4'400'000'000, kEach = 100;
    return kMost - kEach * static_cast<std::int64_t>(walk_.context().extents.count() + references_.count());
  }

  static bool above(std::uint64_t count, const Limit& most) { return most && count > *most; }

  void tell_counts() {
    totals_ = tally().totals();
    const auto tell = [&](VerdictKind kind, std::uint64_t count, const Limit& most) {
      if (above(count, most)) findings_.add(kind, VerdictCode::TooMuch, "/", count, *most);
    };
    tell(VerdictKind::ObjectCount, totals_.objects, policy_.max_object_count);
    tell(VerdictKind::AttributeCount, totals_.attributes, policy_.max_attribute_count);
    tell(VerdictKind::ChunkCount, totals_.chunks, policy_.max_chunk_count);
    if (out_of_bounds_ == nullptr) return;
    const bool chunks = totals_.chunks > totals_.objects;
    findings_.add(chunks ? VerdictKind::ChunkCount : VerdictKind::ObjectCount, VerdictCode::TooMuch, "/", {},
                  out_of_bounds_);
  }

  // ---- Observer

  bool met_link(PlaceId group, const format::Link& link) override {
    if (link.is(format::LinkType::External))
      names_.judge(VerdictKind::ExternalLink, policy_.allow_external_links,
                   walk_.places().link_path(group, link.name), link.file);
    if (unlinked_) return true;
    if (link.is(format::LinkType::Soft)) loops_.add_soft_link(group, link);
    if (!link.is(format::LinkType::Hard)) return true;
    if (const auto known = walk_.places().find(link.address)) {
      loops_.add_hard_link(group, *known);
      return true;
    }
    const std::uint64_t depth = walk_.places().depth(group) + std::uint64_t{1};
    if (!above(depth, policy_.max_link_traversal_depth)) return true;
    findings_.add(VerdictKind::LinkDepth, VerdictCode::TooMuch, walk_.places().link_path(group, link.name),
                  depth, *policy_.max_link_traversal_depth);
    walk_.leave_out_counts();
    whole_ = false;
    return false;
  }

  void met_object(PlaceId place, const object::Object& object) override {
    if (!unlinked_) owners_.judge(walk_.places(), place, object);
  }

  void met_type(PlaceId place, const format::Datatype& type) override {
    sizes_.judge_type(walk_.places(), place, type);
  }

  void met_attribute(PlaceId place, const object::Attribute& attribute) override {
    if (!attribute.type) return;
    sizes_.judge_type(walk_.places(), place, *attribute.type);
    if (!attribute.damage) met_elements(place, attribute.type, attribute.data);
  }

  void met_dataset(PlaceId place, const object::DatasetParts& dataset) override {
    const std::string at = path(place);
    sizes_.judge_shape(at, dataset);
    if (dataset.type) sizes_.judge_type(walk_.places(), place, *dataset.description.type);
    for (const object::ExternalSegment& segment : dataset.description.external)
      names_.judge(VerdictKind::ExternalStorage, policy_.allow_external_storage, at, segment.file);
    if (dataset.layout && !unlinked_) owners_.judge(walk_.places(), place, dataset.description.layout);
    others_ = !dataset.description.external.empty();
    if (dataset.layout && dataset.description.layout.cls == format::LayoutClass::Virtual)
      judge_sources(place, dataset.description.layout);
  }

  void judge_sources(PlaceId place, const format::DataLayout& layout) {
    if (layout.virtual_heap_address == format::kUndefinedAddress) return;
    const auto stored = metadata::load_global_heap_object(*metadata(), layout.virtual_heap_address,
                                                          layout.virtual_heap_index);
    if (!stored) return;  // the walk tells of it
    if (!unlinked_) references_.add_object(place, layout.virtual_heap_address, layout.virtual_heap_index);
    if (!mappings_.emplace(layout.virtual_heap_address, layout.virtual_heap_index).second)
      return;  // shared, which is not allowed: looked at once
    format::Cursor cursor(stored->bytes(), walk_.metadata().base_address() + layout.virtual_heap_address,
                          "VirtualMappings", walk_.metadata().sizes());
    std::unordered_set<std::string> files, own;
    const Status walked =
        format::for_each_virtual_mapping(cursor, [&](format::VirtualMapping mapping, std::size_t) -> Status {
          if (!tally().go_on()) return fail(Error(ErrorCode::Interrupted, "no more is wanted"));
          if (!unlinked_ && names_.is_own(mapping.file) && own.insert(mapping.dataset).second)
            loops_.add_source(place, mapping.dataset);
          if (mapping.file == "." || !files.insert(mapping.file).second) return {};
          names_.judge_pattern(VerdictKind::VirtualSource, policy_.allow_vds, path(place), mapping.file);
          return {};
        });
    if (!walked) walk_.context().found(place, walked.error());
    others_ = others_ || !files.empty();
  }

  void met_elements(PlaceId place, const format::DatatypePtr& type, ByteSpan elements) override {
    if (!unlinked_) references_.add(place, type, elements);
    targets_.add(
        *type, elements, metadata(), [this] { return tally().go_on(); },
        [&](const std::string& name) {
          names_.judge(VerdictKind::ExternalLink, policy_.allow_external_links, path(place), name);
        });
  }

  void met_storage(PlaceId place, const object::DatasetDescription& dataset,
                   const DataTotals& stored) override {
    if (others_) return;
    const bool made = dataset.layout.cls == format::LayoutClass::Virtual;
    sizes_.judge_expansion(path(place), Sizes::claimed_by(dataset, stored.chunks),
                           made ? stored_bytes() : stored.bytes + dataset.layout.compact_data.size());
  }

  void met_filters(PlaceId place, std::span<const format::FilterDescription> filters) override {
    sizes_.judge_filters(path(place), filters);
  }

  void met_unknown_message(PlaceId place, std::uint64_t type, std::uint64_t flags) override {
    if (format::must_be_understood(static_cast<std::uint16_t>(type), static_cast<std::uint8_t>(flags)))
      findings_.add(VerdictKind::UnknownMessage, VerdictCode::Corrupt, path(place), type);
    else
      findings_.forbid(VerdictKind::UnknownMessage, policy_.strict, path(place), type);
  }

  void met_all() override {
    if (tally().go_on()) loops_.judge(walk_, tally(), findings_);
    if (tally().go_on()) references_.judge(walk_, tally(), findings_);
    if (tally().go_on()) judge_unlinked();
    for (const auto& [place, claim] : references_.claims())
      sizes_.judge_expansion(path(place), static_cast<double>(claim.claimed), claim.stored);
  }

  // ---- what no link leads to

  // Tells of no damage: see judge_unlinked.
  class UnlinkedReport final : public Report {
   public:
    explicit UnlinkedReport(Judge& judge) : judge_(judge), before_(judge.tally().totals()) {}
    void found(const Finding& /*finding*/) override {}
    bool go_on(const Totals& so_far) override {
      Totals all = before_;
      for (const auto which : kCounted) all.*which += so_far.*which;
      return judge_.go_on(all);
    }

   private:
    Judge& judge_;
    const Totals before_;
  };

  // Objects that references lead to. They may have been deleted, and others have their space by now: what is
  // damaged or overlaps there says nothing, so they are read apart from all others.
  void judge_unlinked() {
    const Context& linked = walk_.context();
    UnlinkedReport report(*this);
    Tally tally(Options{.quick = options_.quick}, report);
    Extents extents(linked.metadata->source()->size());
    ValueWork values(stored_bytes(), tally);
    Structures structures(stored_bytes());
    unlinked_ = linked.file->snapshot();
    const Context context{nullptr,    linked.file, unlinked_,         tally, linked.places, extents, values,
                          structures, nullptr,     linked.stored_end, this};
    for (PlaceId next = linked.places.size(), end = next; tally.go_on(); end = linked.places.size()) {
      for (; next < end && tally.go_on(); ++next) check_object(context, next);
      for (const std::uint64_t address : targets_.take())
        if (!linked.places.find(address) && tally.go_on() && is_object(address))
          linked.places.add_unlinked(address, unlinked_->base_address() + address);
      if (next == linked.places.size()) break;
    }
    for (const auto which : kCounted) walk_.tally().count(which, tally.totals().*which);
    unlinked_ = nullptr;
  }

  bool is_object(std::uint64_t address) const {
    const auto object = object::open_object(*unlinked_, address);
    return object && !object->header->damage;
  }

  static constexpr std::uint64_t Totals::* kCounted[] = {&Totals::objects, &Totals::attributes,
                                                         &Totals::chunks};

  // The metadata through which the object that is met is read.
  const metadata::FileMetadataPtr& metadata() const {
    return unlinked_ ? unlinked_ : walk_.context().metadata;
  }

  // ---- the rest

  void judge_overlaps() {
    const std::uint64_t base = walk_.metadata().base_address();
    const auto found = [&](const std::string& place, std::string what) {
      findings_.add(VerdictKind::Overlap, VerdictCode::Corrupt, place, std::move(what));
    };
    for_each_overlap(walk_.data(), [&](const Extent& extent, const Extent& other) {
      found(path(extent.owner), "raw data of " + path(other.owner));
    });
    ranges_.finish();
    ranges_.for_each_overlap([&](const StructureRange& outer, const StructureRange& inner) {
      found(offset_place(base + inner.begin),
            fmt::format("{} in {} at offset {}", inner.structure, outer.structure, base + outer.begin));
    });
    ranges_.for_each_overlap(walk_.data(), [&](const StructureRange& structure, const Extent& extent) {
      found(path(extent.owner), fmt::format("{} at offset {}", structure.structure, base + structure.begin));
    });
  }

  static constexpr PlaceId kMostPlaces = 2U << 20;

  const Policy& policy_;
  const VerdictOptions& options_;
  const filter::WithoutPlugins no_plugins_;
  const MomentaryWatch watch_;
  const std::int64_t began_ = processor_time();
  unsigned asked_ = 0;
  const char* out_of_bounds_ = nullptr;  // of what there is no more
  bool whole_ = true;                    // whether all objects are walked over, and none is damaged
  std::set<std::pair<std::uint64_t, std::uint32_t>> mappings_;  // objects of the heap, of virtual datasets
  bool others_ = false;  // whether other files have the data of the dataset met last
  Totals totals_;
  Findings findings_;
  metadata::FileMetadataPtr unlinked_;  // null: what is met is linked
  ReferenceTargets targets_;
  FileNames names_;
  Sizes sizes_;
  Owners owners_{findings_};
  Loops loops_{policy_.max_link_traversal_depth};
  HeapReferences references_;
  StructureRanges ranges_;
  Walk walk_;
};

}  // namespace

Verdict judge_file(const object::OpenedFilePtr& file, const Policy& policy, const VerdictOptions& options) {
  try {
    return Judge(file, policy, options).run();
  } catch (const std::bad_alloc&) {
    return verdict_of_unopened(no_memory());
  }
}

}  // namespace h5mount::check

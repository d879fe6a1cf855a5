#include "references.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "../objects/attribute_values.h"
#include "../zarr/followed_variable.h"
#include "../zarr/zarr_store.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/utf8.h"
#include "h5mount/io/remarks.h"
#include "h5mount/view/reference.h"

namespace h5mount::tree {

namespace {

// GDAL refuses a string of more than 10,000,000 characters, and base64 makes four of three bytes.
constexpr std::uint64_t kMostHeldBytes = 7'499'000;
constexpr std::uint64_t kStepsPerReference = 100;
constexpr std::uint64_t kMostHeldTogether = 64U << 20;

// Whether an error tells of the moment or of the whole file, and not of one object.
bool says_nothing(const Error& error) {
  return is_momentary(error) || error.code() == ErrorCode::Stale;
}

bool has_json_name(const std::string& path) {
  return path.contains(".json");
}

// Which chunks of an array are a part: so many, from each multiple of `within` on.
struct PartRule {
  std::uint64_t chunks, within;
  std::uint64_t behind(std::uint64_t begin) const {
    return std::min(begin + chunks, (begin / within + 1) * within);
  }
};
// Of Icechunk a box of the grid: places along one axis with all of the axes behind it.
PartRule part_rule(ReferencesForm form, std::span<const std::uint64_t> grid, std::size_t names) {
  constexpr std::uint64_t kMost = ReferencePlan::kPartChunks;
  if (form != ReferencesForm::Icechunk) return {kMost, std::numeric_limits<std::uint64_t>::max() / 2};
  const std::uint64_t most = std::max<std::uint64_t>(kMost / names, 1);
  std::uint64_t inner = 1;
  for (std::size_t axis = grid.size(); axis-- > 0;) {
    const std::uint64_t extent = std::max<std::uint64_t>(grid[axis], 1);
    if (extent > most / inner) return {most / inner * inner, extent * inner};
    inner *= extent;
  }
  return {inner, inner};
}

// Why fsspec or GDAL do not accept an array, or the whole store for its sake, in Parquet; empty: they do.
std::string json_only(const std::string& path, const view::ZarrArray& array) {
  constexpr std::size_t kMostDimensions = 32;
  if (has_json_name(path)) return "fsspec takes a path with .json for a file of references";
  if (array.chunk_count() == 0) return "GDAL reads no array of zero extent in Parquet";
  if (array.shape().size() + array.type().dims.size() > kMostDimensions) return "more than 32 dimensions";
  return {};
}

// Walks a file's store and hands its references to a sink.
class ReferencesWriter {
 public:
  ReferencesWriter(const ServedFilePtr& file, ReferencesForm form, ReferenceSink& sink, RequestBudget& budget)
      : file_(file),
        form_(form),
        encoding_(form == ReferencesForm::Icechunk ? view::ZarrEncoding::StoredVersion3
                                                   : view::ZarrEncoding::Stored),
        options_(file->context().options.references),
        sink_(sink),
        budget_(budget),
        files_(options_, file->file()->path),
        charge_(file->context().environment.cache->no_charge()) {}

  Result<ReferenceSummary> run() {
    H5_TRY(write_all());
    summary_.files = files_.take();
    return std::move(summary_);
  }

  Result<ReferencePlan> plan() {
    ReferencePlan out;
    plan_ = &out;
    out.form = form_;
    H5_TRY(write_all());
    for (std::size_t i = 0; i < out.arrays.size(); ++i)
      for (const std::string& path : out.arrays[i].paths) out.paths.push_back({path, i});
    std::ranges::sort(out.paths, {}, &ReferencePlan::Path::path);
    summary_.files = files_.take();
    out.summary = std::move(summary_);
    out.charge = std::move(charge_);
    return out;
  }

  Status write_metadata_of(const ReferencePlan& plan) {
    described_ = &plan;
    return walk();
  }

  Status write_part(const ReferencePlan::Array& planned, std::size_t part) {
    H5_ASSIGN(const view::ReferencedArray array, referenced(planned.dataset, planned.place));
    // A source may have come or changed since.
    const bool same = planned.of_sources ? array.of_sources() && array.dataset().layout.chunk_dims ==
                                                                     planned.of_sources->layout.chunk_dims
                                         : !array.of_sources();
    if (!same || array.array().chunk_count() != planned.chunks)
      return fail({ErrorCode::Stale, "the chunks of a virtual dataset's sources are others now"});
    held_bytes_ = planned.parts[part].held_before;
    return write_chunks(array, planned.parts[part].begin, planned.end_of(part), planned.paths);
  }

 private:
  // The names of an array in the store.
  using Paths = std::span<const std::string>;

  // An array and the links by which the store shows it.
  struct Named {
    std::vector<std::string> paths;
    std::vector<ArrayPlace> places;
  };

  Status walk() {
    const auto visit = [&](const WalkedObject& walked) { return visit_object(walked); };
    const auto omitted = [&](const std::string& path, const std::string& why) { leave_out(path, why); };
    H5_TRY(walk_store(file_, encoding_, visit, omitted, budget_));
    for (const std::uint64_t address : order_) H5_TRY(write_named(address, arrays_.at(address)));
    return {};
  }

  Status write_all() {
    const auto& source = *file_->followed().source();
    if (const auto place = source.place_of(0, 0)) (void)files_.find(*place->file);
    salvaged_ = io::remarks_of(&source) != nullptr;
    return walk();
  }

  Status visit_object(const WalkedObject& shown) {
    if (form_ == ReferencesForm::Icechunk && !is_utf8(shown.path)) {
      const std::string path = version3_key(shown.path);
      return visit_named({path, shown.object, shown.group, shown.array});
    }
    return visit_named(shown);
  }

  Status visit_named(const WalkedObject& walked) {
    if (form_ == ReferencesForm::Parquet && has_json_name(walked.path)) return {};
    constexpr std::size_t kOverhead = 200;
    if (walked.array == nullptr) {
      if (plan_ != nullptr && form_ == ReferencesForm::Icechunk) {
        H5_TRY(charge_.resize(charge_.bytes() + walked.path.size() + kOverhead));
        plan_->groups.push_back(walked.path);
      }
      return write_group(walked);
    }
    const std::uint64_t address = walked.object.object.address;
    const bool only_link = walked.object.object.header->reference_count <= 1;
    if (!only_link || plan_ != nullptr)
      H5_TRY(charge_.resize(charge_.bytes() + walked.path.size() + kOverhead));
    // While its header is at hand: of a far file it would be fetched again. A soft link is an array of its
    // own.
    if (only_link) return write_named(address, {{walked.path}, {*walked.array}});
    const auto [at, first] = arrays_.try_emplace(address);
    if (first) order_.push_back(address);
    at->second.paths.push_back(walked.path);
    at->second.places.push_back(*walked.array);
    return {};
  }

  Status write_group(const WalkedObject& group) {
    const std::string prefix = group.path.empty() ? "" : group.path + "/";
    const ZarrSubject shown = subject(group.object, nullptr);
    if (form_ == ReferencesForm::Icechunk) {
      H5_ASSIGN(const std::string text, zarr_json_text(shown, budget_));
      return sink_.add_metadata(prefix + "zarr.json", text);
    }
    H5_TRY(sink_.add_metadata(prefix + ".zgroup", kZgroupText));
    const auto attributes = zattrs_text(shown, budget_);
    if (attributes) return sink_.add_metadata(prefix + ".zattrs", *attributes);
    H5_TRY(budget_.check());
    if (says_nothing(attributes.error())) return fail(attributes.error());
    leave_out(prefix + ".zattrs", attributes.error().text());
    return {};
  }

  Status write_named(std::uint64_t address, const Named& named) {
    if (described_ != nullptr) {
      const auto found = std::ranges::lower_bound(described_->paths, std::string_view(named.paths.front()),
                                                  {}, &ReferencePlan::Path::path);
      const bool kept = found != described_->paths.end() && found->path == named.paths.front();
      return kept ? write_metadata(address, named, described_->arrays[found->array].of_sources.get())
                  : Status();
    }
    if (!salvaged_) return write_array(address, named);
    leave_out(named, "the file is damaged, and what is shown of it was salvaged");
    return {};
  }

  ZarrSubject subject(const OpenedObject& object, const ArrayPlace* place) const {
    return {file_, object, place, encoding_};
  }

  // An array that cannot be read is left out; an error that says nothing of it ends the walk.
  Status write_array(std::uint64_t address, const Named& named) {
    const std::array before = {summary_.direct, summary_.held, summary_.served};
    const std::uint64_t held_before = held_bytes_;
    const Status done = write_whole(address, named);
    if (done) return done;
    H5_TRY(budget_.check());
    if (says_nothing(done.error()) || sink_failed_) return done;
    std::tie(summary_.direct, summary_.held, summary_.served) = std::tuple_cat(before);
    held_bytes_ = held_before;
    leave_out(named, refused_.empty() ? done.error().text() : refused_);
    refused_.clear();
    return {};
  }

  // Why the form, with its readers, does not take an array; empty: it does.
  std::string unfit(const std::string& path, const view::ZarrArray& array) const {
    constexpr std::uint64_t kMostPlaces = std::numeric_limits<std::uint32_t>::max();
    if (form_ == ReferencesForm::Parquet) return json_only(path, array);
    if (form_ == ReferencesForm::Icechunk &&
        std::ranges::any_of(array.grid(), [](std::uint64_t extent) { return extent > kMostPlaces; }))
      return "Icechunk counts no more than 2^32 chunks along a dimension";
    return {};
  }

  // What the other forms lack.
  void note_unfit(const view::ZarrArray& array, const object::DatasetDescription& dataset, Paths paths) {
    const auto version3 = view::zarr_type(*dataset.type, view::ZarrEncoding::StoredVersion3);
    for (const std::string& path : paths) {
      if (std::string why = json_only(path, array); !why.empty()) note(path, why, summary_.json_only);
      if (!version3) note(path, version3.error().text(), summary_.no_icechunk);
    }
  }

  static LinkPlace link_place(const ArrayPlace& place) {
    return {place.group->contents.address(), place.name};
  }

  Result<view::ReferencedArray> referenced(std::uint64_t address, const LinkPlace& place) {
    FollowedVariable variable(file_, address, place);
    H5_ASSIGN(const DataStatePtr state, variable.newest(budget_));
    return view::ReferencedArray::of({state->reader, file_->value_environment(file_->metadata()),
                                      file_->context().environment, file_->file()},
                                     encoding_, budget_);
  }

  Status write_whole(std::uint64_t address, const Named& named) {
    H5_ASSIGN(const view::ReferencedArray array, referenced(address, link_place(named.places.front())));
    if (array.rule().form == view::ReferenceForm::Decoded &&
        options_.others == ReferenceOptions::Others::LeftOut)
      return refuse(array.rule().reason);
    // Of an array with more references than that a small file would make requests too long.
    const std::uint64_t count = array.array().chunk_count();
    const std::uint64_t most =
        limits::kRequestSteps / 4 / kStepsPerReference +
        file_->followed().source()->size() * limits::kRequestStepsPerFileByte / 4 / kStepsPerReference;
    if (count > most / named.paths.size())
      return refuse("more chunks than references of such a file can be of");
    if (std::string why = unfit("", array.array()); !why.empty()) return refuse(std::move(why));
    // Before any is made: chunks are of one size, but for texts.
    if (array.rule().all_made() && !by_server() && count > 0 && !array.array().type().variable_strings) {
      H5_ASSIGN(const view::ComputedFilePtr first, array.made(0, budget_));
      if (count > room(named.paths) / std::max<std::uint64_t>(first->size(), 1)) return refuse_held(array);
    }
    H5_TRY(of_sink(sink_.begin_array(named.paths, array.array())));
    parts_.clear();
    Status done = write_chunks(array, 0, count, named.paths);
    if (done) done = write_metadata(address, named, array.of_sources() ? &array.dataset() : nullptr);
    const Status ended = of_sink(sink_.end_array(done.has_value()));
    if (!done) return done;
    H5_TRY(ended);
    if (plan_ != nullptr)
      plan_->arrays.push_back(
          {address, named.paths, link_place(named.places.front()), count, std::move(parts_),
           array.of_sources() ? std::make_shared<const object::DatasetDescription>(array.dataset())
                              : nullptr});
    if (form_ == ReferencesForm::Json) note_unfit(array.array(), array.dataset(), named.paths);
    return {};
  }

  // The chunks [begin, end).
  Status write_chunks(const view::ReferencedArray& array, std::uint64_t begin, std::uint64_t end,
                      Paths paths) {
    const bool decoded = array.rule().form == view::ReferenceForm::Decoded;
    std::array<std::string, 3> constants;
    std::array<std::optional<std::uint64_t>, 3> sizes;  // of the chunks that are constant, not compressed
    const PartRule rule = part_rule(form_, array.array().grid(), paths.size());
    std::uint64_t next_part = 0;
    const auto visit = [&](const view::ReferencedChunk& chunk) -> Status {
      H5_TRY(budget_.spend(kStepsPerReference * paths.size()));
      if (plan_ != nullptr && chunk.number == next_part) {
        next_part = std::min(rule.behind(chunk.number), end);
        H5_TRY(charge_.resize(charge_.bytes() + sizeof(ReferencePlan::Part)));
        parts_.push_back({chunk.number, held_bytes_});
        H5_TRY(of_sink(sink_.begin_part(next_part - chunk.number)));
      }
      if (chunk.file != nullptr) return add_range(chunk, paths);
      if (chunk.constant != view::ReferencedChunk::kNone) {
        std::string& bytes = constants[chunk.constant];
        if (bytes.empty()) {
          auto made = array.constant(chunk.number, budget_);
          if (!made && made.error().code() != ErrorCode::TooLarge) return fail(made.error());
          if (made) bytes = *std::move(made);
        }
        if (!bytes.empty() && fits(bytes.size(), paths)) return add_bytes(chunk.number, bytes, paths);
        std::optional<std::uint64_t>& size = sizes[chunk.constant];
        if (size && by_server()) return add_served(array, chunk.number, *size, paths);
        H5_ASSIGN(const view::ComputedFilePtr file, array.made(chunk.number, budget_));
        size = file->size();
      }
      return add_made(array, chunk.number, decoded, paths);
    };
    return array.for_each(begin, end, visit, budget_);
  }

  // The texts of names in one group are the same, but for a dimension scale, whose names are dimensions'.
  // `shown`: instead of the variable's own description; may be null.
  Status write_metadata(std::uint64_t address, const Named& named, const object::DatasetDescription* shown) {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(address, budget_));
    const bool is_scale = view::dimension_role(*object->snapshot, object->object).is_scale;
    std::string text, attributes;
    const StoreGroup* of = nullptr;
    for (std::size_t i = 0; i < named.paths.size(); ++i) {
      ZarrSubject array = subject(*object, &named.places[i]);
      array.shown = shown;
      if (is_scale || of != array.array->group.get()) {
        H5_ASSIGN(text, form_ == ReferencesForm::Icechunk ? zarr_json_text(array, budget_)
                                                          : zarray_text(array, budget_));
        H5_ASSIGN(attributes, zattrs_text(array, budget_));
      }
      of = array.array->group.get();
      H5_TRY(budget_.spend(attributes.size()));
      if (form_ == ReferencesForm::Icechunk) {
        H5_TRY(of_sink(sink_.add_metadata(named.paths[i] + "/zarr.json", text)));
        continue;
      }
      H5_TRY(of_sink(sink_.add_metadata(named.paths[i] + "/.zarray", text)));
      H5_TRY(of_sink(sink_.add_metadata(named.paths[i] + "/.zattrs", attributes)));
    }
    return {};
  }

  Status add_range(const view::ReferencedChunk& chunk, Paths paths) {
    const ReferencedFile* const file = files_.find(*chunk.file);
    if (file == nullptr)
      return refuse("its bytes are in a file outside of the directory that url= stands for");
    summary_.direct += paths.size();
    return of_sink(sink_.add_range(chunk.number, {file->url, chunk.offset, chunk.length, file}));
  }

  Status add_bytes(std::uint64_t chunk, std::string_view bytes, Paths paths) {
    H5_TRY(budget_.spend(limits::kStepsPerTextByte * bytes.size() * paths.size()));
    held_bytes_ += bytes.size() * paths.size();
    summary_.held += paths.size();
    return of_sink(sink_.add_bytes(chunk, bytes));
  }

  // The bytes that may still be held inside for each name of an array.
  std::uint64_t room(Paths paths) const { return (kMostHeldTogether - held_bytes_) / paths.size(); }
  bool fits(std::uint64_t bytes, Paths paths) const {
    return bytes <= kMostHeldBytes && bytes <= room(paths);
  }
  Status refuse_held(const view::ReferencedArray& array) {
    const std::string& why = array.rule().reason;
    return refuse(why.empty() ? "chunks that files do not hold are more than may be held inside"
                              : why + ", and more than may be held inside");
  }

  // Whether the chunks of both versions of Zarr have the same bytes.
  static bool same_bytes_in_versions(const view::ReferencedArray& array) {
    const auto version2 = view::zarr_type(*array.dataset().type, view::ZarrEncoding::Stored);
    return version2 && version2->segments == array.array().type().segments;
  }

  // A chunk that no file holds as the readers take it.
  Status add_made(const view::ReferencedArray& array, std::uint64_t chunk, bool decoded, Paths paths) {
    H5_ASSIGN(const view::ComputedFilePtr made, array.made(chunk, budget_));
    if (by_server() && (decoded || !fits(made->size(), paths)))
      return add_served(array, chunk, made->size(), paths);
    if (!fits(made->size(), paths)) return refuse_held(array);
    std::vector<std::byte> bytes(static_cast<std::size_t>(made->size()));
    dataset::Pieces pieces;
    H5_TRY(made->read(0, bytes.size(), {nullptr, budget_}, pieces));
    H5_TRY(dataset::copy_pieces(pieces.list(), bytes));
    return add_bytes(chunk, as_text(bytes), paths);
  }

  bool by_server() const { return options_.others == ReferenceOptions::Others::Served; }

  Status add_served(const view::ReferencedArray& array, std::uint64_t chunk, std::uint64_t size,
                    Paths paths) {
    if (form_ == ReferencesForm::Icechunk && !same_bytes_in_versions(array))
      return refuse("its chunks at the server are of another form than version 3 of Zarr has");
    if (array.of_sources()) return refuse("the server has it in other chunks than its sources");
    const std::string& path = paths.front();
    const auto url = files_.url_at_server((form_ == ReferencesForm::Icechunk ? version2_path(path) : path) +
                                          "/" + array.array().chunk_name(chunk));
    if (!url) return refuse("the file is not in the directory that the server serves");
    summary_.served += paths.size();
    return of_sink(sink_.add_range(chunk, {*url, 0, size}));
  }

  // A form that cannot hold all of an array's references may hold those of the others.
  Status of_sink(Status done) {
    sink_failed_ = !done && done.error().code() != ErrorCode::TooLarge;
    return done;
  }
  Status refuse(std::string why) {
    refused_ = std::move(why);
    return fail({ErrorCode::UnsupportedFeature, "no references of a dataset"});
  }

  void leave_out(const Named& named, const std::string& why) {
    for (const std::string& path : named.paths) leave_out(path, why);
  }
  void leave_out(const std::string& path, const std::string& why) { note(path, why, summary_.left_out); }
  void note(const std::string& path, const std::string& why, std::vector<ReferenceSummary::LeftOut>& in) {
    noted_bytes_ += path.size() + why.size();
    if (noted_bytes_ <= kMaxXattrBytes)
      in.push_back({"/" + path, why});
    else
      ++summary_.more;
  }

  const ServedFilePtr& file_;
  const ReferencesForm form_;
  const view::ZarrEncoding encoding_;
  const ReferenceOptions& options_;
  ReferenceSink& sink_;
  RequestBudget& budget_;
  ReferencedFiles files_;
  cache::BlockCache::Charge charge_;
  std::unordered_map<std::uint64_t, Named> arrays_;  // with several links, by the address of the dataset
  std::vector<std::uint64_t> order_;
  ReferenceSummary summary_;
  std::uint64_t held_bytes_ = 0;
  std::size_t noted_bytes_ = 0;
  bool salvaged_ = false;
  ReferencePlan* plan_ = nullptr;             // that is being made
  const ReferencePlan* described_ = nullptr;  // whose metadata are being written
  std::vector<ReferencePlan::Part> parts_;
  std::string refused_;  // why the array that is being written is left out, if not for an error
  bool sink_failed_ = false;
};

}  // namespace

Result<ReferenceSummary> write_references(const ServedFilePtr& file, ReferenceSink& sink,
                                          RequestBudget& budget) {
  return ReferencesWriter(file, ReferencesForm::Json, sink, budget).run();
}

Result<ReferencePlan> plan_references(const ServedFilePtr& file, ReferencesForm form, ReferenceSink& sink,
                                      RequestBudget& budget) {
  return ReferencesWriter(file, form, sink, budget).plan();
}

Status write_planned_metadata(const ServedFilePtr& file, const ReferencePlan& plan, ReferenceSink& sink,
                              RequestBudget& budget) {
  return ReferencesWriter(file, plan.form, sink, budget).write_metadata_of(plan);
}

Status write_planned_part(const ServedFilePtr& file, const ReferencePlan& plan,
                          const ReferencePlan::Array& array, std::size_t part, ReferenceSink& sink,
                          RequestBudget& budget) {
  return ReferencesWriter(file, plan.form, sink, budget).write_part(array, part);
}

}  // namespace h5mount::tree

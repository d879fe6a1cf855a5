#include "references.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "../objects/attribute_values.h"
#include "followed_variable.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/uri.h"
#include "h5mount/io/remarks.h"
#include "h5mount/view/reference.h"
#include "zarr_store.h"

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

bool is_url(std::string_view name) {
  return name.find("://") != std::string_view::npos;
}

std::string directory_of(const std::string& name) {
  return name.substr(0, name.rfind('/') + 1);
}

// Walks a file's store and hands its references to a sink.
class ReferencesWriter {
 public:
  ReferencesWriter(const ServedFilePtr& file, ReferenceSink& sink, RequestBudget& budget)
      : file_(file),
        options_(file->context().options.references),
        sink_(sink),
        budget_(budget),
        charge_(file->context().environment.cache->no_charge()) {}

  Result<ReferenceSummary> run() {
    const auto& source = *file_->followed().source();
    if (const auto place = source.place_of(0, 0)) (void)file_number(*place->file);
    const auto visit = [&](const WalkedObject& walked) { return visit_object(walked); };
    const auto omitted = [&](const std::string& path, const std::string& why) { leave_out(path, why); };
    H5_TRY(walk_store(file_, view::ZarrEncoding::Stored, visit, omitted, budget_));
    const bool salvaged = io::remarks_of(&source) != nullptr;
    for (const std::uint64_t address : order_) {
      const Named& named = arrays_.at(address);
      if (salvaged)
        leave_out(named, "the file is damaged, and what is shown of it was salvaged");
      else
        H5_TRY(write_array(address, named));
    }
    return std::move(summary_);
  }

 private:
  // An array and the links by which the store shows it.
  struct Named {
    std::vector<std::string> paths;
    std::vector<ArrayPlace> places;
  };

  Status visit_object(const WalkedObject& walked) {
    if (walked.array == nullptr) {
      const std::string prefix = walked.path.empty() ? "" : walked.path + "/";
      H5_TRY(sink_.add_metadata(prefix + ".zgroup", kZgroupText));
      const auto attributes = zattrs_text(subject(walked.object, nullptr), budget_);
      if (attributes) return sink_.add_metadata(prefix + ".zattrs", *attributes);
      H5_TRY(budget_.check());
      if (says_nothing(attributes.error())) return fail(attributes.error());
      leave_out(prefix + ".zattrs", attributes.error().text());
      return {};
    }
    constexpr std::size_t kOverhead = 200;
    H5_TRY(charge_.resize(charge_.bytes() + walked.path.size() + kOverhead));
    const auto [at, first] = arrays_.try_emplace(walked.object.object.address);
    if (first) order_.push_back(at->first);
    at->second.paths.push_back(walked.path);
    at->second.places.push_back(*walked.array);
    return {};
  }

  ZarrSubject subject(const OpenedObject& object, const ArrayPlace* place) const {
    return {file_, object, place, view::ZarrEncoding::Stored};
  }

  // An array that cannot be read is left out; an error that says nothing of it ends the walk.
  Status write_array(std::uint64_t address, const Named& named) {
    const ReferenceSummary before = counts();
    const std::uint64_t held_before = held_bytes_;
    const Status done = write_chunks(address, named);
    if (done) return done;
    H5_TRY(budget_.check());
    if (says_nothing(done.error()) || sink_failed_) return done;
    summary_.direct = before.direct, summary_.held = before.held, summary_.served = before.served;
    held_bytes_ = held_before;
    leave_out(named, refused_.empty() ? done.error().text() : refused_);
    refused_.clear();
    return {};
  }

  Status write_chunks(std::uint64_t address, const Named& named) {
    const ArrayPlace& place = named.places.front();
    FollowedVariable variable(file_, address, {place.group->contents.address(), place.name});
    H5_ASSIGN(const DataStatePtr state, variable.newest(budget_));
    H5_ASSIGN(const auto array,
              view::ReferencedArray::of({state->reader, file_->value_environment(file_->metadata()),
                                         file_->context().environment, file_->file()}));
    const bool decoded = array.rule().form == view::ReferenceForm::Decoded;
    if (decoded && options_.others == ReferenceOptions::Others::LeftOut) return refuse(array.rule().reason);
    // Of an array with more references than that a small file would make requests too long.
    const std::uint64_t most =
        limits::kRequestSteps / 4 / kStepsPerReference +
        file_->followed().source()->size() * limits::kRequestStepsPerFileByte / 4 / kStepsPerReference;
    if (array.array().chunk_count() > most / named.paths.size())
      return refuse("more chunks than references of such a file can be of");
    H5_TRY(of_sink(sink_.begin_array(named.paths, array.array())));
    std::array<std::string, 3> constants;
    std::array<std::optional<std::uint64_t>, 3> sizes;  // of the chunks that are constant, not compressed
    const auto visit = [&](const view::ReferencedChunk& chunk) -> Status {
      H5_TRY(budget_.spend(kStepsPerReference * named.paths.size()));
      if (chunk.file != nullptr) return add_range(chunk, named);
      if (chunk.constant != view::ReferencedChunk::kNone) {
        std::string& bytes = constants[chunk.constant];
        if (bytes.empty()) {
          auto made = array.constant(chunk.number, budget_);
          if (!made && made.error().code() != ErrorCode::TooLarge) return fail(made.error());
          if (made) bytes = *std::move(made);
        }
        if (!bytes.empty() && fits(bytes.size(), named)) return add_bytes(chunk.number, bytes, named);
        std::optional<std::uint64_t>& size = sizes[chunk.constant];
        if (size && by_server()) return add_served(array, chunk.number, *size, named);
        H5_ASSIGN(const view::ComputedFilePtr file, array.made(chunk.number, budget_));
        size = file->size();
      }
      return add_made(array, chunk.number, decoded, named);
    };
    Status done = array.for_each(visit, budget_);
    if (done) done = write_metadata(address, named);
    sink_.end_array(done.has_value());
    return done;
  }

  // The texts of names in one group are the same, but for a dimension scale, whose names are dimensions'.
  Status write_metadata(std::uint64_t address, const Named& named) {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(address, budget_));
    const bool is_scale = view::dimension_role(*object->snapshot, object->object).is_scale;
    std::string text, attributes;
    const StoreGroup* of = nullptr;
    for (std::size_t i = 0; i < named.paths.size(); ++i) {
      const ZarrSubject array = subject(*object, &named.places[i]);
      if (is_scale || of != array.array->group.get()) {
        H5_ASSIGN(text, zarray_text(array, budget_));
        H5_ASSIGN(attributes, zattrs_text(array, budget_));
      }
      of = array.array->group.get();
      H5_TRY(budget_.spend(attributes.size()));
      H5_TRY(of_sink(sink_.add_metadata(named.paths[i] + "/.zarray", text)));
      H5_TRY(of_sink(sink_.add_metadata(named.paths[i] + "/.zattrs", attributes)));
    }
    return {};
  }

  Status add_range(const view::ReferencedChunk& chunk, const Named& named) {
    const auto number = file_number(*chunk.file);
    if (!number) return refuse("its bytes are in a file outside of the directory that url= stands for");
    summary_.direct += named.paths.size();
    return of_sink(sink_.add_range(chunk.number, summary_.files[*number].url, chunk.offset, chunk.length));
  }

  Status add_bytes(std::uint64_t chunk, std::string_view bytes, const Named& named) {
    held_bytes_ += bytes.size() * named.paths.size();
    summary_.held += named.paths.size();
    return of_sink(sink_.add_bytes(chunk, bytes));
  }

  bool fits(std::uint64_t bytes, const Named& named) const {
    return bytes <= kMostHeldBytes && bytes <= (kMostHeldTogether - held_bytes_) / named.paths.size();
  }

  // A chunk that no file holds as the readers take it.
  Status add_made(const view::ReferencedArray& array, std::uint64_t chunk, bool decoded, const Named& named) {
    H5_ASSIGN(const view::ComputedFilePtr made, array.made(chunk, budget_));
    if (by_server() && (decoded || !fits(made->size(), named)))
      return add_served(array, chunk, made->size(), named);
    if (!fits(made->size(), named)) {
      const std::string& why = array.rule().reason;
      return refuse(why.empty() ? "chunks that files do not hold are more than may be held inside"
                                : why + ", and more than may be held inside");
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(made->size()));
    dataset::Pieces pieces;
    H5_TRY(made->read(0, bytes.size(), {nullptr, budget_}, pieces));
    H5_TRY(dataset::copy_pieces(pieces.list(), bytes));
    return add_bytes(chunk, as_text(bytes), named);
  }

  bool by_server() const { return options_.others == ReferenceOptions::Others::Served; }

  Status add_served(const view::ReferencedArray& array, std::uint64_t chunk, std::uint64_t size,
                    const Named& named) {
    std::string url = with_slash(options_.server);
    if (!options_.root.empty()) {  // a server of many files shows each at its path
      const auto below = below_root(file_->file()->path);
      if (!below) return refuse("the file is not in the directory that the server serves");
      url += encode_path(*below) + "/";
    }
    url += ".h5/stored.zarr/" + encode_path(named.paths.front() + "/" + array.array().chunk_name(chunk));
    summary_.served += named.paths.size();
    return of_sink(sink_.add_range(chunk, url, 0, size));
  }

  // The place in `files` of one that holds chunks; nullopt if it has no URL.
  std::optional<std::size_t> file_number(const io::ByteSource& file) {
    std::string name = file.name();
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    const auto url = url_of(name);
    if (!url) return std::nullopt;
    // A stamp is taken of what is open; that it is asked for changes nothing that others see.
    auto& state = const_cast<io::ByteSource&>(file).state();
    const auto stamp = state.stamp();
    summary_.files.push_back(
        {*url, file.size(), stamp ? std::max<std::int64_t>(stamp->modified, 0) : 0, state.entity_tag()});
    return numbers_.emplace(std::move(name), summary_.files.size() - 1).first->second;
  }

  std::optional<std::string> url_of(const std::string& name) const {
    if (options_.url.empty()) return name;
    const auto below = below_root(name);
    if (!below) return std::nullopt;
    return with_slash(options_.url) + (is_url(name) ? *below : encode_path(*below));
  }

  // The path of a file from the directory that is the source; nullopt if it is elsewhere.
  std::optional<std::string> below_root(const std::string& name) const {
    const std::string& path = file_->file()->path;
    const std::string root =
        options_.root.empty() ? directory_of(path.empty() ? name : path) : with_slash(options_.root);
    // Names in a file may lead out of the directory.
    const std::string plain = name.starts_with('/') ? without_dot_segments(name) : name;
    return plain.starts_with(root) ? std::optional(plain.substr(root.size())) : std::nullopt;
  }

  static std::string with_slash(std::string text) {
    if (!text.ends_with('/')) text += '/';
    return text;
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
  void leave_out(const std::string& path, const std::string& why) {
    left_out_bytes_ += path.size() + why.size();
    if (left_out_bytes_ <= kMaxXattrBytes)
      summary_.left_out.push_back({"/" + path, why});
    else
      ++summary_.more;
  }

  ReferenceSummary counts() const { return {summary_.direct, summary_.held, summary_.served, {}, 0, {}}; }

  const ServedFilePtr& file_;
  const ReferenceOptions& options_;
  ReferenceSink& sink_;
  RequestBudget& budget_;
  cache::BlockCache::Charge charge_;
  std::unordered_map<std::uint64_t, Named> arrays_;  // by the address of the dataset
  std::vector<std::uint64_t> order_;
  std::map<std::string, std::size_t> numbers_;  // of files, by their names
  ReferenceSummary summary_;
  std::uint64_t held_bytes_ = 0;
  std::size_t left_out_bytes_ = 0;
  std::string refused_;  // why the array that is being written is left out, if not for an error
  bool sink_failed_ = false;
};

}  // namespace

std::string ReferenceSummary::text() const {
  constexpr std::size_t kRest = 200;
  std::string out =
      fmt::format(R"({{"direct":{},"inline":{},"served":{},"left_out":{{)", direct, held, served);
  std::uint64_t cut = more;
  bool first = true;
  for (const LeftOut& one : left_out) {
    std::string member(first ? "" : ",");
    text::append_json_string(one.path, member);
    member += ':';
    text::append_json_string(one.why, member);
    if (out.size() + member.size() + kRest > kMaxXattrBytes) {
      ++cut;
      continue;
    }
    first = false;
    out += member;
  }
  out += "}";
  if (cut > 0) out += fmt::format(R"(,"more":{})", cut);
  return out + "}";
}

std::string ReferenceSummary::files_text() const {
  std::string out = "[";
  for (const File& file : files) {
    if (out.size() > 1) out += ',';
    out += R"({"url":)";
    text::append_json_string(file.url, out);
    out += fmt::format(R"(,"size":{},"mtime":{}.{:09},"etag":)", file.size, file.modified / 1'000'000'000,
                       file.modified % 1'000'000'000);
    if (file.entity_tag.empty())
      out += "null";
    else
      text::append_json_string(file.entity_tag, out);
    out += '}';
  }
  return out + "]";
}

Result<ReferenceSummary> write_references(const ServedFilePtr& file, ReferenceSink& sink,
                                          RequestBudget& budget) {
  return ReferencesWriter(file, sink, budget).run();
}

bool shows_references(const MountContext& context) {
  const ReferenceOptions& options = context.options.references;
  return options.may_name_paths || !options.url.empty() ||
         is_url(context.mounted_file()->followed->source()->name());
}

}  // namespace h5mount::tree

#include "references.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "../core/states.h"
#include "../objects/attribute_values.h"
#include "followed_variable.h"
#include "h5mount/base/uri.h"
#include "h5mount/io/remarks.h"
#include "h5mount/view/reference.h"
#include "zarr_store.h"

namespace h5mount::tree {

namespace {

// GDAL refuses a string of more than 10,000,000 characters, and base64 makes four of three bytes.
constexpr std::uint64_t kMostHeldBytes = 7'499'000;
constexpr std::uint64_t kMostHeldTogether = 64U << 20;

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
      H5_ASSIGN(const std::string attributes, zattrs_text(subject(walked.object, nullptr), budget_));
      return sink_.add_metadata(prefix + ".zattrs", attributes);
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
    auto texts = texts_of(address, named);
    const Status done = texts ? write_chunks(address, named) : Status(fail(texts.error()));
    if (done) return write_metadata(named, *texts);
    H5_TRY(budget_.check());
    if (is_momentary(done.error()) || sink_failed_) return done;
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
    H5_TRY(of_sink(sink_.begin_array(named.paths, array.array())));
    std::array<std::string, 3> constants;
    const auto visit = [&](const view::ReferencedChunk& chunk) -> Status {
      if (chunk.file != nullptr) return add_range(chunk, named);
      if (chunk.constant != view::ReferencedChunk::kNone) {
        std::string& bytes = constants[chunk.constant];
        if (bytes.empty()) {
          auto made = array.constant(chunk.number, kMostHeldBytes, budget_);
          if (!made && made.error().code() != ErrorCode::TooLarge) return fail(made.error());
          if (made) bytes = *std::move(made);
        }
        if (!bytes.empty() && fits(bytes.size(), named)) return add_bytes(chunk.number, bytes, named);
      }
      return add_made(array, chunk.number, decoded, named);
    };
    const Status done = array.for_each(visit, budget_);
    sink_.end_array(done.has_value());
    return done;
  }

  // The texts of .zarray and .zattrs for each name.
  using Texts = std::vector<std::pair<std::string, std::string>>;
  Result<Texts> texts_of(std::uint64_t address, const Named& named) {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(address, budget_));
    Texts out;
    for (const ArrayPlace& place : named.places) {
      const ZarrSubject array = subject(*object, &place);
      H5_ASSIGN(std::string text, zarray_text(array, budget_));
      H5_ASSIGN(std::string attributes, zattrs_text(array, budget_));
      out.emplace_back(std::move(text), std::move(attributes));
    }
    return out;
  }
  Status write_metadata(const Named& named, const Texts& texts) {
    for (std::size_t i = 0; i < named.paths.size(); ++i) {
      H5_TRY(sink_.add_metadata(named.paths[i] + "/.zarray", texts[i].first));
      H5_TRY(sink_.add_metadata(named.paths[i] + "/.zattrs", texts[i].second));
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
    const bool by_server = options_.others == ReferenceOptions::Others::Served;
    if (by_server && (decoded || !fits(made->size(), named))) {
      summary_.served += named.paths.size();
      return of_sink(sink_.add_range(
          chunk, served_url(named.paths.front() + "/" + array.array().chunk_name(chunk)), 0, made->size()));
    }
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

  std::string served_url(const std::string& key) const {
    std::string out = with_slash(options_.server);
    // A server of many files shows each at its path.
    if (!options_.root.empty()) out += encode_path(below_root(file_->file()->path).value_or("")) + "/";
    return out + ".h5/stored.zarr/" + encode_path(key);
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
    return name.starts_with(root) ? std::optional(name.substr(root.size())) : std::nullopt;
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

// Takes nothing: for the summary alone.
class NoForm final : public ReferenceSink {
 public:
  Status add_metadata(const std::string&, std::string_view) override { return {}; }
  Status begin_array(std::span<const std::string>, const view::ZarrArray&) override { return {}; }
  Status add_range(std::uint64_t, std::string_view, std::uint64_t, std::uint64_t) override { return {}; }
  Status add_bytes(std::uint64_t, std::string_view) override { return {}; }
  void end_array(bool) override {}
};

struct KeptSummary {
  SnapshotValue<ReferenceSummaryPtr> value;
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

Result<ReferenceSummaryPtr> reference_summary(const ServedFilePtr& file, RequestBudget& budget) {
  return file->kept<KeptSummary>().value.get_once(
      file->metadata()->number(),
      [&]() -> Result<ReferenceSummaryPtr> {
        NoForm none;
        H5_ASSIGN(ReferenceSummary made, write_references(file, none, budget));
        H5_TRY(file->followed().confirm_unchanged());
        return std::make_shared<const ReferenceSummary>(std::move(made));
      },
      budget);
}

bool shows_references(const MountContext& context) {
  const ReferenceOptions& options = context.options.references;
  return options.may_name_paths || !options.url.empty() ||
         is_url(context.mounted_file()->followed->source()->name());
}

}  // namespace h5mount::tree

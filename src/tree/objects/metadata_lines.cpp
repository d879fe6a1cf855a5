#include "metadata_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "followed_dataset.h"
#include "h5mount/base/cures.h"
#include "h5mount/text/strict_json.h"
#include "h5mount/view/text_lines.h"
#include "h5mount/view/view.h"
#include "h5mount/view/zarr.h"
#include "object_facts.h"
#include "object_walk.h"

namespace h5mount::tree {

namespace {

// Longer values are omitted; the line names them.
constexpr std::size_t kMaxValueBytes = 16U << 20;

// In a catalogue, the lines of datasets with more elements, or with more text, have no value.
constexpr std::uint64_t kMaxElements = 16;
constexpr std::uint64_t kMaxImageBytes = 1U << 20;
constexpr std::size_t kMaxValueText = 64U << 10;

// Whether the error may be absent when the same file is read another time, or by another build.
bool may_differ(const Error& error) {
  switch (error.code()) {
    case ErrorCode::AccessDenied:
    case ErrorCode::NotFound:
    case ErrorCode::Stale:
    case ErrorCode::UnsupportedFeature:
      return true;
    default:
      return is_passing(error) || error.code() == ErrorCode::Io;
  }
}

// Where the facts for a line of a catalogue are recorded; null: it is a line of the file's own
// metadata.jsonl.
using ForCatalogue = PassingFacts*;

void note(ForCatalogue catalogue, const Error& error) {
  if (catalogue != nullptr && may_differ(error)) catalogue->failures = true;
}

// One JSON object on one line, written to a text part by part. After a failure nothing more is written.
class Line {
 public:
  Line(std::string_view path, TextSink& out) : out_(out) { text("path", path); }

  void text(std::string_view key, std::string_view value) {
    begin(key);
    text::append_json_string(value, part_);
    flush(kPartBytes);
  }
  void json(std::string_view key, std::string_view value) {
    begin(key);
    part_ += value;
    flush(kPartBytes);
  }

  // A member that is itself an object, whose members are JSON texts: `open`, its members, `close`.
  void open(std::string_view key) {
    begin(key);
    part_ += '{';
    first_ = true;
  }
  void close() { part_ += '}', first_ = false; }

  Status end() && {
    part_ += "}\n";
    flush(0);
    return std::move(status_);
  }

  // The number of bytes that may still be written; 0 after a failure.
  std::uint64_t left() const {
    return status_ ? out_.left() - std::min<std::uint64_t>(out_.left(), part_.size()) : 0;
  }

 private:
  static constexpr std::size_t kPartBytes = 64U << 10;

  void begin(std::string_view key) {
    if (!std::exchange(first_, false)) part_ += ',';
    text::append_json_string(key, part_);
    part_ += ':';
  }
  void flush(std::size_t most) {
    if (part_.size() <= most) return;
    if (status_) status_ = out_.append(part_);
    part_.clear();
  }

  TextSink& out_;
  std::string part_ = "{";
  bool first_ = true;  // of the members of the innermost object
  Status status_;
};

// The value as JSON; a scalar string becomes a JSON string.
Result<std::string> value_json(const format::Datatype& type, const format::Dataspace& space, ByteSpan data,
                               const text::ValueContext& context, std::size_t most) {
  H5_ASSIGN(const std::string value, text::value_text(type, space, data, context, most));
  if (space.kind != format::DataspaceKind::Scalar || !text::is_string(type)) return text::strict_json(value);
  std::string out;
  text::append_json_string(value, out);
  return out;
}

Result<std::string> attribute_json(ServedFile& file, const object::Attribute& attribute, std::size_t most,
                                   RequestBudget& budget) {
  if (attribute.damage) return fail(*attribute.damage);
  return value_json(*attribute.type, attribute.space, attribute.data, file.value_context(budget), most);
}

// {"dtype":…,"shape":…} in the terms of user.hdf5.dtype and user.hdf5.shape.
std::string attribute_type(const object::Attribute& attribute) {
  std::string out = R"({"dtype":)";
  text::append_json_string(text::datatype_text(*attribute.type), out);
  out += R"(,"shape":)";
  if (attribute.space.kind == format::DataspaceKind::Null) return out + "null}";
  out += '[';
  for (const std::uint64_t dim : attribute.space.dims) {
    if (out.back() != '[') out += ',';
    out += fmt::format("{}", dim);
  }
  return out + "]}";
}

// Stops when there is no more room in the text: values may share what they refer to, so one object can
// produce any amount of text.
void add_attributes(ServedFile& file, const OpenedObject& object, Line& line, RequestBudget& budget,
                    ForCatalogue catalogue) {
  bool any = false;
  std::vector<std::pair<std::string, Error>> failed;
  std::vector<std::pair<std::string, std::string>> types;
  std::size_t bytes_behind = 0;  // of what is written behind the values
  const auto note_failure = [&](std::string_view name, const Error& error) {
    note(catalogue, error);
    bytes_behind += sizeof failed[0] + name.size();
    failed.emplace_back(name, error);
  };
  const Status walked = object::for_each_attribute(
      *file.metadata(), object.object,
      [&](const object::Attribute& attribute) {
        const std::uint64_t left = line.left();
        if (left <= bytes_behind) return false;
        const std::uint64_t most = std::min<std::uint64_t>(kMaxValueBytes, left - bytes_behind);
        const auto value = attribute_json(file, attribute, static_cast<std::size_t>(most), budget);
        if (!value) {
          note_failure(attribute.name, value.error());
          return true;
        }
        if (!std::exchange(any, true)) line.open("attributes");
        line.json(attribute.name, *value);
        types.emplace_back(attribute.name, attribute_type(attribute));
        bytes_behind += sizeof types[0] + attribute.name.size() + types.back().second.size();
        return true;
      },
      [&](const Error& error) { note_failure("", error); });
  if (any) {
    line.close();
    line.open("attribute_types");
    for (const auto& [name, type] : types) line.json(name, type);
    line.close();
  }
  if (!walked) note_failure("", walked.error());
  if (failed.empty()) return;
  line.open("attribute_errors");
  for (const auto& [name, why] : failed) line.text(name, text_with_cure(why));
  line.close();
}

// Adds all views, each with the reason why none of them can show the dataset.
void add_all_views(const std::string& why, Line& line) {
  line.open("views");
  for (const view::View& view : view::views()) line.text(view.directory, why);
  for (const view::ZarrStore& store : view::zarr_stores()) line.text(store.name, why);
  for (const std::string_view parts : {"fields", "slice"}) line.text(parts, why);
  line.close();
}

// Adds the views that cannot show a dataset, each with its reason.
void add_absent_views(const object::DatasetDescription& dataset, Line& line, RequestBudget& budget) {
  bool any = false;
  const auto add = [&](std::string_view view, std::string_view why) {
    if (!std::exchange(any, true)) line.open("views");
    line.text(view, why);
  };
  for (const view::View& view : view::views()) {
    const auto why = view.unfit(dataset, budget);
    if (!why) break;  // the walk ends: its budget is spent
    if (*why) add(view.directory, **why);
  }
  for (const view::ZarrStore& store : view::zarr_stores())
    if (const auto array = view::ZarrArray::of(dataset, store.encoding); !array)
      add(store.name, array.error().text());
  if (any) line.close();
}

// The structure from the extended attributes: `user.hdf5.NAME`.
struct StructureKey {
  std::string_view name;
  bool is_json;
};
constexpr std::array kDatasetKeys = {
    StructureKey{"shape", true},        StructureKey{"maxshape", true}, StructureKey{"dtype", false},
    StructureKey{"layout", false},      StructureKey{"chunks", true},   StructureKey{"filters", true},
    StructureKey{"storage_size", true},
};

void add_structure(ServedFile& file, const OpenedObject& object, Line& line, RequestBudget& budget) {
  for (const StructureKey& key : kDatasetKeys) {
    const auto value = get_object_xattr(file, object, fmt::format("user.hdf5.{}", key.name), budget);
    if (!value) continue;
    key.is_json ? line.json(key.name, *value) : line.text(key.name, *value);
  }
}

// Returns nullopt if the value is too long for a line.
Result<std::optional<std::string>> dataset_value(ServedFile& file, const OpenedObject& object,
                                                 const object::DatasetDescription& dataset,
                                                 RequestBudget& budget) {
  const std::uint64_t elements = dataset.element_size == 0 ? 0 : dataset.image_bytes / dataset.element_size;
  if (elements > kMaxElements || dataset.image_bytes > kMaxImageBytes) return std::nullopt;
  std::vector<std::byte> data(static_cast<std::size_t>(dataset.image_bytes));
  if (!data.empty()) {
    H5_ASSIGN(const DatasetReaderPtr reader, open_reader(file, dataset, budget));
    H5_TRY(reader->read_into(0, data, budget));
  }
  auto value = value_json(*dataset.type, dataset.space, data, file.value_context(object.snapshot, budget),
                          kMaxValueText);
  if (!value && value.error().code() == ErrorCode::TooLarge) return std::nullopt;
  if (!value) return fail(value.error());
  return *std::move(value);
}

void add_size_and_value(ServedFile& file, const OpenedObject& object,
                        const object::DatasetDescription& dataset, Line& line, RequestBudget& budget,
                        ForCatalogue catalogue) {
  if (dataset.layout.cls == format::LayoutClass::Virtual || !dataset.external.empty())
    catalogue->others = true;
  if (dataset.image_bytes == 0 || !view::is_shown_as_text(*dataset.type))
    line.json("size", fmt::format("{}", dataset.image_bytes));
  const auto value = dataset_value(file, object, dataset, budget);
  if (!value) {
    note(catalogue, value.error());
    line.text("error", text_with_cure(value.error()));
  } else if (*value) {
    line.json("value", **value);
  }
}

void add_dataset(ServedFile& file, const OpenedObject& object, Line& line, RequestBudget& budget,
                 ForCatalogue catalogue) {
  line.text("kind", "dataset");
  add_structure(file, object, line, budget);
  const auto description = description_of(file, object, budget);
  if (!description) {
    note(catalogue, description.error());
    line.text("error", text_with_cure(description.error()));
    if (description.error().code() == ErrorCode::TooLarge) add_all_views("larger than a file can be", line);
    return;
  }
  add_absent_views(**description, line, budget);
  if (catalogue != nullptr) add_size_and_value(file, object, **description, line, budget, catalogue);
}

void add_views_of_group(const std::vector<AbsentView>& views, Line& line) {
  if (views.empty()) return;
  line.open("views");
  for (const AbsentView& view : views) line.text(view.directory, view.why);
  line.close();
}

void add_object(ServedFile& file, const OpenedObject& object, const std::vector<AbsentView>& views,
                Line& line, RequestBudget& budget, ForCatalogue catalogue) {
  switch (object.object.kind) {
    case object::ObjectKind::Group:
      line.text("kind", "group");
      add_views_of_group(views, line);
      break;
    case object::ObjectKind::Datatype:
      line.text("kind", "datatype");
      if (const auto dtype = get_object_xattr(file, object, "user.hdf5.dtype", budget))
        line.text("dtype", *dtype);
      break;
    case object::ObjectKind::Dataset:
      add_dataset(file, object, line, budget, catalogue);
      break;
  }
  if (const auto salvage = get_object_xattr(file, object, "user.hdf5.salvage", budget))
    line.json("salvage", *salvage);
  if (catalogue != nullptr)
    line.json("mtime", fmt::format("{}", object_stat(file, object.object, NodeType::File).mtime));
  add_attributes(file, object, line, budget, catalogue);
}

class MetadataWriter final : public ObjectVisitor {
 public:
  MetadataWriter(ServedFile& file, ViewsOfGroup views, TextSink& out, RequestBudget& budget,
                 ForCatalogue catalogue)
      : file_(file), views_(views), out_(out), budget_(budget), catalogue_(catalogue) {}

  Status visit_object(const WalkedPlace& place, const OpenedObject& object) override {
    Line line(place.path, out_);
    GroupViews views;
    if (object.object.kind == object::ObjectKind::Group) views = views_(file_, object, budget_);
    add_object(file_, object, views.absent, line, budget_, catalogue_);
    opened_ = std::move(views.opened);
    H5_TRY(budget_.check());
    return std::move(line).end();
  }
  std::vector<OpenedObjectPtr> take_opened() override { return std::move(opened_); }

  Status visit_link(const WalkedPlace& place, const format::Link& link, const SymlinkPath&) override {
    Line line(place.path, out_);
    if (link.is(format::LinkType::Hard)) {
      line.text("kind", "hard");
      line.text("target", file_.path_of_object(link.address));
    } else if (link.is(format::LinkType::Soft) || link.is(format::LinkType::External)) {
      line.text("kind", link.is(format::LinkType::Soft) ? "soft" : "external");
      line.text("target", link.target);
      if (link.is(format::LinkType::External))
        line.text(catalogue_ != nullptr ? "target_file" : "file", link.file);
    } else {
      line.text("kind", "user-defined");
      line.json("class", fmt::format("{}", link.type));
    }
    return std::move(line).end();
  }

  Status visit_damage(const WalkedPlace& place, const Error& why) override {
    note(catalogue_, why);
    Line line(place.path, out_);
    line.text("error", text_with_cure(why));
    return std::move(line).end();
  }

 private:
  ServedFile& file_;
  const ViewsOfGroup views_;
  TextSink& out_;
  RequestBudget& budget_;
  const ForCatalogue catalogue_;
  std::vector<OpenedObjectPtr> opened_;
};

}  // namespace

Status append_metadata_lines(const ServedFilePtr& file, ViewsOfGroup views, TextSink& out,
                             RequestBudget& budget) {
  MetadataWriter writer(*file, views, out, budget, nullptr);
  return walk_objects(file, writer, budget);
}

Status append_catalogue_lines(const ServedFilePtr& file, ViewsOfGroup views, TextSink& out,
                              RequestBudget& budget, PassingFacts& facts) {
  MetadataWriter writer(*file, views, out, budget, &facts);
  return walk_objects(file, writer, budget);
}

}  // namespace h5mount::tree

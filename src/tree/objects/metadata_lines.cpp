#include "metadata_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "decoded.h"
#include "followed_dataset.h"
#include "h5mount/base/advice.h"
#include "h5mount/text/json_writer.h"
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

struct ForCatalogue {
  const TakeCatalogueRow& take;
  PassingFacts& facts;
};

// The description of one object: a JSON object on one line, written to a text part by part (after a failure
// nothing more is written), or a row of a catalogue.
class Line {
 public:
  Line(std::string_view path, TreeText& out) : out_(&out) {
    members_.begin_object();
    text("path", path);
  }
  Line(std::string_view path, const ForCatalogue& catalogue) : catalogue_(&catalogue) { row_.path = path; }
  Line(const Line&) = delete;  // its writers write into its own row
  Line& operator=(const Line&) = delete;

  // The row; null for a line of the file's own metadata.jsonl.
  CatalogueRow* row() { return catalogue_ != nullptr ? &row_ : nullptr; }
  PassingFacts& facts() { return catalogue_->facts; }
  void note(const Error& error) {
    if (catalogue_ != nullptr && may_differ(error)) facts().failures = true;
  }

  // Not all attributes have room.
  void note_cut() {
    constexpr std::string_view kCut = "more attributes than a row holds: metadata.jsonl of the file has them";
    if (catalogue_ == nullptr || row_.error.ends_with(kCut)) return;
    if (!row_.error.empty()) row_.error += "; ";
    row_.error += kCut;
  }

  void text(std::string_view key, std::string_view value) {
    if (std::string* const column = column_of(key)) return column->assign(value), void();
    inner().member(key, value);
    flush(kPartBytes);
  }
  void json(std::string_view key, std::string_view value) {
    if (std::string* const column = column_of(key)) return column->assign(value), void();
    inner().key(key).raw(value);
    flush(kPartBytes);
  }

  // A member that is itself an object, whose members are JSON texts: `open`, its members, `close`.
  void open(std::string_view key) {
    if (std::string* const column = column_of(key))
      column_.emplace(*column);
    else
      members_.key(key);
    inner().begin_object();
    open_ = true;
  }
  void close() {
    inner().end_object();
    column_.reset();
    open_ = false;
  }

  Status end() && {
    if (catalogue_ != nullptr) return catalogue_->take(row_);
    members_.end_object();
    row_.more += '\n';
    flush(0);
    return std::move(status_);
  }

  // The number of bytes that may still be written; 0 after a failure.
  std::uint64_t left() const {
    std::uint64_t held = 0;
    for (const CatalogueText& of : kCatalogueTexts) held += (row_.*of.text).size();
    const std::uint64_t most = out_ == nullptr ? kMaxRowBytes : status_ ? out_->left() : 0;
    return most - std::min(most, held);
  }

 private:
  static constexpr std::size_t kPartBytes = 64U << 10;

  std::string* column_of(std::string_view key) {
    if (catalogue_ == nullptr || open_) return nullptr;
    const auto* const found = std::ranges::find(kCatalogueTexts, key, &CatalogueText::name);
    return found == kCatalogueTexts.end() ? nullptr : &(row_.*found->text);
  }
  text::JsonWriter& inner() { return column_ ? *column_ : members_; }
  void flush(std::size_t most) {
    if (out_ == nullptr || row_.more.size() <= most) return;
    if (status_) status_ = out_->append(row_.more);
    row_.more.clear();
  }

  TreeText* const out_ = nullptr;
  const ForCatalogue* const catalogue_ = nullptr;
  CatalogueRow row_;  // of a line only `more`, the part that is not written yet
  text::JsonWriter members_{row_.more};
  std::optional<text::JsonWriter> column_;  // the one that is open
  bool open_ = false;
  Status status_;
};

// The value as JSON; a scalar string becomes a JSON string.
Result<std::string> value_json(const format::Datatype& type, const format::Dataspace& space, ByteSpan data,
                               const text::ValueContext& context, std::size_t most) {
  H5_ASSIGN(const std::string value, text::value_text(type, space, data, context, most));
  const bool one_string = space.kind == format::DataspaceKind::Scalar && text::is_string(type);
  return one_string ? text::json_string(value) : text::strict_json(value);
}

Result<std::string> attribute_json(ServedFile& file, const object::Attribute& attribute, std::size_t most,
                                   RequestBudget& budget) {
  if (attribute.damage) return fail(*attribute.damage);
  return value_json(*attribute.type, attribute.space, attribute.data, file.value_context(budget), most);
}

// {"dtype":…,"shape":…} in the terms of user.hdf5.dtype and user.hdf5.shape.
std::string attribute_type(const object::Attribute& attribute) {
  std::string out;
  text::JsonWriter json(out);
  json.begin_object().member("dtype", text::datatype_text(*attribute.type)).key("shape");
  attribute.space.kind == format::DataspaceKind::Null ? json.value(nullptr)
                                                      : json.array(attribute.space.dims);
  json.end_object();
  return out;
}

// Stops when there is no more room in the text: values may share what they refer to, so one object can
// produce any amount of text.
void add_attributes(ServedFile& file, const OpenedObject& object, Line& line, RequestBudget& budget) {
  bool any = false;
  std::vector<std::pair<std::string, Error>> failed;
  std::vector<std::pair<std::string, std::string>> types;
  std::size_t bytes_behind = 0;  // of what is written behind the values
  const auto note_failure = [&](std::string_view name, const Error& error) {
    line.note(error);
    bytes_behind += sizeof failed[0] + name.size();
    failed.emplace_back(name, error);
  };
  const Status walked = object::for_each_attribute(
      *file.metadata(), object.object,
      [&](const object::Attribute& attribute) {
        const std::uint64_t left = line.left();
        if (left <= bytes_behind) {
          line.note_cut();
          return false;
        }
        const std::uint64_t most = std::min<std::uint64_t>(kMaxValueBytes, left - bytes_behind);
        const auto value = attribute_json(file, attribute, static_cast<std::size_t>(most), budget);
        if (!value) {
          if (value.error().code() == ErrorCode::TooLarge && most < kMaxValueBytes) line.note_cut();
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
  for (const auto& [name, why] : failed) line.text(name, text_with_advice(why));
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

// Adds the views that cannot show a dataset, each with its reason. `undecoded`: why the decoded ones show it
// as the others do; empty: they do not, or nothing is to be decoded.
void add_absent_views(const object::DatasetDescription& dataset, std::string_view undecoded, Line& line,
                      RequestBudget& budget) {
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
  if (!undecoded.empty()) add("decoded", undecoded);
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
                        const object::DatasetDescription& dataset, Line& line, RequestBudget& budget) {
  if (dataset.layout.cls == format::LayoutClass::Virtual || !dataset.external.empty())
    line.facts().others = true;
  if (dataset.image_bytes == 0 || !view::is_shown_as_text(*dataset.type))
    line.row()->size = static_cast<std::int64_t>(dataset.image_bytes);
  const auto value = dataset_value(file, object, dataset, budget);
  if (!value) {
    line.note(value.error());
    line.text("error", text_with_advice(value.error()));
  } else if (*value) {
    line.json("value", **value);
  }
}

void add_dataset(ServedFile& file, const OpenedObject& object, Line& line, RequestBudget& budget) {
  line.text("kind", "dataset");
  add_structure(file, object, line, budget);
  const auto description = description_of(file, object, budget);
  if (!description) {
    line.note(description.error());
    line.text("error", text_with_advice(description.error()));
    if (description.error().code() == ErrorCode::TooLarge) add_all_views("larger than a file can be", line);
    return;
  }
  const auto decoding = decoding_of_object(file, object, budget);
  if (!decoding) line.note(decoding.error());
  add_absent_views(**description, decoding && *decoding ? (*decoding)->undecoded : "", line, budget);
  if (line.row() != nullptr) add_size_and_value(file, object, **description, line, budget);
}

void add_views_of_group(const std::vector<AbsentView>& views, Line& line) {
  if (views.empty()) return;
  line.open("views");
  for (const AbsentView& view : views) line.text(view.directory, view.why);
  line.close();
}

void add_object(ServedFile& file, const OpenedObject& object, const std::vector<AbsentView>& views,
                Line& line, RequestBudget& budget) {
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
      add_dataset(file, object, line, budget);
      break;
  }
  if (const auto salvage = get_object_xattr(file, object, "user.hdf5.salvage", budget))
    line.json("salvage", *salvage);
  if (CatalogueRow* const row = line.row())
    row->mtime = object_stat(file, object.object, NodeType::File).mtime;
  add_attributes(file, object, line, budget);
}

class MetadataWriter final : public ObjectVisitor {
 public:
  // `begin`: makes the line of a path.
  using Begin = std::function<Line(std::string_view path)>;
  MetadataWriter(ServedFile& file, ViewsOfGroup views, Begin begin, RequestBudget& budget)
      : file_(file), views_(views), begin_(std::move(begin)), budget_(budget) {}

  Status visit_object(const WalkedPlace& place, const OpenedObject& object) override {
    Line line = begin_(place.path);
    GroupViews views;
    if (object.object.kind == object::ObjectKind::Group) views = views_(file_, object, budget_);
    add_object(file_, object, views.absent, line, budget_);
    opened_ = std::move(views.opened);
    H5_TRY(budget_.check());
    return std::move(line).end();
  }
  std::vector<OpenedObjectPtr> take_opened() override { return std::move(opened_); }

  Status visit_link(const WalkedPlace& place, const format::Link& link, const SymlinkPath&) override {
    Line line = begin_(place.path);
    if (link.is(format::LinkType::Hard)) {
      line.text("kind", "hard");
      line.text("target", file_.path_of_object(link.address));
    } else if (link.is(format::LinkType::Soft) || link.is(format::LinkType::External)) {
      line.text("kind", link.is(format::LinkType::Soft) ? "soft" : "external");
      line.text("target", link.target);
      if (link.is(format::LinkType::External))
        line.text(line.row() != nullptr ? "target_file" : "file", link.file);
    } else {
      line.text("kind", "user-defined");
      line.json("class", fmt::format("{}", link.type));
    }
    return std::move(line).end();
  }

  Status visit_damage(const WalkedPlace& place, const Error& why) override {
    Line line = begin_(place.path);
    line.note(why);
    line.text("error", text_with_advice(why));
    return std::move(line).end();
  }

 private:
  ServedFile& file_;
  const ViewsOfGroup views_;
  const Begin begin_;
  RequestBudget& budget_;
  std::vector<OpenedObjectPtr> opened_;
};

}  // namespace

Status append_metadata_lines(const ServedFilePtr& file, ViewsOfGroup views, TreeText& out,
                             RequestBudget& budget) {
  MetadataWriter writer(*file, views, [&](std::string_view path) { return Line(path, out); }, budget);
  return walk_objects(file, writer, budget);
}

Status read_catalogue_rows(const ServedFilePtr& file, ViewsOfGroup views, const TakeCatalogueRow& take,
                           RequestBudget& budget, PassingFacts& facts) {
  const ForCatalogue catalogue{take, facts};
  MetadataWriter writer(*file, views, [&](std::string_view path) { return Line(path, catalogue); }, budget);
  return walk_objects(file, writer, budget);
}

}  // namespace h5mount::tree

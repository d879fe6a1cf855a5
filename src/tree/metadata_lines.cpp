#include "metadata_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "h5mount/view/view.h"
#include "h5mount/view/zarr.h"
#include "object_facts.h"
#include "object_walk.h"

namespace h5mount::tree {

namespace {

// Longer values are omitted from their line, which names them.
constexpr std::size_t kMaxValueBytes = 16U << 20;

// One object of JSON on one line.
class Line {
 public:
  explicit Line(std::string_view path) { text("path", path); }

  void text(std::string_view key, std::string_view value) {
    begin(key);
    text::append_json_string(value, out_);
  }
  void json(std::string_view key, std::string_view value) {
    begin(key);
    out_ += value;
  }
  std::string end() && { return std::move(out_) + "}\n"; }

 private:
  void begin(std::string_view key) {
    out_ += out_.empty() ? '{' : ',';
    text::append_json_string(key, out_);
    out_ += ':';
  }
  std::string out_;
};

bool is_string(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::String ||
         (type.cls == format::DatatypeClass::VariableLength && type.variable_string);
}

// A scalar string is a JSON string here.
Result<std::string> attribute_json(ServedFile& file, const object::Attribute& attribute, std::size_t most,
                                   RequestBudget& budget) {
  if (attribute.damage) return fail(*attribute.damage);
  H5_ASSIGN(const std::string value, text::value_text(*attribute.type, attribute.space, attribute.data,
                                                      file.value_context(&budget), most));
  if (attribute.space.kind != format::DataspaceKind::Scalar || !is_string(*attribute.type))
    return strict_json(value);
  std::string out;
  text::append_json_string(value, out);
  return out;
}

// Stops after `most` bytes: values may share what they refer to, so one object can produce any amount of
// text.
void add_attributes(ServedFile& file, const OpenedObject& object, std::size_t most, Line& line,
                    RequestBudget& budget) {
  std::string values = "{", failed;
  const auto add = [](std::string& to, std::string_view name, std::string_view json) {
    if (to.size() > 1) to += ',';
    text::append_json_string(name, to);
    to.append(":").append(json);
  };
  const auto note_failure = [&](std::string_view name, const Error& error) {
    if (failed.empty()) failed += '{';
    std::string why;
    text::append_json_string(error.text(), why);
    add(failed, name, why);
  };
  const Status walked = object::for_each_attribute(
      *file.metadata(), object.object,
      [&](const object::Attribute& attribute) {
        const std::size_t used = values.size() + failed.size();
        if (used >= most) return false;
        const auto value = attribute_json(file, attribute, std::min(kMaxValueBytes, most - used), budget);
        if (value)
          add(values, attribute.name, *value);
        else
          note_failure(attribute.name, value.error());
        return true;
      },
      [&](const Error& error) { note_failure("", error); });
  if (!walked) note_failure("", walked.error());
  if (values.size() > 1) line.json("attributes", values + "}");
  if (!failed.empty()) line.json("attribute_errors", failed + "}");
}

// Adds the views that cannot show a dataset, with the reason.
void add_absent_views(const object::DatasetDescription& dataset, Line& line, RequestBudget& budget) {
  using view::ZarrEncoding;
  constexpr std::array<std::pair<std::string_view, ZarrEncoding>, 3> kStores = {
      {{"plain.zarr", ZarrEncoding::Plain},
       {"stored.zarr", ZarrEncoding::Stored},
       {"v3.zarr", ZarrEncoding::Version3}}};
  std::string absent;
  const auto add = [&](std::string_view view, std::string_view why) {
    absent += absent.empty() ? '{' : ',';
    text::append_json_string(view, absent);
    absent += ':';
    text::append_json_string(why, absent);
  };
  for (const view::View& view : view::views()) {
    const auto why = view.unfit(dataset, &budget);
    if (!why) return;  // the walk ends: its budget is spent
    if (*why) add(view.directory, **why);
  }
  for (const auto& [store, encoding] : kStores)
    if (const auto array = view::ZarrArray::of(dataset, encoding); !array) add(store, array.error().text());
  if (!absent.empty()) line.json("views", absent + "}");
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

// `most`: the most bytes of attributes.
void add_object(ServedFile& file, const OpenedObject& object, std::size_t most, Line& line,
                RequestBudget& budget) {
  switch (object.object.kind) {
    case object::ObjectKind::Group:
      line.text("kind", "group");
      break;
    case object::ObjectKind::Datatype:
      line.text("kind", "datatype");
      if (const auto dtype = get_object_xattr(file, object, "user.hdf5.dtype", budget))
        line.text("dtype", *dtype);
      break;
    case object::ObjectKind::Dataset:
      line.text("kind", "dataset");
      add_structure(file, object, line, budget);
      if (const auto description = description_of(file, object, &budget))
        add_absent_views(**description, line, budget);
      else
        line.text("error", description.error().text());
      break;
  }
  add_attributes(file, object, most, line, budget);
}

class MetadataWriter final : public ObjectVisitor {
 public:
  MetadataWriter(ServedFile& file, std::uint64_t most_bytes, std::string& out, RequestBudget& budget)
      : file_(file), most_bytes_(most_bytes), out_(out), budget_(budget) {}

  Status visit_object(const WalkedPlace& place, const OpenedObject& object) override {
    Line line(place.path);
    add_object(file_, object, static_cast<std::size_t>(most_bytes_ - out_.size()), line, budget_);
    H5_TRY(budget_.check());
    return write(std::move(line));
  }

  Status visit_link(const WalkedPlace& place, const format::Link& link, const SymlinkPath&) override {
    Line line(place.path);
    if (link.is(format::LinkType::Hard)) {
      line.text("kind", "hard");
      line.text("target", file_.path_of_object(link.address));
    } else if (link.is(format::LinkType::Soft) || link.is(format::LinkType::External)) {
      line.text("kind", link.is(format::LinkType::Soft) ? "soft" : "external");
      line.text("target", link.target);
      if (link.is(format::LinkType::External)) line.text("file", link.file);
    } else {
      line.text("kind", "user-defined");
      line.json("class", fmt::format("{}", link.type));
    }
    return write(std::move(line));
  }

  Status visit_damage(const WalkedPlace& place, const Error& why) override {
    Line line(place.path);
    line.text("error", why.text());
    return write(std::move(line));
  }

 private:
  Status write(Line line) {
    out_ += std::move(line).end();
    if (out_.size() <= most_bytes_) return {};
    return fail({ErrorCode::LimitExceeded, "the tree's metadata are too long a text"});
  }

  ServedFile& file_;
  const std::uint64_t most_bytes_;
  std::string& out_;
  RequestBudget& budget_;
};

}  // namespace

std::string strict_json(std::string_view json) {
  constexpr std::array<std::string_view, 3> kNumbers = {"NaN", "Infinity", "-Infinity"};
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    const auto number =
        in_string ? kNumbers.end()
                  : std::ranges::find_if(kNumbers, [&](std::string_view n) { return rest.starts_with(n); });
    if (number != kNumbers.end()) {
      out.append("\"").append(*number).append("\"");
      i += number->size() - 1;
      continue;
    }
    out += json[i];
    if (in_string && json[i] == '\\' && i + 1 < json.size())
      out += json[++i];
    else if (json[i] == '"')
      in_string = !in_string;
  }
  return out;
}

Status append_metadata_lines(const ServedFilePtr& file, std::uint64_t most_bytes, std::string& out,
                             RequestBudget& budget) {
  MetadataWriter writer(*file, most_bytes, out, budget);
  return walk_objects(file, writer, budget);
}

}  // namespace h5mount::tree

// The metadata files of Zarr stores.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "h5mount/base/limits.h"
#include "h5mount/base/utf8.h"
#include "zarr_dimensions.h"
#include "zarr_store.h"

namespace h5mount::tree {

namespace {

void append_escape(std::uint32_t unit, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit);
}

// Escapes JSON to ASCII, as zarr-python 2 reads only that. In a JSON text only strings contain other
// characters, and these are UTF-8.
std::string ascii_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t bytes = std::max<std::size_t>(utf8_length(json), 1);
    if (bytes == 1) {
      out += json[0];
    } else {
      std::uint32_t point = static_cast<unsigned char>(json[0]) & (0xFFU >> (bytes + 1));
      for (const char c : json.substr(1, bytes - 1))
        point = point << 6 | (static_cast<unsigned char>(c) & 0x3FU);
      if (point >= 0x1'0000) {
        append_escape(0xD800 + ((point - 0x1'0000) >> 10), out);
        append_escape(0xDC00 + (point & 0x3FF), out);
      } else {
        append_escape(point, out);
      }
    }
    json.remove_prefix(bytes);
  }
  return out;
}

view::DimensionRole role_of(const OpenedObject& object) {
  if (object.object.kind != object::ObjectKind::Dataset) return {};
  return view::dimension_role(*object.snapshot, object.object);
}

// The names of all dimensions of an array, as a JSON list. Returns nullopt if the file has too many
// dimensions to be numbered.
Result<std::optional<std::string>> dimension_names_json(ServedFile& file, const OpenedObject& dataset,
                                                        const object::DatasetDescription& description,
                                                        const view::ZarrArray& array,
                                                        view::DimensionRole role, RequestBudget& budget) {
  auto names = dimension_names(file, dataset, description, role, budget);
  if (!names && names.error().code() == ErrorCode::LimitExceeded) return std::nullopt;
  H5_TRY(names);
  for (const std::uint32_t length : array.type().dims)
    names->push_back(fmt::format("array_dim_{}_{}", names->size(), length));
  std::string out = "[";
  for (const std::string& name : *names) {
    if (out.size() > 1) out += ',';
    text::append_json_string(name, out);
  }
  return out + ']';
}

struct WalkedObject {
  const std::string& path;  // prefix of its keys, without a slash at the end; empty for the root
  const OpenedObject& object;
  bool is_array;
};

// Visits the root and all groups and arrays below it. The children of a group are visited one after another.
class StoreWalk {
 public:
  using Visit = std::function<Status(const WalkedObject&)>;
  StoreWalk(const ServedFilePtr& file, view::ZarrEncoding encoding, const Visit& visit, RequestBudget& budget)
      : file_(file), encoding_(encoding), visit_(visit), budget_(budget) {}

  Status run() {
    left_.push_back({GroupContents(file_, file_->root_address(), 0), "", 0});
    while (!left_.empty()) {
      const Group group = std::move(left_.back());
      left_.pop_back();
      path_.resize(group.above);
      add_name(group.name);
      H5_TRY(visit_group(group));
      H5_TRY(budget_.spend(kStepsPerGroup + kStepsPerPathByte * path_.size()));
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kStepsPerGroup = 1000, kStepsPerPathByte = 4;

  // A group to be visited; until then path_ begins with the path of the group that contains it.
  struct Group {
    GroupContents contents;
    std::string name;
    std::size_t above;  // bytes of that path
  };

  void add_name(std::string_view name) {
    if (!path_.empty()) path_ += '/';
    path_ += name;
  }

  Status visit_group(const Group& group) {
    H5_ASSIGN(const OpenedObjectPtr opened, file_->object(group.contents.address(), budget_));
    Status visited = visit_({path_, *opened, false});
    const std::size_t own = path_.size();
    const auto each = [&](const ZarrChild& child) {
      if (child.symlink) return Status();
      if (++objects_ > limits::kMaxWalkedObjects) {
        visited = fail({ErrorCode::TooLarge, "more objects than can be consolidated"});
      } else if (child.is_array()) {
        add_name(child.shown);
        visited = visit_({path_, *child.object, true});
        path_.resize(own);
      } else {
        left_.push_back(
            {GroupContents(file_, child.link.address, group.contents.depth() + 1), child.shown, own});
      }
      return visited;
    };
    // The group's own listing reports its missing entries.
    if (visited) (void)for_each_zarr_child(group.contents, encoding_, each, nullptr, budget_);
    return visited;
  }

  const ServedFilePtr& file_;
  const view::ZarrEncoding encoding_;
  const Visit& visit_;
  RequestBudget& budget_;
  std::vector<Group> left_;
  std::string path_;
  std::size_t objects_ = 0;
};

// Appends the members of a JSON object.
class MembersText {
 public:
  explicit MembersText(TreeText& out) : out_(out) {}

  Status add(const std::string& key, std::string_view text) {
    std::string quoted(std::exchange(first_, false) ? "" : ",");
    text::append_json_string(key, quoted);
    H5_TRY(out_.append(ascii_json(quoted) + ":"));
    return out_.append(text);
  }

 private:
  TreeText& out_;
  bool first_ = true;
};

// The text of a group's zarr.json without its end.
std::string group_node_begin(ServedFile& file, const OpenedObject& group, RequestBudget& budget) {
  const view::AttributesText attributes = view::attributes_text(
      file.value_context(group.snapshot, budget), group.object, {}, nullptr, view::AttributeForm::Version3);
  return fmt::format(R"({{"zarr_format":3,"node_type":"group","attributes":{{{}}})",
                     ascii_json(attributes.members));
}
// The text before and after the metadata of the nodes below the root.
constexpr std::string_view kConsolidated =
    R"(,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{)";
constexpr std::string_view kConsolidatedEnd = "}}}";

Result<std::string> array_node_text(ServedFile& file, const OpenedObject& dataset, RequestBudget& budget) {
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, dataset, budget));
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*description, view::ZarrEncoding::Version3));
  const text::ValueContext values = file.value_context(dataset.snapshot, budget);
  const view::DimensionRole role = role_of(dataset);
  H5_ASSIGN(const std::string fill, view::zarr3_fill_value(*description, values));
  const view::AttributesText attributes = view::attributes_text(
      values, dataset.object, role, description->type.get(), view::AttributeForm::Version3);
  H5_ASSIGN(const auto names, dimension_names_json(file, dataset, *description, array, role, budget));
  return ascii_json(array.version3_metadata(fill, names.value_or("null"), "{" + attributes.members + "}"));
}

}  // namespace

std::string zarr_group_text() {
  return R"({"zarr_format":2})";
}

Result<std::string> zarr_array_text(ServedFile& file, const OpenedObject& dataset,
                                    view::ZarrEncoding encoding, RequestBudget& budget) {
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, dataset, budget));
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*description, encoding));
  const view::AttributesText attributes =
      view::attributes_text(file.value_context(dataset.snapshot, budget), dataset.object, role_of(dataset),
                            description->type.get(), view::AttributeForm::Version2);
  return ascii_json(array.metadata(attributes.fill_value.empty() ? "null" : attributes.fill_value));
}

Result<std::string> zarr_attributes_text(ServedFile& file, const OpenedObject& object,
                                         RequestBudget& budget) {
  const text::ValueContext values = file.value_context(object.snapshot, budget);
  const view::DimensionRole role = role_of(object);
  const auto members = [&](const format::Datatype* fill_type) {
    return view::attributes_text(values, object.object, role, fill_type, view::AttributeForm::Version2)
        .members;
  };
  if (object.object.kind != object::ObjectKind::Dataset) return ascii_json("{" + members(nullptr) + "}");
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, object, budget));
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*description, view::ZarrEncoding::Plain));
  std::string out = members(description->type.get());
  H5_ASSIGN(const auto names, dimension_names_json(file, object, *description, array, role, budget));
  if (names && !out.empty()) out += ',';
  if (names) out += R"("_ARRAY_DIMENSIONS":)" + *names;
  return ascii_json("{" + out + "}");
}

Status zarr_consolidated_text(const ServedFilePtr& file, view::ZarrEncoding encoding, TreeText& out,
                              RequestBudget& budget) {
  H5_TRY(out.append(R"({"zarr_consolidated_format":1,"metadata":{)"));
  MembersText members(out);
  const auto visit = [&](const WalkedObject& walked) -> Status {
    const std::string prefix = walked.path.empty() ? "" : walked.path + "/";
    const auto own = walked.is_array ? zarr_array_text(*file, walked.object, encoding, budget)
                                     : Result<std::string>(zarr_group_text());
    const auto attributes = zarr_attributes_text(*file, walked.object, budget);
    if (!own || !attributes) return {};
    H5_TRY(members.add(prefix + (walked.is_array ? ".zarray" : ".zgroup"), *own));
    return members.add(prefix + ".zattrs", *attributes);
  };
  H5_TRY(StoreWalk(file, encoding, visit, budget).run());
  return out.append("}}");
}

Result<std::string> zarr3_node_text(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  if (object.object.kind == object::ObjectKind::Dataset) return array_node_text(file, object, budget);
  return group_node_begin(file, object, budget) + "}";
}

Status zarr3_root_text(const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
  H5_ASSIGN(const OpenedObjectPtr root, file->object(file->root_address(), budget));
  H5_TRY(out.append(group_node_begin(*file, *root, budget).append(kConsolidated)));
  MembersText members(out);
  const auto visit = [&](const WalkedObject& walked) -> Status {
    if (walked.path.empty()) return {};
    if (!walked.is_array)
      return members.add(
          walked.path,
          group_node_begin(*file, walked.object, budget).append(kConsolidated).append(kConsolidatedEnd));
    const auto text = array_node_text(*file, walked.object, budget);
    return text ? members.add(walked.path, *text) : Status();
  };
  H5_TRY(StoreWalk(file, view::ZarrEncoding::Version3, visit, budget).run());
  return out.append(kConsolidatedEnd);
}

}  // namespace h5mount::tree

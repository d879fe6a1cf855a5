// The metadata files of Zarr stores.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "h5mount/base/limits.h"
#include "h5mount/base/utf8.h"
#include "zarr_store.h"

namespace h5mount::tree {

namespace {

// The limit of consolidated metadata, which are held in memory while they are open.
constexpr std::size_t kMaxConsolidatedBytes = 1U << 30;

void append_escape(std::uint32_t unit, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit);
}

// JSON in ASCII, the only one that zarr-python 2 reads. In a JSON text only strings contain other characters,
// and these are UTF-8.
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

// The names of all dimensions of an array, as a list.
std::string dimension_names_json(const text::ValueContext& values, const object::Object& object,
                                 const object::DatasetDescription& dataset, const view::ZarrArray& array,
                                 view::DimensionRole role) {
  std::vector<std::string> names = view::dimension_names(values, object, dataset, role);
  for (const std::uint32_t length : array.type().dims)
    names.push_back(fmt::format("array_dim_{}_{}", names.size(), length));
  std::string out = "[";
  for (const std::string& name : names) {
    if (out.size() > 1) out += ',';
    text::append_json_string(name, out);
  }
  return out + ']';
}

struct WalkedObject {
  std::string path;  // prefix of its keys, without a slash at the end; empty for the root
  const OpenedObject& object;
  bool is_array;
};

// Visits the root and all groups and arrays below it. The children of a group are visited one after another.
Status walk_store(const ServedFilePtr& file, view::ZarrEncoding encoding, RequestBudget& budget,
                  const std::function<Status(const WalkedObject&)>& visit) {
  struct Group {
    GroupContents contents;
    std::string path;
  };
  std::vector<Group> left;
  left.push_back({GroupContents(file, file->root_address(), 0), ""});
  std::size_t objects = 0;
  while (!left.empty()) {
    const Group group = std::move(left.back());
    left.pop_back();
    H5_ASSIGN(const OpenedObjectPtr opened, file->object(group.contents.address(), budget));
    Status visited = visit({group.path, *opened, false});
    const auto each = [&](const ZarrChild& child) {
      if (child.symlink) return Status();
      std::string path = group.path.empty() ? child.shown : group.path + "/" + child.shown;
      if (++objects > limits::kMaxWalkedObjects)
        visited = fail({ErrorCode::LimitExceeded, "more objects than can be consolidated"});
      else if (child.is_array())
        visited = visit({std::move(path), *child.object, true});
      else
        left.push_back(
            {GroupContents(file, child.link.address, group.contents.depth() + 1), std::move(path)});
      return visited;
    };
    // The group's own listing reports its missing entries.
    if (visited) (void)for_each_zarr_child(group.contents, encoding, each, nullptr, budget);
    H5_TRY(visited);
    H5_TRY(budget.check());
  }
  return {};
}

// Adds a member to a JSON object that is being written.
Status add_member(std::string& out, const std::string& key, std::string_view text) {
  if (out.back() != '{') out += ',';
  std::string quoted;
  text::append_json_string(key, quoted);
  out.append(ascii_json(quoted)).append(":").append(text);
  if (out.size() <= kMaxConsolidatedBytes) return {};
  return fail({ErrorCode::LimitExceeded, "more metadata than can be consolidated"});
}

// The text of a group's zarr.json; `consolidated`: the content of its member of that name, or empty.
Result<std::string> group_node_text(ServedFile& file, const OpenedObject& group,
                                    std::string_view consolidated, RequestBudget& budget) {
  const view::AttributesText attributes = view::attributes_text(
      file.value_context(group.snapshot, &budget), group.object, {}, nullptr, view::FillAttribute::Version3);
  std::string out = fmt::format(R"({{"zarr_format":3,"node_type":"group","attributes":{{{}}})",
                                ascii_json(attributes.members));
  if (!consolidated.empty())
    out.append(R"(,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":)")
        .append(consolidated)
        .append("}");
  return out + '}';
}

Result<std::string> array_node_text(ServedFile& file, const OpenedObject& dataset, RequestBudget& budget) {
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, dataset, &budget));
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*description, view::ZarrEncoding::Version3));
  const text::ValueContext values = file.value_context(dataset.snapshot, &budget);
  const view::DimensionRole role = role_of(dataset);
  H5_ASSIGN(const std::string fill, view::zarr3_fill_value(*description, values));
  const view::AttributesText attributes = view::attributes_text(
      values, dataset.object, role, description->type.get(), view::FillAttribute::Version3);
  return ascii_json(
      array.version3_metadata(fill, dimension_names_json(values, dataset.object, *description, array, role),
                              "{" + attributes.members + "}"));
}

}  // namespace

std::string zarr_group_text() {
  return R"({"zarr_format":2})";
}

Result<std::string> zarr_array_text(ServedFile& file, const OpenedObject& dataset,
                                    view::ZarrEncoding encoding, RequestBudget& budget) {
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, dataset, &budget));
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*description, encoding));
  const view::AttributesText attributes =
      view::attributes_text(file.value_context(dataset.snapshot, &budget), dataset.object, role_of(dataset),
                            description->type.get(), view::FillAttribute::Metadata);
  return ascii_json(array.metadata(attributes.fill_value.empty() ? "null" : attributes.fill_value));
}

Result<std::string> zarr_attributes_text(ServedFile& file, const OpenedObject& object,
                                         RequestBudget& budget) {
  const text::ValueContext values = file.value_context(object.snapshot, &budget);
  const view::DimensionRole role = role_of(object);
  const auto members = [&](const format::Datatype* fill_type) {
    return view::attributes_text(values, object.object, role, fill_type, view::FillAttribute::Metadata)
        .members;
  };
  if (object.object.kind != object::ObjectKind::Dataset) return ascii_json("{" + members(nullptr) + "}");
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, object, &budget));
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*description, view::ZarrEncoding::Plain));
  std::string out = members(description->type.get());
  if (!out.empty()) out += ',';
  out += R"("_ARRAY_DIMENSIONS":)" + dimension_names_json(values, object.object, *description, array, role);
  return ascii_json("{" + out + "}");
}

Result<std::string> zarr_consolidated_text(const ServedFilePtr& file, view::ZarrEncoding encoding,
                                           RequestBudget& budget) {
  std::string out = R"({"zarr_consolidated_format":1,"metadata":{)";
  Status walked_all = walk_store(file, encoding, budget, [&](const WalkedObject& walked) -> Status {
    const std::string prefix = walked.path.empty() ? "" : walked.path + "/";
    const auto own = walked.is_array ? zarr_array_text(*file, walked.object, encoding, budget)
                                     : Result<std::string>(zarr_group_text());
    const auto attributes = zarr_attributes_text(*file, walked.object, budget);
    if (!own || !attributes) return {};
    H5_TRY(add_member(out, prefix + (walked.is_array ? ".zarray" : ".zgroup"), *own));
    return add_member(out, prefix + ".zattrs", *attributes);
  });
  H5_TRY(std::move(walked_all));
  return out + "}}";
}

Result<std::string> zarr3_node_text(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  if (object.object.kind == object::ObjectKind::Dataset) return array_node_text(file, object, budget);
  return group_node_text(file, object, "", budget);
}

Result<std::string> zarr3_root_text(const ServedFilePtr& file, RequestBudget& budget) {
  std::string below = "{";
  Status walked_all =
      walk_store(file, view::ZarrEncoding::Version3, budget, [&](const WalkedObject& walked) -> Status {
        if (walked.path.empty()) return {};
        const auto text = walked.is_array ? array_node_text(*file, walked.object, budget)
                                          : group_node_text(*file, walked.object, "{}", budget);
        return text ? add_member(below, walked.path, *text) : Status();
      });
  H5_TRY(std::move(walked_all));
  H5_ASSIGN(const OpenedObjectPtr root, file->object(file->root_address(), budget));
  return group_node_text(*file, *root, below + '}', budget);
}

}  // namespace h5mount::tree

#include "zarr_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "h5mount/base/limits.h"
#include "h5mount/base/utf8.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

constexpr std::array<std::string_view, 4> kReserved = {".zarray", ".zattrs", ".zgroup", ".zmetadata"};
constexpr std::string_view kDot = "%2E", kBackslash = "%5C";

// Of .zmetadata, which is held in memory while it is open.
constexpr std::size_t kMaxConsolidatedBytes = 1U << 30;

Error not_shown() {
  return {ErrorCode::NotFound, "no such group or array"};
}

bool is_reserved(std::string_view name) {
  return std::ranges::find(kReserved, name) != kReserved.end();
}

// A file name with what Zarr reserves encoded as well: zarr-python takes backslashes for slashes. A name that
// grows too long stays as it is.
std::string zarr_name(std::string file_name) {
  if (is_reserved(file_name)) return std::string(kDot) + file_name.substr(1);
  std::string out;
  for (const char c : file_name)
    if (c == '\\')
      out += kBackslash;
    else
      out += c;
  return out.size() <= kMaxShownName ? out : file_name;
}

std::string file_name(std::string_view shown) {
  if (shown.starts_with(kDot)) {
    std::string name = "." + std::string(shown.substr(kDot.size()));
    if (is_reserved(name)) return name;
  }
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown.substr(i).starts_with(kBackslash)) {
      out += '\\';
      i += kBackslash.size() - 1;
    } else if (shown.substr(i).starts_with("%25")) {
      out += "%25";
      i += 2;
    } else {
      out += shown[i];
    }
  }
  return out;
}

void append_escape(std::uint32_t unit, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit);
}

// JSON in ASCII: zarr-python 2 reads nothing else. Of a JSON text only strings hold other characters, and
// these are UTF-8.
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

// NotFound for datasets that are not shown.
Status check_shown(ServedFile& file, const OpenedObject& dataset) {
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, dataset));
  const auto array = view::ZarrArray::of(*description, view::ZarrEncoding::Plain);
  if (!array) return fail(not_shown());
  if (role_of(dataset).without_values) return fail(not_shown());
  return {};
}

// The object of a link, or where its symlink leads. NotFound for links that the store does not show.
Result<ZarrChild> resolve(const GroupContents& group, const format::Link& link,
                          metadata::RetryBudget& budget) {
  ServedFile& file = *group.file();
  ZarrChild out{.shown = {}, .link = link, .object = nullptr, .symlink = {}};
  LinkTarget target = group.resolve(link, budget);
  if (auto* broken = std::get_if<LinkTarget::Broken>(&target.what)) return fail(std::move(broken->why));
  if (auto* object = std::get_if<OpenedObjectPtr>(&target.what)) {
    out.object = *object;
  } else if (link.is(format::LinkType::Hard)) {
    out.symlink = std::get<SymlinkPath>(std::move(target.what));
    return out;
  } else {
    if (!link.is(format::LinkType::Soft)) return fail(not_shown());
    const auto address = object::resolve_path(file.metadata(), group.address(), link.target);
    if (!address) return fail(not_shown());
    H5_ASSIGN(out.object, file.object(*address, budget));
    out.link.address = *address;
    if (out.object->object.kind == object::ObjectKind::Group) {
      out.symlink = std::get<SymlinkPath>(std::move(target.what));
      out.object = nullptr;
      return out;
    }
  }
  if (out.object->object.kind == object::ObjectKind::Datatype) return fail(not_shown());
  if (out.is_array()) H5_TRY(check_shown(file, *out.object));
  return out;
}

// What the prefix of a variable that is no coordinate hides is its name, unless something else has that.
std::string own_name(const GroupContents& group, const ZarrChild& child, metadata::RetryBudget& budget) {
  const std::string& name = child.link.name;
  if (!child.is_array() || !name.starts_with(view::kNonCoordinatePrefix)) return name;
  std::string stripped = name.substr(view::kNonCoordinatePrefix.size());
  const auto other = group.find_named(stripped);
  if (other && resolve(group, *other, budget)) return name;
  return stripped;
}

}  // namespace

std::string encode_zarr_name(std::string_view name) {
  return zarr_name(encode_name(name));
}

Result<ZarrChild> find_zarr_child(const GroupContents& group, std::string_view shown) {
  metadata::RetryBudget budget;
  const std::string name = file_name(shown);
  auto link = group.find(name);
  auto child = link ? resolve(group, *link, budget) : Result<ZarrChild>(fail(link.error()));
  if (!child && child.error().code() == ErrorCode::NotFound) {
    const auto plain = decode_name(name);
    if (!plain) return fail(not_shown());
    link = group.find_named(std::string(view::kNonCoordinatePrefix) + *plain);
    if (link) child = resolve(group, *link, budget);
  }
  H5_TRY(child);
  if (zarr_name(name) != shown) return fail(not_shown());
  child->shown = shown;
  return child;
}

Status for_each_zarr_child(const GroupContents& group, const std::function<Status(ZarrChild)>& each,
                           const std::function<void(const Error&)>& damaged) {
  H5_ASSIGN(const std::shared_ptr<const GroupListing> links, group.list());
  for (std::size_t i = 0; i < links->size(); ++i) {
    const auto link = group.find_listed(*links, i);
    auto child = link ? resolve(group, *link, links->retries()) : Result<ZarrChild>(fail(link.error()));
    if (!child) {
      if (damaged && child.error().code() != ErrorCode::NotFound) damaged(child.error());
      continue;
    }
    const std::string own = own_name(group, *child, links->retries());
    child->shown =
        own == child->link.name ? zarr_name(std::string(links->at(i).name)) : encode_zarr_name(own);
    H5_TRY(each(*std::move(child)));
  }
  if (damaged && links->damage() != nullptr) damaged(*links->damage());
  return {};
}

std::string zarr_group_text() {
  return R"({"zarr_format":2})";
}

Result<std::string> zarr_array_text(ServedFile& file, const OpenedObject& dataset,
                                    view::ZarrEncoding encoding) {
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, dataset));
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*description, encoding));
  const view::AttributesText attributes = view::attributes_text(
      file.value_context(dataset.snapshot), dataset.object, role_of(dataset), description->type.get());
  return ascii_json(array.metadata(attributes.fill_value.empty() ? "null" : attributes.fill_value));
}

Result<std::string> zarr_attributes_text(ServedFile& file, const OpenedObject& object) {
  const text::ValueContext values = file.value_context(object.snapshot);
  const view::DimensionRole role = role_of(object);
  if (object.object.kind != object::ObjectKind::Dataset)
    return ascii_json("{" + view::attributes_text(values, object.object, role, nullptr).members + "}");
  H5_ASSIGN(const DatasetDescriptionPtr description, description_of(file, object));
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*description, view::ZarrEncoding::Plain));
  std::string out = view::attributes_text(values, object.object, role, description->type.get()).members;
  if (!out.empty()) out += ',';
  out += R"("_ARRAY_DIMENSIONS":[)";
  bool first = true;
  std::vector<std::string> names = view::dimension_names(values, object.object, *description, role);
  for (const std::uint32_t length : array.type().dims)
    names.push_back(fmt::format("array_dim_{}_{}", names.size(), length));
  for (const std::string& name : names) {
    if (!std::exchange(first, false)) out += ',';
    text::append_json_string(name, out);
  }
  return ascii_json("{" + out + "]}");
}

Result<std::string> zarr_consolidated_text(const ServedFilePtr& file, view::ZarrEncoding encoding) {
  struct Group {
    GroupContents contents;
    std::string prefix;  // of its keys
  };
  std::string out = R"({"zarr_consolidated_format":1,"metadata":{)";
  const auto add = [&](const std::string& key, const std::string& text) -> Status {
    if (out.back() != '{') out += ',';
    std::string quoted;
    text::append_json_string(key, quoted);
    out += ascii_json(quoted) + ':' + text;
    if (out.size() <= kMaxConsolidatedBytes) return {};
    return fail({ErrorCode::LimitExceeded, "more metadata than can be consolidated"});
  };
  std::vector<Group> left;
  left.push_back({GroupContents(file, file->root_address(), 0), ""});
  std::size_t objects = 0;
  while (!left.empty()) {
    const Group group = std::move(left.back());
    left.pop_back();
    H5_ASSIGN(const OpenedObjectPtr opened, file->object(group.contents.address()));
    H5_TRY(add(group.prefix + ".zgroup", zarr_group_text()));
    H5_ASSIGN(const std::string attributes, zarr_attributes_text(*file, *opened));
    H5_TRY(add(group.prefix + ".zattrs", attributes));
    const auto each = [&](const ZarrChild& child) -> Status {
      if (child.symlink) return {};
      if (++objects > limits::kMaxWalkedObjects)
        return fail({ErrorCode::LimitExceeded, "more objects than can be consolidated"});
      const std::string prefix = group.prefix + child.shown + "/";
      if (!child.is_array()) {
        left.push_back({GroupContents(file, child.link.address, group.contents.depth() + 1), prefix});
        return {};
      }
      const auto array = zarr_array_text(*file, *child.object, encoding);
      const auto array_attributes = zarr_attributes_text(*file, *child.object);
      if (!array || !array_attributes) return {};
      H5_TRY(add(prefix + ".zarray", *array));
      return add(prefix + ".zattrs", *array_attributes);
    };
    (void)for_each_zarr_child(group.contents, each, nullptr);
  }
  return out + "}}";
}

}  // namespace h5mount::tree

#include "zarr_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "h5mount/base/text.h"
#include "h5mount/base/uri.h"
#include "h5mount/base/utf8.h"
#include "h5mount/object/resolve_path.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kBackslash = "%5C";

Error not_shown() {
  return {ErrorCode::NotFound, "no such group or array"};
}

// Whether the name is reserved for Zarr's keys: its first character is then percent-encoded, which makes it a
// different name.
bool is_reserved(std::string_view name, bool version3) {
  constexpr std::array<std::string_view, 4> kFiles2 = {".zarray", ".zattrs", ".zgroup", ".zmetadata"};
  if (!version3) return std::ranges::find(kFiles2, name) != kFiles2.end();
  return name == "zarr.json" || name.starts_with("__") ||
         name.find_first_not_of('.') == std::string_view::npos;
}

// A file name in which everything that Zarr reserves is encoded too: zarr-python takes backslashes for
// slashes. A name that would become too long is not changed.
std::string zarr_name(const std::string& file_name, bool version3) {
  std::string out;
  if (is_reserved(file_name, version3))
    out = fmt::format("%{:02X}", static_cast<unsigned char>(file_name[0]));
  for (const char c : std::string_view(file_name).substr(out.empty() ? 0 : 1))
    if (c == '\\')
      out += kBackslash;
    else
      out += c;
  return out.size() <= kMaxShownName ? out : file_name;
}

// The file name of the shown name `shown`, if there is one.
std::string file_name(std::string_view shown, bool version3) {
  std::string out;
  constexpr std::array<std::string_view, 3> kFirst = {"%2E", "%5F", "%7A"};
  constexpr std::string_view kDecoded = "._z";
  for (std::size_t i = 0; i < kFirst.size(); ++i) {
    if (!shown.starts_with(kFirst[i])) continue;
    const std::string name = kDecoded[i] + std::string(shown.substr(kFirst[i].size()));
    if (!is_reserved(name, version3)) continue;
    out = kDecoded[i];
    shown.remove_prefix(kFirst[i].size());
    break;
  }
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

// Why a dataset is not shown; nullopt: it is. An empty reason: there is nothing to be shown.
Result<std::optional<std::string>> why_unshown(ServedFile& file, const OpenedObject& dataset,
                                               view::ZarrEncoding encoding) {
  H5_ASSIGN(const DatasetDescriptionPtr description, viewed_description_of(file, dataset));
  if (!description || view::dimension_role(*dataset.snapshot, dataset.object).without_values)
    return std::string();
  const auto array = view::ZarrArray::of(*description, encoding);
  return array ? std::nullopt : std::optional(array.error().text());
}

// Whether a soft link that cannot be resolved is one that a store has no entry for: it dangles, or leads to
// another file.
bool shows_nothing(const Error& error) {
  return object::leads_nowhere(error) || error.code() == ErrorCode::UnsupportedFeature;
}

// The object of a link, or of its symlink's target, and why it is not shown if it is a dataset that is not.
// Fails with NotFound for other links that the store does not show. `work`: carries the request's budget.
struct Resolved {
  ZarrChild child;
  std::optional<std::string> unshown = {};
};
Result<Resolved> resolve_any(const GroupContents& group, const format::Link& link,
                             view::ZarrEncoding encoding, object::PathWork& work) {
  RequestBudget& budget = work.budget;
  ServedFile& file = *group.file();
  ZarrChild out{.shown = {}, .own_name = link.name, .link = link, .object = nullptr, .symlink = {}};
  LinkTarget target = group.resolve(link, budget);
  if (auto* broken = std::get_if<LinkTarget::Broken>(&target.what)) return fail(std::move(broken->why));
  if (auto* object = std::get_if<OpenedObjectPtr>(&target.what)) {
    out.object = *object;
  } else if (link.is(format::LinkType::Hard)) {
    out.symlink = std::get<SymlinkPath>(std::move(target.what));
    return Resolved{std::move(out)};
  } else {
    if (!link.is(format::LinkType::Soft)) return fail(not_shown());
    const auto address = object::resolve_path(file.metadata(), group.address(), link.target, work);
    H5_TRY(budget.check());
    if (!address) return fail(shows_nothing(address.error()) ? not_shown() : address.error());
    H5_ASSIGN(out.object, file.object(*address, budget));
    out.link.address = *address;
    if (out.object->object.kind == object::ObjectKind::Group) {
      out.symlink = std::get<SymlinkPath>(std::move(target.what));
      out.object = nullptr;
      return Resolved{std::move(out)};
    }
  }
  if (out.object->object.kind == object::ObjectKind::Datatype) return fail(not_shown());
  if (!out.is_array()) return Resolved{std::move(out)};
  H5_ASSIGN(std::optional<std::string> why, why_unshown(file, *out.object, encoding));
  return Resolved{std::move(out), std::move(why)};
}

// The same; fails with NotFound for all that the store does not show.
Result<ZarrChild> resolve(const GroupContents& group, const format::Link& link, view::ZarrEncoding encoding,
                          object::PathWork& work) {
  H5_ASSIGN(Resolved found, resolve_any(group, link, encoding, work));
  if (found.unshown) return fail(not_shown());
  return std::move(found.child);
}

// The prefix of a variable that is not a coordinate is removed from its name, unless something else has the
// shorter name.
std::string own_name(const GroupContents& group, const ZarrChild& child, view::ZarrEncoding encoding,
                     object::PathWork& work) {
  const std::string& name = child.link.name;
  if (!child.is_array() || !name.starts_with(view::kNonCoordinatePrefix)) return name;
  std::string stripped = name.substr(view::kNonCoordinatePrefix.size());
  const auto other = group.find_named(stripped, work.budget);
  if (other && resolve(group, *other, encoding, work)) return name;
  return stripped;
}

// Reports the object that cannot be read once for each cause, unless a front end names it itself.
void leave_out(const GroupContents& group, const GroupListing& links, std::size_t position, const Error& why,
               ZarrOmissions* omissions) {
  constexpr std::size_t kMostNamed = 1000;
  ServedFile& file = *group.file();
  if (file.context().options.logs_failed_reads)
    file.report(file.path_of({group.address(), links.link(position).name}), why);
  if (omissions == nullptr) return;
  if (omissions->each) omissions->each(links.name(position), why.text());
  if (omissions->objects.size() > kMostNamed) return;
  if (omissions->objects.size() == kMostNamed)
    omissions->objects.push_back({"", {ErrorCode::LimitExceeded, "and more that cannot be read"}});
  else
    omissions->objects.push_back({std::string(links.name(position)), why});
}

}  // namespace

std::string encode_zarr_name(std::string_view name) {
  return zarr_name(encode_name(name), false);
}

std::string encode_zarr3_name(std::string_view name) {
  return zarr_name(encode_name(name), true);
}

std::string version3_key(std::string_view path) {
  return escape_invalid_utf8(path, "%{:02X}");
}

std::string version2_path(std::string_view key) {
  // The name itself has no % before two digits.
  std::string bytes;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const std::string_view escape = key.substr(i, 3);
    const bool is_byte =
        escape.size() == 3 && escape[0] == '%' && escape[1] >= '8' && decode_percent(escape).size() == 1;
    bytes += is_byte ? decode_percent(escape) : escape.substr(0, 1);
    if (is_byte) i += 2;
  }
  std::string_view path = bytes;
  std::string out;
  while (!path.empty()) {
    if (!out.empty()) out += '/';
    out += zarr_name(file_name(take_until(path, '/'), true), false);
  }
  return out;
}

StoreGroupPtr root_of(const ServedFilePtr& file) {
  return std::make_shared<const StoreGroup>(GroupContents(file, file->root_address(), 0), nullptr);
}

StoreGroupPtr group_in(const StoreGroupPtr& group, std::uint64_t address) {
  const GroupContents& in = group->contents;
  return std::make_shared<const StoreGroup>(GroupContents(in.file(), address, in.depth() + 1), group);
}

Result<ZarrChild> find_zarr_child(const GroupContents& group, view::ZarrEncoding encoding,
                                  std::string_view shown, RequestBudget& budget) {
  const bool version3 = view::is_version3(encoding);
  const std::string name = file_name(shown, version3);
  object::PathWork work{.budget = budget};
  auto link = group.find(name, budget);
  auto child = link ? resolve(group, *link, encoding, work) : Result<ZarrChild>(fail(link.error()));
  if (!child && child.error().code() == ErrorCode::NotFound) {
    const auto plain = decode_name(name);
    if (!plain) return fail(not_shown());
    link = group.find_named(std::string(view::kNonCoordinatePrefix) + *plain, budget);
    if (link) child = resolve(group, *link, encoding, work);
    if (child) child->own_name = *plain;
  }
  H5_TRY(child);
  if (zarr_name(name, version3) != shown) return fail(not_shown());
  child->shown = shown;
  return child;
}

Status for_each_zarr_child(const GroupContents& group, view::ZarrEncoding encoding,
                           const std::function<Status(ZarrChild)>& each, ZarrOmissions* omissions,
                           RequestBudget& budget) {
  const bool version3 = view::is_version3(encoding);
  H5_ASSIGN(const std::shared_ptr<const GroupListing> links, group.list(budget));
  budget.share_pauses(links->pauses());
  object::PathWork work{.budget = budget};
  for (std::size_t i = 0; i < links->size(); ++i) {
    const auto link = group.find_listed(*links, i, budget);
    auto found = link ? resolve_any(group, *link, encoding, work) : Result<Resolved>(fail(link.error()));
    if (!found) {
      H5_TRY(budget.check());
      const Error& why = found.error();
      if (is_passing(why) && omissions != nullptr)
        omissions->damage = why.within("Group", group.address());
      else if (why.code() != ErrorCode::NotFound)
        leave_out(group, *links, i, why, omissions);
      continue;
    }
    if (found->unshown) {
      if (omissions != nullptr && omissions->each && !found->unshown->empty())
        omissions->each(links->name(i), *found->unshown);
      continue;
    }
    ZarrChild& child = found->child;
    child.own_name = own_name(group, child, encoding, work);
    const bool as_linked = child.own_name == child.link.name;
    child.shown = zarr_name(as_linked ? std::string(links->name(i)) : encode_name(child.own_name), version3);
    H5_TRY(each(std::move(child)));
  }
  if (omissions != nullptr && links->damage() != nullptr) omissions->damage = *links->damage();
  return {};
}

}  // namespace h5mount::tree

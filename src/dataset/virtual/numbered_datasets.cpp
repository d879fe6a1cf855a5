#include "numbered_datasets.h"

#include <optional>
#include <string>
#include <vector>

#include "h5mount/base/text.h"
#include "h5mount/object/resolve_path.h"
#include "virtual_names.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kStepsPerLink = 200, kStepsPerObject = 4000;

// A name with one number, which is in its last component.
struct Pattern {
  std::string group, before, after;  // without `%`; `before` and `after` enclose the number
};

std::optional<Pattern> parse(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::string_view group = slash == std::string_view::npos ? "" : name.substr(0, slash);
  const std::string_view last = name.substr(slash == std::string_view::npos ? 0 : slash + 1);
  std::size_t at = 0;
  while (at < last.size() && !last.substr(at).starts_with("%b"))
    at += last.substr(at).starts_with("%%") ? 2U : 1U;
  if (at >= last.size() || has_block_number(group) || has_block_number(last.substr(at + 2)))
    return std::nullopt;
  return Pattern{plain_name(group), plain_name(last.substr(0, at)), plain_name(last.substr(at + 2))};
}

// The number in a name that numbered_name could have made; nullopt if there is none.
std::optional<std::uint64_t> number_of(const Pattern& pattern, std::string_view name) {
  if (!name.starts_with(pattern.before)) return std::nullopt;
  name.remove_prefix(pattern.before.size());
  if (!name.ends_with(pattern.after)) return std::nullopt;
  name.remove_suffix(pattern.after.size());
  if (name.empty() || (name.size() > 1 && name[0] == '0')) return std::nullopt;
  return parse_whole<std::uint64_t>(name);
}

}  // namespace

std::uint64_t count_numbered_datasets(const metadata::FileMetadataPtr& file, std::string_view name,
                                      std::uint64_t most, RequestBudget& budget) {
  const std::optional<Pattern> pattern = parse(name);
  if (!pattern) return 0;
  object::PathWork work{.budget = budget};
  const auto address = object::resolve_path(file, file->root_address(), pattern->group, work);
  const auto object =
      address ? object::open_object(*file, *address) : Result<object::Object>(fail(address.error()));
  if (!object || object->kind != object::ObjectKind::Group) return 0;
  const auto group = object::Group::open(file, *object);
  if (!group) return 0;
  std::vector<bool> there;            // whether a dataset exists, by its number
  std::optional<std::uint64_t> last;  // address of the last dataset that was met
  const auto note = [&](const format::Link& link) {
    if (!budget.spend(kStepsPerLink)) return false;
    const auto number = link.is(format::LinkType::Hard) ? number_of(*pattern, link.name) : std::nullopt;
    if (!number || *number >= most) return true;
    if (last != link.address) {
      if (!budget.spend(kStepsPerObject)) return false;
      const auto target = object::open_object(*file, link.address);
      if (!target || target->kind != object::ObjectKind::Dataset) return true;
      last = link.address;
    }
    if (*number >= there.size()) there.resize(static_cast<std::size_t>(*number) + 1);
    there[static_cast<std::size_t>(*number)] = true;
    return true;
  };
  // Errors are ignored: the caller looks up by name what could not be listed.
  (void)(*group)->for_each(note, [](const Error&) {});
  std::uint64_t count = 0;
  while (count < there.size() && there[static_cast<std::size_t>(count)]) ++count;
  return count;
}

}  // namespace h5mount::dataset

#include "attribute_values.h"

#include <unordered_set>

#include "h5mount/object/list_damage.h"
#include "h5mount/object/object.h"
#include "h5mount/text/text_bounds.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

bool is_longer(const object::Attribute& attribute, const text::ValueContext& context) {
  const auto text =
      text::value_text(*attribute.type, attribute.space, attribute.data, context, kMaxXattrBytes);
  return !text && text.error().code() == ErrorCode::TooLarge;
}

// A value that cannot be read does not count as large: reading its attribute then reports the error.
bool is_large(ServedFile& file, const object::Attribute& attribute, RequestBudget& budget) {
  if (attribute.damage) return false;
  const text::TextBounds bounds = text::value_text_bounds(*attribute.type, attribute.space, attribute.data);
  if (bounds.most <= kMaxXattrBytes) return false;
  if (bounds.least > kMaxXattrBytes) return true;
  const text::ValueContext context = file.value_context(budget);
  if (attribute.type->has_reference) {
    // The longest possible path is assumed for a reference: the paths of a file's objects are expensive to
    // compute, and a longer path could not be used.
    constexpr std::size_t kPathMax = 4096;
    const text::ValueContext any_path{
        {context.file, [](std::uint64_t) { return std::string(kPathMax, '/'); }}, budget};
    if (!is_longer(attribute, any_path)) return false;
  }
  return is_longer(attribute, context);
}

// Calls `each` with every attribute's own name, in order, each once: damaged storage may contain a name
// twice. `examine` (may be null) receives the whole attribute before that. Returns why names may be missing.
template <class Each>
std::optional<Error> for_each_name(const OpenedObject& object,
                                   const std::function<void(object::Attribute&)>& examine, const Each& each) {
  std::unordered_set<std::string> met;
  object::ListDamage damage;
  damage.note(object::for_each_attribute(
      *object.snapshot, object.object,
      [&](const object::Attribute& attribute) {
        if (met.insert(attribute.name).second) each(attribute.name);
        return true;
      },
      [&](const Error& error) { damage.note(error); },
      examine ? object::AttributeDetail::Full : object::AttributeDetail::Name, examine));
  return damage.error("attributes");
}

// Shown name and own name of every attribute, in order.
std::vector<std::pair<std::string, std::string>> with_shown_names(std::vector<std::string> names) {
  std::vector<std::pair<std::string, std::string>> out;
  out.reserve(names.size());
  UniqueNames unique;
  for (std::string& name : names) {
    std::string shown = unique.add(name, encode_attribute_name(name), kMaxShownAttribute);
    out.emplace_back(std::move(shown), std::move(name));
  }
  return out;
}

}  // namespace

AttributeNames attribute_names(const OpenedObject& object) {
  AttributeNames out;
  out.damage = for_each_name(object, nullptr, [&](const std::string& name) { out.names.push_back(name); });
  return out;
}

Result<XattrNames> xattr_names(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  std::optional<std::vector<std::string>> names;  // set if this call is the one that examines the values
  H5_ASSIGN(const std::shared_ptr<const LargeAttributes> large,
            object.large_attributes.get(
                [&]() -> Result<std::shared_ptr<const LargeAttributes>> {
                  auto found = std::make_shared<LargeAttributes>();
                  const auto examine = [&](object::Attribute& attribute) {
                    if (is_large(file, attribute, budget)) found->insert(attribute.name);
                    // Values are not held together in memory.
                    attribute.type = nullptr;
                    attribute.data = {};
                    attribute.owner = nullptr;
                  };
                  std::vector<std::string> met;
                  for_each_name(object, examine, [&](const std::string& name) { met.push_back(name); });
                  H5_TRY(budget.check());
                  names = std::move(met);
                  return found;
                },
                budget));
  if (!names) names = attribute_names(object).names;
  XattrNames out;
  for (auto& [shown, name] : with_shown_names(*std::move(names)))
    (large->contains(name) ? out.large : out.listed).push_back(std::move(shown));
  return out;
}

Result<object::Attribute> find_xattr(const OpenedObject& object, std::string_view shown) {
  std::optional<std::string> name = decode_attribute_name(shown);
  if (may_be_cut(shown)) {
    AttributeNames all = attribute_names(object);
    name.reset();
    for (auto& [candidate, own] : with_shown_names(std::move(all.names)))
      if (candidate == shown) name = std::move(own);
    if (!name && all.damage) return fail(*std::move(all.damage));
  }
  if (!name) return fail(object::no_such_attribute());
  return object::find_attribute(*object.snapshot, object.object, *name);
}

Result<std::string> attribute_text(ServedFile& file, const object::Attribute& attribute,
                                   std::size_t most_bytes, RequestBudget& budget) {
  if (attribute.damage) return fail(*attribute.damage);
  if (text::value_text_bounds(*attribute.type, attribute.space, attribute.data).least > most_bytes)
    return fail({ErrorCode::TooLarge, "the value's text is too long"});
  return text::value_text(*attribute.type, attribute.space, attribute.data, file.value_context(budget),
                          most_bytes);
}

Result<std::size_t> attribute_text_size(ServedFile& file, const object::Attribute& attribute,
                                        RequestBudget& budget) {
  if (attribute.damage) return fail(*attribute.damage);
  return text::value_text_size(*attribute.type, attribute.space, attribute.data, file.value_context(budget));
}

}  // namespace h5mount::tree

// The metadata files of Zarr stores.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "h5mount/base/utf8.h"
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

// The names of all dimensions of an array, as a JSON list. Returns nullopt if the file has too many
// dimensions to be numbered.
Result<std::optional<std::string>> dimension_names_json(ServedFile& file, const OpenedObject& dataset,
                                                        const Variable& variable,
                                                        const view::ZarrArray& array, const ArrayPlace& place,
                                                        RequestBudget& budget) {
  auto names = dimension_names(file, dataset, variable, place, budget);
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

// The name by which an array's own dimension is called; empty if it is no dimension scale.
std::string name_of_scale(const WalkedObject& array) {
  const OpenedObject& opened = array.object;
  const bool is_scale = view::dimension_role(*opened.snapshot, opened.object).is_scale;
  return is_scale ? array.array->name : std::string();
}

// The texts of arrays that several links of one group lead to, so that each array is described once. Threads:
// one.
class ArrayTexts {
 public:
  struct Texts {
    std::string array, attributes;  // in version 3 one text
    std::string scale = {};         // of a dimension scale: the link's name, by which its dimension is called
  };
  using TextsPtr = std::shared_ptr<const Texts>;

  explicit ArrayTexts(const ServedFile& file) : charge_(file.context().environment.cache->no_charge()) {}

  // `make` returns a Result<Texts>.
  template <class Make>
  Result<TextsPtr> get(const WalkedObject& array, const Make& make) {
    const Key key{array.object.object.address, array.group};
    const auto known = known_.find(key);
    const auto fits = [&](const Texts& texts) {
      return texts.scale.empty() || texts.scale == array.array->name;
    };
    if (known != known_.end() && fits(*known->second)) return known->second;
    H5_ASSIGN(Texts made, make());
    auto out = std::make_shared<const Texts>(std::move(made));
    if (known == known_.end()) keep(key, out);
    return out;
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  static constexpr std::size_t kMaxBytes = 8U << 20, kOverhead = 200;

  void keep(const Key& key, const TextsPtr& texts) {
    const std::size_t bytes = texts->array.size() + texts->attributes.size() + kOverhead;
    if (charge_.bytes() + bytes > kMaxBytes) {
      known_.clear();
      (void)charge_.resize(0);
    }
    if (bytes <= kMaxBytes && charge_.resize(charge_.bytes() + bytes)) known_.emplace(key, texts);
  }

  cache::BlockCache::Charge charge_;
  std::map<Key, TextsPtr> known_;
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

const object::DatasetDescription& shown_description(const ZarrSubject& array, const Variable& variable) {
  return array.shown != nullptr ? *array.shown : *variable.description;
}

view::AttributeForm form_of(view::ZarrEncoding encoding) {
  return encoding == view::ZarrEncoding::Plain ? view::AttributeForm::Version2
                                               : view::AttributeForm::StrictVersion2;
}

Status append_made(const Result<std::string>& made, TreeText& out) {
  return made ? out.append(*made) : Status(fail(made.error()));
}

}  // namespace

Status append_member(std::string_view key, std::string_view json, bool& first, TreeText& out) {
  const std::string comma(std::exchange(first, false) ? "" : ",");
  H5_TRY(out.append(comma + ascii_json(text::json_string(key)) + ":"));
  return out.append(json);
}

Result<std::string> zarray_text(const ZarrSubject& array, RequestBudget& budget) {
  const OpenedObject& dataset = array.object;
  H5_ASSIGN(const Variable variable, variable_of(*array.file, dataset, budget));
  H5_ASSIGN(const view::ZarrArray shown,
            view::ZarrArray::of(shown_description(array, variable), array.encoding));
  const view::AttributesText attributes =
      view::attributes_text(array.file->value_context(dataset.snapshot, budget), dataset.object,
                            variable.role, variable.description->type.get(), form_of(array.encoding));
  return ascii_json(shown.metadata(attributes.fill_value.empty() ? "null" : attributes.fill_value));
}

Result<std::string> zattrs_text(const ZarrSubject& node, RequestBudget& budget) {
  const OpenedObject& object = node.object;
  Variable variable;
  std::optional<std::string> names;
  if (node.array != nullptr) {
    H5_ASSIGN(variable, variable_of(*node.file, object, budget));
    H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(*variable.description, node.encoding));
    H5_ASSIGN(names, dimension_names_json(*node.file, object, variable, array, *node.array, budget));
  }
  const format::Datatype* const type = node.array != nullptr ? variable.description->type.get() : nullptr;
  std::string out = view::attributes_text(node.file->value_context(object.snapshot, budget), object.object,
                                          variable.role, type, form_of(node.encoding))
                        .members;
  if (names && !out.empty()) out += ',';
  if (names) out += R"("_ARRAY_DIMENSIONS":)" + *names;
  return ascii_json("{" + out + "}");
}

Status append_zgroup(const ZarrSubject&, TreeText& out, RequestBudget&) {
  return out.append(kZgroupText);
}

Status append_zarray(const ZarrSubject& array, TreeText& out, RequestBudget& budget) {
  return append_made(zarray_text(array, budget), out);
}

Status append_zattrs(const ZarrSubject& node, TreeText& out, RequestBudget& budget) {
  return append_made(zattrs_text(node, budget), out);
}

Status append_zmetadata(const ZarrSubject& root, TreeText& out, RequestBudget& budget) {
  H5_TRY(out.append(R"({"zarr_consolidated_format":1,"metadata":{)"));
  bool first = true;
  ArrayTexts known(*root.file);
  const auto texts_of = [&](const WalkedObject& walked) -> Result<ArrayTexts::Texts> {
    const ZarrSubject node{root.file, walked.object, walked.array, root.encoding};
    ArrayTexts::Texts texts{std::string(kZgroupText), {}};
    if (walked.array != nullptr) {
      H5_ASSIGN(texts.array, zarray_text(node, budget));
      texts.scale = name_of_scale(walked);
    }
    H5_ASSIGN(texts.attributes, zattrs_text(node, budget));
    return texts;
  };
  const auto visit = [&](const WalkedObject& walked) -> Status {
    const std::string prefix = walked.path.empty() ? "" : walked.path + "/";
    const auto texts = known.get(walked, [&] { return texts_of(walked); });
    if (!texts) return {};
    H5_TRY(append_member(prefix + (walked.array != nullptr ? ".zarray" : ".zgroup"), (*texts)->array, first,
                         out));
    return append_member(prefix + ".zattrs", (*texts)->attributes, first, out);
  };
  H5_TRY(walk_store(root.file, root.encoding, visit, nullptr, budget));
  return out.append("}}");
}

Result<std::string> zarr_json_text(const ZarrSubject& node, RequestBudget& budget) {
  ServedFile& file = *node.file;
  const OpenedObject& dataset = node.object;
  if (node.array == nullptr) return group_node_begin(file, dataset, budget) + "}";
  H5_ASSIGN(const Variable variable, variable_of(file, dataset, budget));
  const object::DatasetDescription& description = shown_description(node, variable);
  H5_ASSIGN(const view::ZarrArray array, view::ZarrArray::of(description, node.encoding));
  const text::ValueContext values = file.value_context(dataset.snapshot, budget);
  H5_ASSIGN(const std::string fill, view::zarr3_fill_value(description, values));
  const view::AttributesText attributes = view::attributes_text(
      values, dataset.object, variable.role, description.type.get(), view::AttributeForm::Version3);
  H5_ASSIGN(const auto names, dimension_names_json(file, dataset, variable, array, *node.array, budget));
  return ascii_json(array.version3_metadata(fill, names.value_or("null"), "{" + attributes.members + "}"));
}

Status append_zarr_json(const ZarrSubject& node, TreeText& out, RequestBudget& budget) {
  return append_made(zarr_json_text(node, budget), out);
}

Status append_root_zarr_json(const ZarrSubject& root, TreeText& out, RequestBudget& budget) {
  H5_TRY(out.append(group_node_begin(*root.file, root.object, budget).append(kConsolidated)));
  bool first = true;
  ArrayTexts known(*root.file);
  const auto visit = [&](const WalkedObject& walked) -> Status {
    if (walked.path.empty()) return {};
    if (walked.array == nullptr)
      return append_member(
          walked.path,
          group_node_begin(*root.file, walked.object, budget).append(kConsolidated).append(kConsolidatedEnd),
          first, out);
    const auto texts = known.get(walked, [&]() -> Result<ArrayTexts::Texts> {
      H5_ASSIGN(std::string text,
                zarr_json_text({root.file, walked.object, walked.array, root.encoding}, budget));
      return ArrayTexts::Texts{std::move(text), {}, name_of_scale(walked)};
    });
    return texts ? append_member(walked.path, (*texts)->array, first, out) : Status();
  };
  H5_TRY(walk_store(root.file, root.encoding, visit, nullptr, budget));
  return out.append(kConsolidatedEnd);
}

}  // namespace h5mount::tree

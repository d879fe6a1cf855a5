// /.h5/references.parq: references in Parquet, as fsspec's LazyReferenceMapper reads them
// (https://fsspec.github.io/kerchunk/spec.html#parquet-references): .zmetadata, and for each array files of
// as many chunks each as that says, in the order of their numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "../core/name_list.h"
#include "../core/states.h"
#include "../objects/tree_text.h"
#include "../views/virtual_directories.h"
#include "../zarr/zarr_store.h"
#include "h5mount/base/checked.h"
#include "h5mount/view/parquet_rows.h"
#include "references.h"

namespace h5mount::tree {

namespace {

using view::ParquetRows;

// A part: the chunks of an array in rows.
class ParquetPart final : public ReferenceSink {
 public:
  explicit ParquetPart(TreeText& out)
      : rows_({{"path", ParquetRows::Kind::Name},
               {"offset", ParquetRows::Kind::Number},
               {"size", ParquetRows::Kind::Number},
               {"raw", ParquetRows::Kind::Bytes}},
              [&out](std::string_view bytes) { return out.append(bytes); }) {}

  Status add_range(std::uint64_t, const ReferencedRange& range) override {
    return rows_.add(std::array<ParquetRows::Cell, 4>{range.url, static_cast<std::int64_t>(range.offset),
                                                      static_cast<std::int64_t>(range.length),
                                                      std::monostate()});
  }
  Status add_bytes(std::uint64_t, std::string_view bytes) override {
    return rows_.add(
        std::array<ParquetRows::Cell, 4>{std::monostate(), std::int64_t{0}, std::int64_t{0}, bytes});
  }

  Status finish() { return rows_.finish(); }

 private:
  ParquetRows rows_;
};

// The members of .zmetadata.
class MetadataMembers final : public ReferenceSink {
 public:
  explicit MetadataMembers(TreeText& out) : out_(out) {}

  Status add_metadata(const std::string& key, std::string_view json) override {
    return append_member(key, json, first_, out_);
  }

 private:
  TreeText& out_;
  bool first_ = true;
};

// That of the newest snapshot, made once.
Result<ReferencePlanPtr> plan_of(const ServedFilePtr& file, RequestBudget& budget) {
  const auto make = [&]() -> Result<ReferencePlanPtr> {
    ReferenceSink sink;  // the plan has no bytes
    H5_ASSIGN(ReferencePlan made, plan_references(file, ReferencesForm::Parquet, sink, budget));
    H5_TRY(file->followed().confirm_unchanged());
    return std::make_shared<const ReferencePlan>(std::move(made));
  };
  return file->kept<SnapshotValue<ReferencePlanPtr>>().get_once(file->metadata()->number(), make, budget);
}

Status append_planned_metadata(const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
  H5_ASSIGN(const ReferencePlanPtr plan, plan_of(file, budget));
  H5_TRY(out.append(R"({"metadata":{)"));
  MetadataMembers members(out);
  H5_TRY(write_planned_metadata(file, *plan, members, budget));
  return out.append(fmt::format(R"(}},"record_size":{}}})", ReferencePlan::kPartChunks));
}

Status append_planned_files(const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
  H5_ASSIGN(const ReferencePlanPtr plan, plan_of(file, budget));
  return out.append(plan->summary.files_text());
}

// What the plan has at a path: an array, or arrays below it.
struct Planned {
  const ReferencePlan::Array* array = nullptr;
  std::span<const ReferencePlan::Path> below;
};
Planned find_planned(const ReferencePlan& plan, const std::string& path) {
  const auto by_path = &ReferencePlan::Path::path;
  const auto own = std::ranges::lower_bound(plan.paths, std::string_view(path), {}, by_path);
  if (own != plan.paths.end() && own->path == path) return {&plan.arrays[own->array], {}};
  const std::string prefix = path.empty() ? "" : path + "/";
  const auto begin = std::ranges::lower_bound(plan.paths, std::string_view(prefix), {}, by_path);
  const auto end = std::ranges::partition_point(
      begin, plan.paths.end(), [&](const ReferencePlan::Path& one) { return one.path.starts_with(prefix); });
  return {nullptr, {begin, end}};
}

std::string part_name(std::uint64_t part) {
  return fmt::format("refs.{}.parq", part);
}

// The number of a part of so many; nullopt: it is no name of one.
std::optional<std::uint64_t> part_number(std::string_view name, std::uint64_t parts) {
  constexpr std::string_view kBegin = "refs.", kEnd = ".parq";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() < kBegin.size() + kEnd.size())
    return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size())) {
    if (c < '0' || c > '9' || number >= parts) return std::nullopt;
    number = 10 * number + static_cast<std::uint64_t>(c - '0');
  }
  return number < parts && part_name(number) == name ? std::optional(number) : std::nullopt;
}

constexpr std::string_view kMetadataName = ".zmetadata", kFilesName = ".h5mount";

// The root, a group or an array.
class ParquetReferencesDirectory final : public DirectoryOfFile {
 public:
  ParquetReferencesDirectory(const VirtualDirectorySetup& setup, std::string path)
      : DirectoryOfFile(setup, name_of(path)), path_(std::move(path)) {}

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    if (path_.empty() && shown == kMetadataName)
      return make_tree_text_file(setup(), name_of(shown), kJson, append_planned_metadata);
    if (path_.empty() && shown == kFilesName)
      return make_tree_text_file(setup(), name_of(shown), kJson, append_planned_files);
    H5_ASSIGN(const ReferencePlanPtr plan, plan_of(setup().main, budget));
    const Planned here = find_planned(*plan, path_);
    std::string path = below(shown);
    if (here.array != nullptr) {
      const auto part = part_number(shown, here.array->parts.size());
      if (!part) return fail(no_entry());
      return make_tree_text_file(
          setup(), name_of(path), "application/vnd.apache.parquet",
          [path = path_, part = *part](const ServedFilePtr& file, TreeText& out, RequestBudget& of_request) {
            return append_part(file, path, part, out, of_request);
          });
    }
    const Planned found = find_planned(*plan, path);
    if (found.array == nullptr && found.below.empty()) return fail(no_entry());
    return std::make_shared<ParquetReferencesDirectory>(setup(), std::move(path));
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    H5_ASSIGN(const ReferencePlanPtr plan, plan_of(setup().main, budget));
    setup().context->references->listed = true;
    auto out = std::make_shared<NameList>();
    if (path_.empty()) {
      out->add(std::string(kFilesName), NodeType::File);
      out->add(std::string(kMetadataName), NodeType::File);
    }
    const Planned here = find_planned(*plan, path_);
    if (here.array != nullptr)
      for (std::uint64_t part = 0; part < here.array->parts.size(); ++part)
        out->add(part_name(part), NodeType::File);
    const std::size_t own = path_.empty() ? 0 : path_.size() + 1;
    std::string_view last;
    for (const ReferencePlan::Path& one : here.below) {
      const std::string_view name = one.path.substr(own, one.path.find('/', own) - own);
      if (name != last) out->add(std::string(name), NodeType::Directory);
      last = name;
    }
    return out;
  }

 private:
  static constexpr std::string_view kJson = "application/json";

  static std::string name_of(std::string_view path) {
    return path.empty() ? "references.parq" : fmt::format("references.parq/{}", path);
  }
  std::string below(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}/{}", path_, name);
  }
  static Error no_entry() { return {ErrorCode::NotFound, "no such entry of the references"}; }

  static Status append_part(const ServedFilePtr& file, const std::string& path, std::uint64_t part,
                            TreeText& out, RequestBudget& budget) {
    H5_ASSIGN(const ReferencePlanPtr plan, plan_of(file, budget));
    const ReferencePlan::Array* const array = find_planned(*plan, path).array;
    if (array == nullptr || part >= array->parts.size()) return fail(no_entry());
    ParquetPart form(out);
    H5_TRY(write_planned_part(file, *plan, *array, static_cast<std::size_t>(part), form, budget));
    return form.finish();
  }

  const std::string path_;  // in the store
};

}  // namespace

NodePtr make_parquet_references(const VirtualDirectorySetup& setup) {
  if (!shows_references(*setup.context)) return nullptr;
  return std::make_shared<ParquetReferencesDirectory>(setup, "");
}

}  // namespace h5mount::tree

#include "h5mount/meaning/matrices.h"

#include <algorithm>
#include <array>

#include "h5mount/meaning/numbers.h"
#include "h5mount/object/resolve_path.h"
#include "h5mount/text/json_writer.h"
#include "members.h"

namespace h5mount::meaning {

namespace {

using DescriptionPtr = std::shared_ptr<const object::DatasetDescription>;
using Pair = std::optional<std::array<std::uint64_t, 2>>;

// A group whose members are looked up.
class Members {
 public:
  static Result<Members> of(const MatrixSubject& subject, const object::Object& object) {
    H5_ASSIGN(auto group, if_readable(object::Group::open(subject.values.file, object)));
    return Members(subject, group ? *std::move(group) : nullptr);
  }

  // The address of a member; nullopt: there is none.
  Result<std::optional<std::uint64_t>> find(std::string_view name) const {
    H5_TRY(subject_.values.budget.spend(kStepsPerMember));
    if (!group_) return std::nullopt;
    H5_ASSIGN(const auto link, if_readable(group_->find(name)));
    if (!link) return std::nullopt;
    if (link->is(format::LinkType::Hard)) return link->address;
    return std::nullopt;
  }
  Result<std::optional<object::Object>> object(std::string_view name) const {
    H5_ASSIGN(const auto address, find(name));
    if (!address) return std::nullopt;
    return if_readable(object::open_object(*subject_.values.file, *address));
  }
  // Null: there is no such dataset of one dimension.
  Result<DescriptionPtr> line(std::string_view name) const {
    H5_ASSIGN(const auto object, this->object(name));
    return object ? line_of(subject_, *object) : Result<DescriptionPtr>(nullptr);
  }
  static Result<DescriptionPtr> line_of(const MatrixSubject& subject, const object::Object& object) {
    if (object.kind != object::ObjectKind::Dataset) return nullptr;
    H5_ASSIGN(auto described, if_readable(object::describe_dataset(*subject.values.file, object)));
    if (!described || described->space.rank() != 1) return nullptr;
    return std::make_shared<const object::DatasetDescription>(*std::move(described));
  }

 private:
  static constexpr std::uint64_t kStepsPerMember = 1000;
  Members(const MatrixSubject& subject, std::shared_ptr<const object::Group> group)
      : subject_(subject), group_(std::move(group)) {}

  const MatrixSubject& subject_;
  std::shared_ptr<const object::Group> group_;
};

// Attributes are read as those of datasets are.
Subject attributes_of(const MatrixSubject& subject, const object::Object& object) {
  static const object::DatasetDescription kNone;
  return {object, kNone, subject.values};
}

Result<std::string> text_attribute(const MatrixSubject& subject, const object::Object& object,
                                   std::string_view name) {
  H5_ASSIGN(auto text, if_readable(attribute_text(attributes_of(subject, object), name)));
  return text.value_or("");
}

Pair pair_of(const std::vector<std::uint64_t>& numbers) {
  constexpr std::uint64_t kMost = (1ULL << 63) - 1;
  if (numbers.size() != 2 || std::ranges::max(numbers) > kMost) return std::nullopt;
  return std::array{numbers[0], numbers[1]};
}

Result<Pair> shape_attribute(const MatrixSubject& subject, std::string_view name) {
  H5_ASSIGN(const auto numbers, if_readable(attribute_numbers(attributes_of(subject, subject.object), name)));
  if (!numbers || !*numbers || !is_integer((*numbers)->kind)) return std::nullopt;
  return pair_of((*numbers)->bits);
}

// The dataset `shape`, or the attribute.
Result<Pair> stated_shape(const MatrixSubject& subject, const Members& members) {
  H5_ASSIGN(const DescriptionPtr shape, members.line("shape"));
  if (!shape) return shape_attribute(subject, "shape");
  H5_ASSIGN(const auto numbers, if_readable(subject.pair(shape->address)));
  return numbers ? pair_of(*numbers) : std::nullopt;
}

std::string json_of(std::string_view convention, bool by_rows, bool transposed) {
  std::string out;
  text::JsonWriter json(out);
  json.begin_object();
  if (!convention.empty()) json.member("convention", convention);
  json.member("matrix", by_rows ? "csr" : "csc");
  if (transposed) json.member("transposed", true);
  json.end_object();
  return out;
}

bool is_value(const format::Datatype& type) {
  const auto cls = type.cls;
  return cls == format::DatatypeClass::Integer || cls == format::DatatypeClass::Float ||
         cls == format::DatatypeClass::Complex || cls == format::DatatypeClass::Compound ||
         text::is_boolean(type);
}

// The datasets of a compressed matrix, under the names that all but MATLAB use.
struct Parts {
  DescriptionPtr values, indices, pointers;
  std::vector<DatasetPlace> places() const {
    return {{values->address}, {indices->address}, {pointers->address}};
  }
};
Result<std::optional<Parts>> parts_of(const Members& members) {
  Parts out;
  H5_ASSIGN(out.pointers, members.line("indptr"));
  if (!out.pointers || out.pointers->type->cls != format::DatatypeClass::Integer) return std::nullopt;
  H5_ASSIGN(out.indices, members.line("indices"));
  if (!out.indices || out.indices->type->cls != format::DatatypeClass::Integer) return std::nullopt;
  H5_ASSIGN(out.values, members.line("data"));
  if (!out.values || !is_value(*out.values->type)) return std::nullopt;
  return out;
}

std::optional<bool> by_rows_of(std::string_view format) {
  if (format.starts_with("csr")) return true;
  if (format.starts_with("csc")) return false;
  return std::nullopt;
}

// ---- AnnData

// The index of a table of observations or variables: a dataset of names in a group, or a member of compound
// elements in files before 0.7. nullopt: there is none of that length.
Result<std::optional<DatasetPlace>> index_of(const MatrixSubject& subject, const object::Object& table,
                                             std::uint64_t length) {
  if (table.kind == object::ObjectKind::Dataset) {
    H5_ASSIGN(const DescriptionPtr rows, Members::line_of(subject, table));
    if (!rows || rows->type->cls != format::DatatypeClass::Compound || rows->space.dims[0] != length)
      return std::nullopt;
    const auto& named = rows->type->members;
    if (std::ranges::find(named, "index", &format::CompoundMember::name) == named.end()) return std::nullopt;
    return DatasetPlace{table.address, "index"};
  }
  H5_ASSIGN(const Members members, Members::of(subject, table));
  H5_ASSIGN(std::string name, text_attribute(subject, table, "_index"));
  if (name.empty()) name = "index";
  H5_ASSIGN(auto index, members.object(name));
  if (index && index->kind == object::ObjectKind::Group) {  // nullable data, of which none is missing
    H5_ASSIGN(const Members nullable, Members::of(subject, *index));
    H5_ASSIGN(index, nullable.object("values"));
  }
  if (!index) return std::nullopt;
  H5_ASSIGN(const DescriptionPtr names, Members::line_of(subject, *index));
  if (!names || names->space.dims[0] != length) return std::nullopt;
  return DatasetPlace{names->address};
}

// The paths of the tables of observations and variables beside a matrix; nullopt: it is none of observations
// by variables.
struct Tables {
  std::string observations, variables;
};
std::optional<Tables> tables_beside(std::string path) {
  const auto take_last = [&path] {
    const std::size_t slash = path.rfind('/');
    std::string last = path.substr(slash == std::string::npos ? 0 : slash + 1);
    path.resize(slash == std::string::npos ? 0 : slash);
    return last;
  };
  const std::string name = take_last();
  if (name == "raw.X") return Tables{path + "/obs", path + "/raw.var"};
  if (name == "X" && path.ends_with("/raw")) {
    const std::string raw = path;
    take_last();
    return Tables{path + "/obs", raw + "/var"};
  }
  if (name != "X" && take_last() != "layers") return std::nullopt;
  return Tables{path + "/obs", path + "/var"};
}

Result<std::optional<object::Object>> object_at(const MatrixSubject& subject, const std::string& path) {
  const metadata::FileMetadataPtr& file = subject.values.file;
  object::PathWork work{.budget = subject.values.budget};
  H5_ASSIGN(const auto address, if_readable(object::resolve_path(file, file->root_address(), path, work)));
  if (!address) return std::nullopt;
  return if_readable(object::open_object(*file, *address));
}

Result<std::optional<MatrixDecoding>> anndata_matrix(const MatrixSubject& subject, const Members& members) {
  H5_ASSIGN(std::string format, text_attribute(subject, subject.object, "encoding-type"));
  std::string_view shape_name = "shape";
  if (format != "csr_matrix" && format != "csc_matrix") {
    H5_ASSIGN(format, text_attribute(subject, subject.object, "h5sparse_format"));
    shape_name = "h5sparse_shape";
  }
  const std::optional<bool> by_rows = by_rows_of(format);
  if (!by_rows) return std::nullopt;
  H5_ASSIGN(const Pair shape, shape_attribute(subject, shape_name));
  H5_ASSIGN(const std::optional<Parts> parts, parts_of(members));
  if (!shape || !parts) return std::nullopt;
  MatrixDecoding out{.text = json_of("AnnData", *by_rows, false),
                     .shape = {(*shape)[0], (*shape)[1], *by_rows},
                     .parts = parts->places()};
  const auto path = subject.values.path_of ? subject.values.path_of(subject.object.address) : std::nullopt;
  const auto beside = path ? tables_beside(*path) : std::nullopt;
  if (!beside) return out;
  H5_ASSIGN(const auto observations, object_at(subject, beside->observations));
  H5_ASSIGN(const auto variables, object_at(subject, beside->variables));
  if (!observations || !variables) return out;
  out.text = json_of("AnnData", *by_rows, true);
  out.shape = {(*shape)[1], (*shape)[0], !*by_rows};
  H5_ASSIGN(out.barcodes, index_of(subject, *observations, out.shape.columns));
  H5_ASSIGN(const auto names, index_of(subject, *variables, out.shape.rows));
  if (names) out.features = {*names, *names};
  return out;
}

// ---- others

Result<std::optional<MatrixDecoding>> matlab_matrix(const MatrixSubject& subject, const Members& members) {
  H5_ASSIGN(const auto rows,
            if_readable(attribute_numbers(attributes_of(subject, subject.object), "MATLAB_sparse")));
  if (!rows || !*rows || !is_integer((*rows)->kind) || (*rows)->bits.size() != 1) return std::nullopt;
  H5_ASSIGN(const DescriptionPtr pointers, members.line("jc"));
  if (!pointers || pointers->space.dims[0] == 0) return std::nullopt;
  const Pair shape = pair_of({(*rows)->bits[0], pointers->space.dims[0] - 1});
  if (!shape) return std::nullopt;
  MatrixDecoding out{.text = json_of("MATLAB", false, false),
                     .shape = {(*shape)[0], (*shape)[1], false},
                     .parts = {{pointers->address}}};
  // A matrix of zeros has no other dataset.
  H5_ASSIGN(const DescriptionPtr indices, members.line("ir"));
  H5_ASSIGN(const DescriptionPtr values, members.line("data"));
  if (indices && values) out.parts = Parts{values, indices, pointers}.places();
  return out;
}

// The names in a group of 10x Genomics, which it is if it has some for its barcodes and its features.
Status find_10x_names(const MatrixSubject& subject, const Members& members, MatrixDecoding& out) {
  H5_ASSIGN(const DescriptionPtr barcodes, members.line("barcodes"));
  if (!barcodes || barcodes->space.dims[0] != out.shape.columns) return {};
  H5_ASSIGN(const auto group, members.object("features"));
  const bool version3 = group && group->kind == object::ObjectKind::Group;
  H5_ASSIGN(const Members features, version3 ? Members::of(subject, *group) : Result<Members>(members));
  using Names = std::vector<std::string_view>;
  for (const std::string_view name :
       version3 ? Names{"id", "name", "feature_type"} : Names{"genes", "gene_names"}) {
    H5_ASSIGN(const DescriptionPtr names, features.line(name));
    if (!names || names->space.dims[0] != out.shape.rows) break;
    out.features.push_back({names->address});
  }
  if (out.features.size() < 2) out.features.clear();
  if (!out.features.empty()) out.barcodes = DatasetPlace{barcodes->address};
  return {};
}

// 10x Genomics, or without a convention.
Result<std::optional<MatrixDecoding>> bare_matrix(const MatrixSubject& subject, const Members& members) {
  H5_ASSIGN(const std::optional<Parts> parts, parts_of(members));
  if (!parts || parts->pointers->space.dims[0] == 0) return std::nullopt;
  H5_ASSIGN(const Pair shape, stated_shape(subject, members));
  if (!shape) return std::nullopt;
  MatrixDecoding out{.text = {}, .shape = {(*shape)[0], (*shape)[1], false}, .parts = parts->places()};
  const std::uint64_t compressed = parts->pointers->space.dims[0] - 1;
  if (compressed == out.shape.columns) H5_TRY(find_10x_names(subject, members, out));
  if (out.barcodes) {
    out.text = json_of("10x", false, false);
    return out;
  }
  H5_ASSIGN(const std::string format, text_attribute(subject, subject.object, "format"));
  out.shape.by_rows = by_rows_of(format).value_or(compressed == out.shape.rows);
  if (compressed != out.shape.compressed()) return std::nullopt;
  out.text = json_of("", out.shape.by_rows, false);
  return out;
}

constexpr std::array kMatrixConventions = {anndata_matrix, matlab_matrix, bare_matrix};

}  // namespace

Result<std::optional<MatrixDecoding>> matrix_of_group(const MatrixSubject& subject) {
  H5_ASSIGN(const Members members, Members::of(subject, subject.object));
  H5_ASSIGN(const auto pointers, members.find("indptr"));
  H5_ASSIGN(const auto of_matlab, members.find("jc"));
  if (!pointers && !of_matlab) return std::nullopt;
  for (const auto& decode : kMatrixConventions) {
    H5_ASSIGN(std::optional<MatrixDecoding> out, decode(subject, members));
    if (out) return out;
  }
  return std::nullopt;
}

}  // namespace h5mount::meaning

// https://fsspec.github.io/kerchunk/spec.html#parquet-references
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "h5mount/base/checked.h"
#include "parquet_columns.h"
#include "references.h"

namespace h5mount::front {

namespace {

using Json = nlohmann::json;

// The bytes of a file; nullopt: there is none.
Result<std::optional<std::string>> file_bytes(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMostBytes = 1ULL << 30;
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return std::nullopt;
  if (!std::filesystem::is_regular_file(path, missing) ||
      std::filesystem::file_size(path, missing) > kMostBytes)
    return fail(Error(ErrorCode::LimitExceeded, path.string() + ": no file, or one of more than 1 GiB"));
  std::ifstream in(path, std::ios::binary);
  std::string out{std::istreambuf_iterator<char>(in), {}};
  if (!in) return fail(Error(ErrorCode::Io, path.string() + ": cannot be read"));
  return out;
}

Error not_references(std::string what) {
  return {ErrorCode::InvalidValue, std::move(what)};
}

std::optional<std::vector<std::uint64_t>> numbers(const Json& array, const char* name) {
  std::vector<std::uint64_t> out;
  if (!array.contains(name) || !array[name].is_array()) return std::nullopt;
  for (const Json& one : array[name]) {
    if (!one.is_number_unsigned()) return std::nullopt;
    out.push_back(one.get<std::uint64_t>());
  }
  return out;
}

// The grid of an array's chunks.
Result<std::vector<std::uint64_t>> grid_of(const Json& array) {
  const auto shape = numbers(array, "shape"), chunks = numbers(array, "chunks");
  if (!shape || !chunks || shape->size() != chunks->size() || std::ranges::find(*chunks, 0U) != chunks->end())
    return fail(not_references("an array without a grid of chunks"));
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < shape->size(); ++i) out.push_back(divide_up((*shape)[i], (*chunks)[i]));
  return out;
}

// `number`: of the chunk, row-major.
std::string chunk_name(const std::vector<std::uint64_t>& grid, std::uint64_t number) {
  std::string out;
  for (std::size_t axis = grid.size(); axis-- > 0; number /= std::max<std::uint64_t>(grid[axis], 1))
    out.insert(0, fmt::format("{}{}", axis > 0 ? "." : "", number % std::max<std::uint64_t>(grid[axis], 1)));
  return out.empty() ? "0" : out;
}

// A part: its columns by their names.
Status read_part(std::string_view bytes, const std::string& prefix, const std::vector<std::uint64_t>& grid,
                 std::uint64_t first, std::size_t most_rows, ReferenceVisitor& visitor) {
  H5_ASSIGN(const auto columns, read_parquet_columns(bytes, most_rows));
  const auto cells = [&](std::string_view name) -> const std::vector<ParquetCell>* {
    const auto found = std::ranges::find(columns, name, &ParquetColumnCells::name);
    return found == columns.end() ? nullptr : &found->cells;
  };
  const auto *const path = cells("path"), *const offset = cells("offset"), *const size = cells("size"),
                    *const raw = cells("raw");
  if (path == nullptr || offset == nullptr || size == nullptr || raw == nullptr)
    return fail(not_references("Parquet without the columns of references"));
  for (std::size_t row = 0; row < raw->size(); ++row) {
    const std::string key = prefix + chunk_name(grid, first + row);
    if (const auto* held = std::get_if<std::string_view>(&(*raw)[row])) {
      H5_TRY(visitor.visit_held(key, *held));
      continue;
    }
    const auto* url = std::get_if<std::string_view>(&(*path)[row]);
    const auto *begin = std::get_if<std::int64_t>(&(*offset)[row]),
               *length = std::get_if<std::int64_t>(&(*size)[row]);
    if (url == nullptr) continue;  // of a chunk that was never written
    if (begin == nullptr || length == nullptr || *begin < 0 || *length < 0)
      return fail(not_references("a reference that is no URL, offset and length"));
    H5_TRY(visitor.visit_range(key, *url, static_cast<std::uint64_t>(*begin),
                               static_cast<std::uint64_t>(*length)));
  }
  return {};
}

Status read_array(const std::filesystem::path& directory, const std::string& prefix, const Json& array,
                  std::size_t record_size, ReferenceVisitor& visitor) {
  H5_ASSIGN(const auto grid, grid_of(array));
  for (std::uint64_t part = 0;; ++part) {
    const std::string name = fmt::format("{}refs.{}.parq", prefix, part);
    H5_ASSIGN(const auto bytes, file_bytes(directory / name));
    if (!bytes) return {};
    if (Status read = read_part(*bytes, prefix, grid, part * record_size, record_size, visitor); !read)
      return fail(Error(read.error().code(), name + ": " + read.error().text()));
  }
}

}  // namespace

Status read_parquet_references(const std::string& directory, ReferenceVisitor& visitor) {
  constexpr std::size_t kMostRows = 1'000'000;
  const std::filesystem::path place(directory);
  H5_ASSIGN(const auto files, file_bytes(place / ".h5mount"));
  if (files) H5_TRY(read_files(*files, visitor));
  H5_ASSIGN(const auto text, file_bytes(place / ".zmetadata"));
  if (!text) return fail(not_references("a directory without .zmetadata"));
  const Json top = Json::parse(*text, nullptr, false);
  if (!top.is_object() || !top.contains("metadata") || !top["metadata"].is_object() ||
      !top.contains("record_size") || !top["record_size"].is_number_unsigned() ||
      top["record_size"].get<std::uint64_t>() > kMostRows)
    return fail(not_references("a .zmetadata that is not one of references"));
  constexpr std::string_view kArray = ".zarray";
  for (const auto& [key, value] : top["metadata"].items()) {
    if (key.starts_with('/') || ("/" + key).contains("/../"))
      return fail(not_references("a key that leads out of the store"));
    H5_TRY(visitor.visit_metadata(key, value.dump()));
    if (!key.ends_with(kArray)) continue;
    H5_TRY(read_array(place, key.substr(0, key.size() - kArray.size()), value,
                      top["record_size"].get<std::size_t>(), visitor));
  }
  return {};
}

Status read_references(const std::string& path, ReferenceVisitor& visitor) {
  std::error_code missing;
  if (is_icechunk_repository(path))
    return read_icechunk_references(
        [&](const std::string& name) { return file_bytes(std::filesystem::path(path) / name); }, visitor);
  if (std::filesystem::is_directory(path, missing)) return read_parquet_references(path, visitor);
  H5_ASSIGN(const auto bytes, file_bytes(path));
  if (!bytes) return fail(Error(ErrorCode::NotFound, "no such file"));
  return read_json_references(*bytes, visitor);
}

}  // namespace h5mount::front

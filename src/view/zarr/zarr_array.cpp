#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"
#include "h5mount/view/zarr.h"
#include "stored_codec.h"

namespace h5mount::view {

namespace {

// The bytes of a chunk of a dataset without chunks of its own, and the largest dataset that is one chunk.
struct ChunkBytes {
  std::uint64_t usual, most_of_one;
};
// Those of the stored form may be ranges of the file, which readers fetch whole.
ChunkBytes chunk_bytes(ZarrEncoding encoding) {
  if (is_stored(encoding)) return {4U << 20, 4U << 20};
  return {8U << 20, 16U << 20};
}

// Each chunk is one run of the image: whole trailing dimensions as far as they fit, a part of the dimension
// before them, and one index in each of the other dimensions.
std::vector<std::uint64_t> cut(const object::DatasetDescription& dataset, ChunkBytes bytes_of) {
  std::vector<std::uint64_t> out(dataset.space.dims);
  for (std::uint64_t& extent : out) extent = std::max<std::uint64_t>(extent, 1);
  if (dataset.image_bytes <= bytes_of.most_of_one) return out;
  std::uint64_t bytes = dataset.element_size;
  bool full = false;
  for (std::size_t i = out.size(); i-- > 0;) {
    const std::uint64_t most = full ? 1 : std::max<std::uint64_t>(bytes_of.usual / bytes, 1);
    full = full || out[i] > most;
    out[i] = std::min(out[i], most);
    bytes *= out[i];
  }
  return out;
}

// The dataset's own chunks, cut to the extent, as netCDF's reader refuses a chunk that is longer. Chunks that
// are handed on as they are stored cannot be cut.
std::vector<std::uint64_t> own_chunks(const object::DatasetDescription& dataset) {
  std::vector<std::uint64_t> out = dataset.layout.chunk_dims;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::min(out[i], std::max<std::uint64_t>(dataset.space.dims[i], 1));
  return out;
}

}  // namespace

Result<ZarrArray> ZarrArray::of(const object::DatasetDescription& dataset, ZarrEncoding encoding) {
  if (dataset.space.kind == format::DataspaceKind::Null)
    return fail({ErrorCode::UnsupportedFeature, "a null dataspace has no shape"});
  ZarrArray out(encoding);
  H5_ASSIGN(out.type_, zarr_type(*dataset.type, encoding));
  out.shape_ = dataset.space.dims;
  const bool chunked = dataset.layout.cls == format::LayoutClass::Chunked &&
                       dataset.layout.chunk_dims.size() == out.shape_.size();
  const auto codec = is_stored(encoding) && chunked ? zarr_codec(dataset, encoding) : std::nullopt;
  out.chunk_ = codec     ? dataset.layout.chunk_dims
               : chunked ? own_chunks(dataset)
                         : cut(dataset, chunk_bytes(encoding));
  if (codec) out.compressor_ = codec->compressor_json();
  if (codec) out.codecs_ = codec->version3_json();
  if (codec || out.type_.variable_strings)
    out.filters_ = codec ? codec->filters_json() : R"([{"id":"vlen-utf8"}])";
  out.chunks_ = 1;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < out.shape_.size(); ++i) {
    out.grid_.push_back(divide_up(out.shape_[i], out.chunk_[i]));
    const auto chunks = checked_mul(out.chunks_, out.grid_[i]);
    const auto in_chunk = checked_mul(elements, out.chunk_[i]);
    if (!chunks || !in_chunk) return fail({ErrorCode::TooLarge, "more chunks than can be counted"});
    out.chunks_ = *chunks;
    elements = *in_chunk;
  }
  if (!checked_mul(elements, dataset.element_size))
    return fail({ErrorCode::TooLarge, "chunks larger than a file can be"});
  return out;
}

std::string ZarrArray::chunk_name(std::uint64_t number) const {
  std::vector<std::uint64_t> at(shape_.size() + type_.dims.size());
  row_major_place(number, grid_, at);
  if (encoding_ == ZarrEncoding::Version3) return at.empty() ? "c" : fmt::format("c.{}", fmt::join(at, "."));
  return at.empty() ? "0" : fmt::format("{}", fmt::join(at, "."));
}

std::optional<std::uint64_t> ZarrArray::chunk_number(std::string_view name) const {
  std::uint64_t number = 0;
  if (encoding_ == ZarrEncoding::Version3) name.remove_prefix(std::min<std::size_t>(name.size(), 2));
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    std::uint64_t place = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), place);
    if (error != std::errc() || place >= grid_[i]) return std::nullopt;
    number = number * grid_[i] + place;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    if (name.starts_with('.')) name.remove_prefix(1);
  }
  return number;
}

std::string ZarrArray::with_type_dims(std::vector<std::uint64_t> extents) const {
  extents.insert(extents.end(), type_.dims.begin(), type_.dims.end());
  return fmt::format("[{}]", fmt::join(extents, ","));
}

std::string ZarrArray::metadata(std::string_view fill_value) const {
  return fmt::format(R"({{"zarr_format":2,"shape":{},"chunks":{},"dtype":{},"compressor":{},"fill_value":{},)"
                     R"("order":"C","filters":{}}})",
                     with_type_dims(shape_), with_type_dims(chunk_), type_.dtype, compressor_, fill_value,
                     filters_);
}

std::string ZarrArray::version3_metadata(std::string_view fill_value, std::string_view dimension_names,
                                         std::string_view attributes) const {
  std::string codec = R"({"name":"bytes"})";
  if (type_.variable_strings)
    codec = R"({"name":"vlen-utf8","configuration":{}})";
  else if (!type_.endian.empty())
    codec = fmt::format(R"({{"name":"bytes","configuration":{{"endian":"{}"}}}})", type_.endian);
  return fmt::format(R"({{"zarr_format":3,"node_type":"array","shape":{},"data_type":{},)"
                     R"("chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{}}}}},)"
                     R"("chunk_key_encoding":{{"name":"default","configuration":{{"separator":"{}"}}}},)"
                     R"("fill_value":{},"codecs":[{}{}],"attributes":{},"dimension_names":{}}})",
                     with_type_dims(shape_), type_.dtype, with_type_dims(chunk_),
                     encoding_ == ZarrEncoding::Version3 ? '.' : '/', fill_value, codec, codecs_, attributes,
                     dimension_names);
}

}  // namespace h5mount::view

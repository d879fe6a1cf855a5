#include "sizes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "h5mount/base/checked.h"

namespace h5mount::check {

namespace {

double product(std::span<const std::uint64_t> factors) {
  double out = 1;
  for (const std::uint64_t factor : factors) out *= static_cast<double>(factor);
  return out;
}

// The number of types around the innermost one. Recursion ends with the decoder's bound
// (limits::kMaxDatatypeDepth).
std::uint64_t nesting_of(const format::Datatype& type) {  // NOLINT(misc-no-recursion)
  std::uint64_t below = type.base ? 1 + nesting_of(*type.base) : 0;
  for (const format::CompoundMember& member : type.members)
    below = std::max(below, 1 + nesting_of(*member.type));
  return below;
}

// Exact as a number where it is one.
VerdictValue number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value < kExact && value == std::floor(value)) return static_cast<std::uint64_t>(value);
  return value;
}

}  // namespace

void Sizes::judge_type(const Places& places, PlaceId place, const format::Datatype& type) {
  const std::uint64_t nesting = nesting_of(type);
  if (policy_.max_datatype_recursion_depth && nesting > *policy_.max_datatype_recursion_depth)
    findings_.add(VerdictKind::DatatypeDepth, VerdictCode::TooMuch, places.path(place), nesting,
                  *policy_.max_datatype_recursion_depth);
}

void Sizes::judge_filters(const std::string& place, std::span<const format::FilterDescription> filters) {
  if (!policy_.allow_filters) return;
  for (const format::FilterDescription& filter : filters)
    if (std::ranges::find(*policy_.allow_filters, filter.id) == policy_.allow_filters->end())
      findings_.add(VerdictKind::Filter, VerdictCode::Forbidden, place, std::uint64_t{filter.id},
                    fmt::format("{}", fmt::join(*policy_.allow_filters, ", ")));
}

// Decoders trust what these filters' parameters say of a chunk.
void Sizes::judge_parameters(const std::string& place, const object::DatasetDescription& dataset) {
  enum : std::uint16_t { kNbit = 5, kScaleOffset = 6 };
  constexpr std::size_t kElements = 2, kSize = 4;
  const double elements = product(dataset.layout.chunk_dims);
  for (const format::FilterDescription& filter : dataset.pipeline.filters) {
    const std::vector<std::uint32_t>& values = filter.client_data;
    if ((filter.id != kNbit && filter.id != kScaleOffset) || values.size() <= kSize) continue;
    const bool size = filter.id == kNbit || values[kSize] == dataset.element_size;
    if (size && static_cast<double>(values[kElements]) == elements) continue;
    findings_.add(VerdictKind::Damaged, VerdictCode::Corrupt, place,
                  fmt::format("parameters of filter {} are not those of the dataset's chunks", filter.id));
  }
}

void Sizes::judge_shape(const std::string& place, const object::DatasetParts& dataset) {
  const object::DatasetDescription& description = dataset.description;
  if (dataset.pipeline) {
    judge_filters(place, description.pipeline.filters);
    for (const auto& section : description.pipeline.sections) judge_filters(place, section.filters);
  }
  if (!dataset.type || !dataset.space) return;
  const double bytes = product(description.space.dims) * static_cast<double>(description.element_size);
  const auto& most = policy_.max_logical_dataset_bytes;
  if (most && description.space.kind != format::DataspaceKind::Null && bytes > static_cast<double>(*most))
    findings_.add(VerdictKind::LogicalSize, VerdictCode::TooMuch, place, number(bytes), *most);
  if (!dataset.layout) return;
  judge_chunks(place, description);
  if (dataset.pipeline && description.layout.cls == format::LayoutClass::Chunked)
    judge_parameters(place, description);
}

void Sizes::judge_chunks(const std::string& place, const object::DatasetDescription& dataset) {
  const std::vector<std::uint64_t>&chunk = dataset.layout.chunk_dims, &dims = dataset.space.dims;
  if (chunk.empty() || chunk.size() != dims.size() || policy_.min_logical_chunk_bytes == 0) return;
  if (product(chunk) * static_cast<double>(dataset.element_size) >=
      static_cast<double>(policy_.min_logical_chunk_bytes))
    return;
  double count = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) count *= static_cast<double>(divide_up(dims[i], chunk[i]));
  tiny_ += count;
  if (count <= most_tiny_) return;
  most_tiny_ = count;
  most_tiny_at_ = place;
}

void Sizes::judge_claim(const std::string& place, double claimed, double stored) {
  if (!policy_.max_expansion || claimed < static_cast<double>(policy_.max_expansion_min_bytes)) return;
  if (claimed <= stored * static_cast<double>(*policy_.max_expansion) || claimed == 0) return;
  findings_.add(VerdictKind::Expansion, VerdictCode::TooMuch, place,
                stored > 0 ? VerdictValue(claimed / stored) : number(claimed), *policy_.max_expansion);
}

double Sizes::claimed_by(const object::DatasetDescription& dataset, std::uint64_t chunks) {
  const auto image = static_cast<double>(dataset.image_bytes);
  if (dataset.pipeline.filters.empty() || dataset.layout.chunk_dims.empty()) return image;
  const double chunk = product(dataset.layout.chunk_dims) * static_cast<double>(dataset.element_size);
  return std::max(image, chunk * static_cast<double>(chunks));
}

void Sizes::judge_expansion(const std::string& place, double claimed, std::uint64_t stored) {
  claimed_ += claimed;
  judge_claim(place, claimed, static_cast<double>(stored));
}

void Sizes::judge_file(std::uint64_t claimed, std::uint64_t stored_bytes) {
  judge_claim("/", claimed_ + static_cast<double>(claimed), static_cast<double>(stored_bytes));
  const auto& most = policy_.max_chunks_below_min_logical_bytes;
  if (most && tiny_ > static_cast<double>(*most))
    findings_.add(VerdictKind::TinyChunks, VerdictCode::TooMuch, most_tiny_at_, number(tiny_), *most);
}

}  // namespace h5mount::check

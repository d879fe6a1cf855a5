#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "filters.h"
#include "h5mount/base/limits.h"

namespace h5mount::filter {

namespace {

std::string label_of(const FilterSpec& spec) {
  const std::string_view known = filter_info(spec.id).name;
  const std::string_view name = !known.empty() ? known : std::string_view(spec.name);
  return name.empty() ? fmt::format("filter {}", spec.id) : fmt::format("filter {} ({})", spec.id, name);
}

// The largest number of bytes between two filters of a chunk, for any number of filters: the overhead that
// correct encoders add together is far below the chunk's size.
std::uint64_t most_between(std::uint64_t decoded) {
  constexpr std::uint64_t kSmall = 16U << 20, kOverhead = 1U << 20;
  return decoded + std::min(decoded, std::max(kSmall, decoded / 8)) + kOverhead;
}

}  // namespace

Result<std::shared_ptr<const FilterPipeline>> FilterPipeline::make(std::span<const FilterSpec> specs,
                                                                   std::size_t chunk_bytes) {
  if (specs.size() > limits::kMaxFilters) {
    return fail(Error(ErrorCode::LimitExceeded, "filter pipeline: more filters than the format allows")
                    .with_expected(limits::kMaxFilters)
                    .with_found(specs.size()));
  }
  auto pipeline = std::make_shared<FilterPipeline>();
  for (const FilterSpec& spec : specs) {
    Step step{label_of(spec), nullptr, std::nullopt};
    if (auto filter = make_filter(spec, chunk_bytes)) {
      step.filter = *std::move(filter);
    } else {
      step.why = std::move(filter).error();
    }
    pipeline->steps_.push_back(std::move(step));
  }
  return pipeline;
}

std::optional<Error> FilterPipeline::missing(std::uint32_t mask) const {
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (steps_[i].why && (mask >> i & 1U) == 0) return steps_[i].why;
  return std::nullopt;
}

Status FilterPipeline::decode(ByteSpan stored, std::uint32_t mask, MutableByteSpan out,
                              FilterScratch& scratch) const {
  H5_ASSIGN(const std::size_t found, decode_up_to(stored, mask, out, scratch));
  if (found == out.size()) return {};
  return fail(Error(ErrorCode::FilterFailed, "short chunk: its filters give too few bytes")
                  .with_expected(out.size())
                  .with_found(found));
}

Result<std::size_t> FilterPipeline::decode_up_to(ByteSpan stored, std::uint32_t mask, MutableByteSpan out,
                                                 FilterScratch& scratch) const {
  // The steps whose filters are undone, in write order, and the maximum number of bytes that each returns
  // when it is undone.
  std::array<std::size_t, limits::kMaxFilters> applied{};
  std::array<std::size_t, limits::kMaxFilters> bound{};
  std::size_t count = 0;
  std::size_t bytes = out.size();
  const auto most = static_cast<std::size_t>(most_between(out.size()));
  std::uint64_t between = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if ((mask >> i & 1U) != 0) continue;
    if (steps_[i].filter == nullptr) return fail(*steps_[i].why);
    applied[count] = i;
    bound[count++] = bytes;
    bytes = std::min(steps_[i].filter->encoded_bound(bytes), most);
  }

  ByteSpan current = stored;
  bool in_first = false;  // whether `current` is in the first scratch buffer
  for (std::size_t i = count; i-- > 0;) {
    const Step& step = steps_[applied[i]];
    const auto view = step.filter->as_view(current);
    if (!view) return fail(view.error().within(step.label));
    if (*view) {
      current = **view;
      continue;
    }
    const MutableByteSpan to = i == 0 ? out : in_first ? scratch.second(bound[i]) : scratch.first(bound[i]);
    const auto written = step.filter->decode(current, to);
    if (!written) return fail(written.error().within(step.label));
    if (i == 0) return *written;
    between += *written;
    if (between > limits::kMaxDecodedTimes * out.size() + limits::kMaxDecodedExtra)
      return fail(Error(ErrorCode::LimitExceeded, "nested filters give too many times the chunk's bytes")
                      .with_expected(limits::kMaxDecodedTimes * out.size() + limits::kMaxDecodedExtra)
                      .with_found(between));
    current = to.first(*written);
    in_first = !in_first;
  }
  if (current.size() > out.size())
    return fail(Error(ErrorCode::FilterFailed, "long chunk: its filters give too many bytes")
                    .with_expected(out.size())
                    .with_found(current.size()));
  if (!current.empty()) std::memcpy(out.data(), current.data(), current.size());
  return current.size();
}

// The sizes of the scratch buffers as decode_up_to uses them, if no filter is masked out.
std::uint64_t FilterPipeline::scratch_bytes(std::uint64_t decoded) const {
  const std::uint64_t most = most_between(decoded);
  std::uint64_t bytes = decoded, buffers[2] = {0, 0};
  std::size_t buffer = 0;
  bool outermost = true;  // the first filter that was applied decodes into the chunk's memory
  for (const Step& step : steps_) {
    if (step.filter == nullptr) continue;  // only chunks that skip it are decoded
    if (!step.filter->decodes_in_place()) {
      if (!std::exchange(outermost, false)) {
        buffers[buffer] = std::max(buffers[buffer], bytes);
        buffer = 1 - buffer;
      }
    }
    bytes = std::min<std::uint64_t>(step.filter->encoded_bound(static_cast<std::size_t>(bytes)), most);
  }
  return buffers[0] + buffers[1];
}

Result<std::unique_ptr<PartialChunk>> FilterPipeline::open_partial(ByteSpan stored, std::uint32_t mask,
                                                                   std::size_t decoded_bytes) const {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    if ((mask >> i & 1U) != 0) continue;
    if (steps_[i].filter == nullptr) return fail(*steps_[i].why);
    const auto view = steps_[i].filter->as_view(stored);
    if (!view) return fail(view.error().within(steps_[i].label));
    if (*view) {
      stored = **view;
      continue;
    }
    const std::uint64_t before = (std::uint64_t{1} << i) - 1;
    if ((~std::uint64_t{mask} & before) != 0) return nullptr;
    auto opened = steps_[i].filter->open_partial(stored, decoded_bytes);
    if (!opened) return fail(opened.error().within(steps_[i].label));
    return opened;
  }
  return nullptr;
}

bool FilterPipeline::may_decode_partially() const {
  return !steps_.empty() && steps_.front().filter != nullptr && steps_.front().filter->may_decode_partially();
}

FilterCounters& filter_counters() {
  static FilterCounters counters;
  return counters;
}

}  // namespace h5mount::filter

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "../http/answer_memory.h"
#include "h5mount/text/json_writer.h"
#include "h5mount/text/shortest_float.h"
#include "number_blocks.h"

namespace h5mount::serve {
namespace {

// Statistics of the finite numbers. Mean and deviation are merged block by block (Chan, Golub and LeVeque
// 1979), so that a sum of many numbers does not lose small ones.
template <class Value>
class Statistics {
 public:
  void add(std::span<const Value> block) {
    std::uint64_t count = 0;
    double sum = 0;
    for (const Value value : block) {
      if constexpr (std::is_floating_point_v<Value>)
        if (!std::isfinite(value)) continue;
      ++count;
      sum += static_cast<double>(value);
      note(value);
    }
    if (count == 0) return;
    const double mean = sum / static_cast<double>(count);
    double squares = 0;
    for (const Value value : block) {
      if constexpr (std::is_floating_point_v<Value>)
        if (!std::isfinite(value)) continue;
      const double difference = static_cast<double>(value) - mean;
      squares += difference * difference;
    }
    merge(count, mean, squares);
  }

  // The same number `count` times.
  void add_run(Value value, std::uint64_t count) {
    if constexpr (std::is_floating_point_v<Value>)
      if (!std::isfinite(value)) return;
    note(value);
    merge(count, static_cast<double>(value), 0);
  }

  std::string json() const {
    std::string out;
    text::JsonWriter json(out);
    const bool any = count_ > 0;
    json.begin_object();
    write(json, "strict_positive_min", any && has_strict_, strict_);
    write(json, "positive_min", any && has_positive_, positive_);
    write(json, "min", any, min_);
    write(json, "max", any, max_);
    write_real(json, "mean", any, mean_);
    write_real(json, "std", any, std::sqrt(squares_ / static_cast<double>(count_)));
    json.end_object();
    return out;
  }

 private:
  static constexpr Value kMax = std::numeric_limits<Value>::max();

  void note(Value value) {
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    if (value >= 0 && value < positive_) positive_ = value, has_positive_ = true;
    if (value > 0 && value < strict_) strict_ = value, has_strict_ = true;
    // The type's largest number is not below the initial bounds, so it would not be noticed.
    if (value == kMax) has_positive_ = has_strict_ = true;
  }
  void merge(std::uint64_t count, double mean, double squares) {
    const auto before = static_cast<double>(count_), more = static_cast<double>(count);
    const double difference = mean - mean_, all = before + more;
    mean_ += difference * (more / all);
    squares_ += squares + difference * difference * (before * more / all);
    count_ += count;
  }
  static void write(text::JsonWriter& json, std::string_view name, bool known, Value value) {
    json.key(name);
    if (!known)
      json.value(nullptr);
    else if constexpr (std::is_floating_point_v<Value>)
      json.raw(real_text(value));
    else
      json.value(value);
  }
  // As in h5grove, mean and deviation of integers are integers, truncated.
  static void write_real(text::JsonWriter& json, std::string_view name, bool known, double value) {
    json.key(name);
    if (!known || !std::isfinite(value))
      json.value(nullptr);
    else if constexpr (std::is_floating_point_v<Value>)
      json.raw(real_text(value));
    else
      json.raw(fmt::format("{:.0f}", std::trunc(value)));
  }
  static std::string real_text(double value) {
    char digits[text::kFloatTextRoom];
    return {digits, text::write_float(value, digits)};
  }

  std::uint64_t count_ = 0;
  Value min_ = kMax, max_ = std::numeric_limits<Value>::lowest();
  Value positive_ = kMax, strict_ = kMax;
  bool has_positive_ = false, has_strict_ = false;
  double mean_ = 0, squares_ = 0;
};

}  // namespace

Result<Answer> answer_statistics(const ApiRequest& request) {
  H5_ASSIGN(const Entity dataset, find_dataset(request));
  const bool own = is_own(*dataset.object, OwnPart::Data, request.budget());
  if (own)
    if (auto instead = not_modified(request, own)) return *std::move(instead);
  H5_ASSIGN(const view::ViewInput source, selected_data(request, dataset));
  const auto& description = source.reader->description();
  if (description.space.kind == format::DataspaceKind::Null || !is_numeric(*description.type))
    return fail(refused("no statistics of data that are no numbers"));
  H5_ASSIGN(const view::DatasetReaderPtr reader, open_numbers(source.reader, NumberForm::Safe));
  const auto kind = number_kind(*reader->description().type);
  if (!kind) return fail(refused("no statistics of such numbers"));
  H5_ASSIGN(const MemoryCharge charge, take_memory(source.environment.cache, kNumberBytes, request.work));
  std::string text;
  const Status done = with_number(*kind, [&]<class Value>(Value) -> Status {
    Statistics<Value> statistics;
    const Status read = for_each_block<Value>(
        *reader, request.work, [&](std::span<const Value> block) { statistics.add(block); },
        [&](Value value, std::uint64_t count) { statistics.add_run(value, count); });
    text = statistics.json();
    return read;
  });
  if (!done && !is_passing(done.error())) dataset.object->note_failure(dataset.path, 0, done.error());
  H5_TRY(done);
  H5_TRY(confirm_unchanged(*dataset.object));
  return described(request, make_text_body(std::move(text)), "application/json", own);
}

}  // namespace h5mount::serve

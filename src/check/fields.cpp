#include "fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::check {

std::optional<Fields> Subject::take(std::uint64_t address, std::uint64_t bytes,
                                    std::string_view structure) const {
  if (address == format::kUndefinedAddress || bytes > limits::kMaxNodeBytes || !go_on()) return std::nullopt;
  if (!context->structures.enter(address, bytes)) return std::nullopt;
  auto block = file().read_up_to(address, bytes, structure);
  if (!block || block->bytes().size() < bytes) return std::nullopt;
  return std::optional<Fields>(std::in_place, *this, *std::move(block), structure);
}

// ---- one field

Error Field::disagreement(std::string_view why) const {
  return Error(ErrorCode::InvalidValue, structure, name, offset)
      .with_found(value)
      .with_detail(std::string(why));
}

bool Field::want(bool condition, std::string_view why) const {
  if (present && !condition) context->disagrees(place, disagreement(why));
  return condition;
}

bool Field::want_equal(std::uint64_t expected, std::string_view why) const {
  if (present && value != expected) context->disagrees(place, disagreement(why).with_expected(expected));
  return value == expected;
}

bool Field::want_range(std::uint64_t least, std::uint64_t most) const {
  const bool inside = value >= least && value <= most;
  return inside || want(false, fmt::format("is not {} to {}", least, most));
}

bool Field::want_defined(std::uint64_t bytes, std::string_view why) const {
  return !present || want(range_within(value, bytes, stored_end()), why);
}

// ---- the fields of a structure

Fields::Fields(const Subject& subject, metadata::MetadataBlock block, std::string_view structure)
    : Subject(subject),
      block_(std::make_shared<const metadata::MetadataBlock>(std::move(block))),
      cursor_(block_->cursor(structure)),
      begin_(cursor_.here()) {}

Field Fields::met(std::uint64_t bytes) {
  Field field = last();
  if (FieldReport* const told = report()) told->field(structure(), field.name, field.offset, bytes);
  return field;
}

ByteSpan Fields::bytes(std::uint64_t count, std::string_view name) {
  const ByteSpan out = cursor_.bytes(static_cast<std::size_t>(count), name);
  if (!out.empty()) met(count);
  return out;
}

Field Fields::rest(std::string_view name) {
  const std::size_t count = remaining();
  if (bytes(count, name).empty()) return {};
  Field field = last();
  field.value = count;
  return field;
}

void Fields::begin(std::initializer_list<std::string_view> names) {
  (void)bytes(4, "signature");
  for (const std::string_view name : names) u8(name);
}

void Fields::zeros(std::size_t count, std::string_view name) {
  for (const std::byte other : bytes(count, name)) {
    if (other == std::byte{0}) continue;
    Field field = last();
    field.value = std::to_integer<std::uint64_t>(other);
    field.want_equal(0, "these bytes are reserved");
    return;
  }
}

std::string_view Fields::c_string(std::string_view name) {
  const std::string_view text = cursor_.c_string(name);
  met(text.size() + 1);
  return text;
}

void Fields::padded_text(std::uint64_t count, std::string_view name) {
  const std::string_view text = as_text(bytes(count, name));
  const std::size_t end = std::min(text.find('\0'), text.size());
  last().want(text.find_first_not_of('\0', end) == std::string_view::npos, "has text behind its end");
}

void Fields::checksum(std::uint64_t of_block) {
  const std::uint64_t at = u32("checksum").offset;
  if (FieldReport* const told = report()) told->sealed(begin_, of_block > 0 ? begin_ + of_block : at, at);
}

Fields Fields::part(std::uint64_t count, std::string_view structure) {
  Fields out(*this, cursor_.part(static_cast<std::size_t>(count), "part", structure));
  out.copy_ = copy_;
  return out;
}

// ---- what several structures have

void LargestOrder::take(const Field& order) {
  ++count_;
  if (most_ && order > *most_ && ++above_count_ == 1) above_ = order;
}

void LargestOrder::finish() const {
  if (above_count_ == 1 && count_ > 1)
    above_.want(false, "is above the largest of the object");
  else if (above_count_ > 0)
    most_->want_equal(above_, "attributes of the object have larger ones");
}

}  // namespace h5mount::check

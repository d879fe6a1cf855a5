#include "card_codec.h"

#include "card_bytes.h"
#include "digests.h"
#include "h5mount/base/limits.h"
#include "type_codec.h"

namespace h5mount::join {

namespace {

constexpr std::string_view kCardMagic = "h5mount card 1";
constexpr auto kLastErrorCode = ErrorCode::Internal;

Error no_card() {
  return {ErrorCode::InvalidValue, "no card of a file, or one for another axis or version"};
}

Digest digest_of(ByteSpan bytes) {
  Hasher out;
  out.add(as_text(bytes));
  return out.digest();
}

template <class T, class Write>
void write_optional(const std::optional<T>& value, CardWriter& to, Write write) {
  to.code(value.has_value());
  if (value) write(*value);
}

void write_digest(const Digest& digest, CardWriter& to) {
  to.word(digest.low);
  to.word(digest.high);
}
Digest read_digest(CardReader& from) {
  const std::uint64_t low = from.word();
  return {low, from.word()};
}

void write_error(const std::optional<Error>& error, CardWriter& to) {
  write_optional(error, to, [&](const Error& why) {
    to.code(why.code());
    to.text(why.text());
  });
}
std::optional<Error> read_error(CardReader& from) {
  if (!from.flag()) return std::nullopt;
  const ErrorCode code = from.code(kLastErrorCode);
  return Error(code, from.text());
}

void write_number(const Number& number, CardWriter& to) {
  to.code(number.is_whole);
  if (number.is_whole)
    to.word(static_cast<std::uint64_t>(number.whole));
  else
    to.real(number.real);
}
Number read_number(CardReader& from) {
  Number out;
  out.is_whole = from.flag();
  if (out.is_whole)
    out.whole = static_cast<std::int64_t>(from.word());
  else
    out.real = from.real();
  return out;
}

void write_space(const format::Dataspace& space, CardWriter& to) {
  to.code(space.kind);
  to.number(space.dims.size());
  for (std::size_t i = 0; i < space.dims.size(); ++i) {
    to.number(space.dims[i]);
    to.number(space.max_dims[i]);
  }
}
format::Dataspace read_space(CardReader& from) {
  format::Dataspace out;
  out.kind = from.code(format::DataspaceKind::Null);
  const std::size_t rank = from.count();
  from.require(rank <= limits::kMaxRank && (rank > 0) == (out.kind == format::DataspaceKind::Simple));
  for (std::size_t i = 0; i < rank && from.ok(); ++i) {
    out.dims.push_back(from.number());
    out.max_dims.push_back(from.number());
    from.require(out.max_dims[i] >= out.dims[i]);
  }
  return out;
}

void write_packing(const meaning::Packing& packing, CardWriter& to) {
  const auto real = [&](double value) { to.real(value); };
  const auto word = [&](std::uint64_t value) { to.word(value); };
  to.code(packing.read_as);
  to.code(packing.shown);
  write_optional(packing.scale, to, real);
  write_optional(packing.offset, to, real);
  to.number(packing.fills.size());
  for (const std::uint64_t fill : packing.fills) to.word(fill);
  write_optional(packing.least, to, word);
  write_optional(packing.most, to, word);
}
meaning::Packing read_packing(const format::Datatype& type, CardReader& from) {
  using meaning::NumberKind;
  meaning::Packing out;
  const auto stored = meaning::number_type(type);
  from.require(stored.has_value());
  out.stored = stored.value_or(meaning::NumberType());
  out.read_as = from.code(NumberKind::F64);
  out.shown = from.code(NumberKind::F64);
  if (from.flag()) out.scale = from.real();
  if (from.flag()) out.offset = from.real();
  for (std::size_t left = from.count(); left > 0 && from.ok(); --left) out.fills.push_back(from.word());
  if (from.flag()) out.least = from.word();
  if (from.flag()) out.most = from.word();
  from.require(meaning::is_integer(out.stored.kind)
                   ? meaning::is_integer(out.read_as) &&
                         meaning::bytes_of(out.read_as) == meaning::bytes_of(out.stored.kind)
                   : out.read_as == out.stored.kind);
  from.require(out.scaled() ? !meaning::is_integer(out.shown) : out.shown == out.read_as);
  return out;
}

// In the order of MemberCard, whose other fields are those of any member.
void write_dataset(const MemberCard& member, CardWriter& to) {
  write_space(member.space, to);
  to.bytes(member.fill);
  to.number(member.scales.size());
  for (const std::string& scale : member.scales) to.text(scale);
  for (const bool flag : {member.is_scale, member.without_values, member.is_coordinate, member.packing_sound,
                          member.bounds_time})
    to.code(flag);
  write_optional(member.packing, to, [&](const meaning::Packing& packing) { write_packing(packing, to); });
  to.text(member.units);
  to.text(member.calendar);
  const auto digest = [&](const Digest& value) { write_digest(value, to); };
  write_optional(member.values, to, digest);
  write_optional(member.decoded, to, digest);
  to.number(member.numbers.size());
  for (const Number& number : member.numbers) write_number(number, to);
  to.number(member.chunk.size());
  for (const std::uint64_t extent : member.chunk) to.number(extent);
  write_digest(member.pipeline, to);
  to.code(member.layout);
}

void read_dataset(CardReader& from, MemberCard& member) {
  member.space = read_space(from);
  const ByteSpan fill = from.bytes();
  from.require(fill.empty() || (member.type && fill.size() == member.type->size));
  member.fill.assign(fill.begin(), fill.end());
  const std::size_t rank = from.count();
  from.require(rank == member.space.rank());
  for (std::size_t i = 0; i < rank && from.ok(); ++i) member.scales.push_back(from.text());
  for (bool* const flag : {&member.is_scale, &member.without_values, &member.is_coordinate,
                           &member.packing_sound, &member.bounds_time})
    *flag = from.flag();
  if (from.flag()) {
    from.require(member.type != nullptr);
    if (from.ok()) member.packing = read_packing(*member.type, from);
  }
  member.units = from.text();
  member.calendar = from.text();
  if (from.flag()) member.values = read_digest(from);
  if (from.flag()) member.decoded = read_digest(from);
  const std::size_t numbers = from.count();
  from.require(numbers <= kMostCardNumbers);
  for (std::size_t i = 0; i < numbers && from.ok(); ++i) member.numbers.push_back(read_number(from));
  const std::size_t chunk = from.count();
  from.require(chunk == 0 || chunk == rank);
  for (std::size_t i = 0; i < chunk && from.ok(); ++i) {
    member.chunk.push_back(from.number());
    from.require(member.chunk.back() > 0);
  }
  member.pipeline = read_digest(from);
  member.layout = from.code(format::LayoutClass::Structured);
}

void write_axis(const Axis& axis, CardWriter& to) {
  to.code(axis.kind);
  to.text(axis.name);
  to.number(axis.dimension);
  to.code(axis.source);
  to.text(axis.text);
}

void write_axis_values(const AxisValues& values, CardWriter& to) {
  to.number(values.member);
  for (const bool flag :
       {values.readable, values.ascending, values.descending, values.has_missing, values.all_whole})
    to.code(flag);
  write_number(values.first, to);
  write_number(values.last, to);
  to.real(values.decoded_first);
  to.real(values.decoded_last);
  to.number(values.common_step);
  write_digest(values.values, to);
}
AxisValues read_axis_values(CardReader& from) {
  AxisValues out;
  out.member = from.number_as<std::uint32_t>();
  for (bool* const flag : {&out.readable, &out.ascending, &out.descending, &out.has_missing, &out.all_whole})
    *flag = from.flag();
  out.first = read_number(from);
  out.last = read_number(from);
  out.decoded_first = from.real();
  out.decoded_last = from.real();
  out.common_step = from.number();
  out.values = read_digest(from);
  return out;
}

Label read_label(CardReader& from) {
  Label out;
  out.kind = from.code(Label::Kind::Text);
  out.number = read_number(from);
  out.text = from.text();
  return out;
}

Status read_members(CardReader& from, const std::function<Result<MemberCardPtr>(ByteSpan)>& member,
                    FileCard& card) {
  const std::size_t count = from.count();
  from.require(count <= kMostMembers);
  if (from.ok()) card.members.reserve(count);
  for (std::size_t i = 0; i < count && from.ok(); ++i) {
    const ByteSpan bytes = from.bytes();
    if (!from.ok()) break;
    H5_ASSIGN(MemberCardPtr made, member(bytes));
    from.require(card.members.empty() ? made->path.empty() : card.members.back()->path < made->path);
    card.members.push_back(std::move(made));
  }
  return {};
}

}  // namespace

std::vector<std::byte> encode_member(const MemberCard& member) {
  CardWriter to;
  to.text(member.path);
  to.code(member.kind);
  to.text(member.target);
  write_error(member.error, to);
  to.number(member.attributes.size());
  for (const CardAttribute& attribute : member.attributes) {
    to.text(attribute.name);
    write_digest(attribute.value, to);
    to.text(attribute.text);
  }
  to.code(member.type != nullptr);
  if (member.type) write_type(*member.type, to);
  if (member.kind == MemberCard::Kind::Dataset) write_dataset(member, to);
  return to.take();
}

Result<MemberCard> decode_member(ByteSpan bytes) {
  CardReader from(bytes);
  MemberCard out;
  out.path = from.text();
  out.kind = from.code(MemberCard::Kind::ExternalLink);
  out.target = from.text();
  out.error = read_error(from);
  for (std::size_t left = from.count(); left > 0 && from.ok(); --left) {
    CardAttribute attribute;
    attribute.name = from.text();
    attribute.value = read_digest(from);
    attribute.text = from.text();
    out.attributes.push_back(std::move(attribute));
  }
  if (from.flag()) out.type = read_type(from);
  if (from.ok() && out.kind == MemberCard::Kind::Dataset) read_dataset(from, out);
  // What has no error has a type, as those who join it expect.
  const bool typed = out.kind == MemberCard::Kind::Dataset || out.kind == MemberCard::Kind::Datatype;
  from.require(out.type != nullptr || out.error || !typed);
  if (!from.at_end()) return fail(no_card());
  return out;
}

std::vector<std::byte> encode_card(const FileCard& card, const Axis& axis) {
  CardWriter to;
  to.text(kCardMagic);
  write_axis(axis, to);
  to.text(card.path);
  to.word(card.identity);
  to.word(card.stamp);
  to.number(card.size);
  write_error(card.error, to);
  to.code(card.may_grow);
  write_optional(card.label, to, [&](const Label& label) {
    to.code(label.kind);
    write_number(label.number, to);
    to.text(label.text);
  });
  to.number(card.members.size());
  for (const MemberCardPtr& member : card.members) to.bytes(encode_member(*member));
  to.number(card.axes.size());
  for (const AxisValues& values : card.axes) write_axis_values(values, to);
  write_digest(digest_of(to.written()), to);
  return to.take();
}

Result<FileCard> decode_card(ByteSpan bytes, const Axis& axis,
                             const std::function<Result<MemberCardPtr>(ByteSpan)>& member) {
  CardWriter head;
  head.text(kCardMagic);
  write_axis(axis, head);
  const std::size_t head_bytes = head.written().size();
  if (bytes.size() < head_bytes + sizeof(Digest)) return fail(no_card());
  const ByteSpan summed = bytes.first(bytes.size() - sizeof(Digest));
  CardReader sum(bytes.last(sizeof(Digest)));
  if (!std::ranges::equal(bytes.first(head_bytes), head.written()) || digest_of(summed) != read_digest(sum))
    return fail(no_card());
  CardReader from(summed.subspan(head_bytes));
  FileCard out;
  out.path = from.text();
  out.identity = from.word();
  out.stamp = from.word();
  out.size = from.number();
  out.error = read_error(from);
  out.may_grow = from.flag();
  if (from.flag()) out.label = read_label(from);
  H5_TRY(read_members(from, member, out));
  for (std::size_t left = from.count(); left > 0 && from.ok(); --left) {
    out.axes.push_back(read_axis_values(from));
    from.require(out.axes.back().member < out.members.size());
  }
  if (!from.at_end()) return fail(no_card());
  return out;
}

}  // namespace h5mount::join

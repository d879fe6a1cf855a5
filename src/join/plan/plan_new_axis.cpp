// Rule 9: a new axis, along which each file has one place.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "h5mount/dataset/converted_dataset.h"
#include "planner.h"

namespace h5mount::join {

namespace {

enum class LabelForm : std::uint8_t { Whole, Real, Time, Text };

LabelForm label_form(const Planning& plan) {
  if (plan.options.axis.source == Axis::Source::None) return LabelForm::Text;
  bool all_whole = true, all_times = true, all_numbers = true;
  for (const TakenFile& file : plan.files) {
    const Label& label = *file.card->label;
    all_times = all_times && label.kind == Label::Kind::Time;
    all_numbers = all_numbers && label.kind == Label::Kind::Number;
    all_whole = all_whole && label.number.is_whole;
  }
  if (all_times) return LabelForm::Time;
  if (!all_numbers) return LabelForm::Text;
  return all_whole ? LabelForm::Whole : LabelForm::Real;
}

std::string label_text(const Planning& plan, const TakenFile& file) {
  if (plan.options.axis.source != Axis::Source::None) return file.card->label->text;
  const std::string_view name = file.name();
  const std::size_t base = name.rfind('/') + 1, dot = name.rfind('.');
  return std::string(dot == std::string_view::npos || dot <= base ? name : name.substr(0, dot));
}

double label_real(const Number& number) {
  return number.is_whole ? static_cast<double>(number.whole) : number.real;
}

format::DatatypePtr text_of_any_length() {
  auto base = std::make_shared<format::Datatype>(*dataset::integer_type(1, false, format::ByteOrder::Little));
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::VariableLength;
  out->size = 16;
  out->charset = format::CharacterSet::Utf8;
  out->variable_string = true;
  out->base = std::move(base);
  out->has_variable_part = true;
  return out;
}

template <class Value>
void append_bytes(Value value, std::vector<std::byte>& out) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

}  // namespace

void order_by_labels(Planning& plan) {
  const LabelForm form = label_form(plan);
  struct Place {
    Instant number;
    std::string text;
    std::uint32_t file = 0;
  };
  std::vector<Place> places;
  for (std::uint32_t i = 0; i < plan.files.size(); ++i) {
    Place& place = places.emplace_back();
    place.file = i;
    if (form == LabelForm::Text)
      place.text = label_text(plan, plan.files[i]);
    else
      place.number =
          instant_of(form == LabelForm::Real ? Number{false, 0, label_real(plan.files[i].card->label->number)}
                                             : plan.files[i].card->label->number,
                     nullptr);
  }
  const auto less = [](const Place& a, const Place& b) {
    return a.number != b.number ? a.number < b.number : natural_less(a.text, b.text);
  };
  std::ranges::stable_sort(places, less);
  for (std::size_t i = 1; i < places.size(); ++i)
    if (!less(places[i - 1], places[i]) && !plan.error)
      plan.error = cannot_join(fmt::format(
          "{} and {} have the same value on the new axis {}: '{}' (another form after join=+{}: tells them "
          "apart, match= leaves files out)",
          plan.files[places[i - 1].file].name(), plan.files[places[i].file].name(), plan.options.axis.name,
          label_text(plan, plan.files[places[i].file]), plan.options.axis.name));
  if (plan.options.order != Order::Coordinate) return;
  std::vector<TakenFile> sorted;
  for (const Place& place : places) sorted.push_back(std::move(plan.files[place.file]));
  plan.files = std::move(sorted);
}

PlannedMember label_coordinate(const Planning& plan) {
  const LabelForm form = label_form(plan);
  PlannedMember out;
  auto card = std::make_shared<MemberCard>();
  card->path = plan.options.axis.name;
  card->kind = MemberCard::Kind::Dataset;
  card->is_scale = card->is_coordinate = true;
  card->type = form == LabelForm::Text   ? text_of_any_length()
               : form == LabelForm::Real ? dataset::float_type(8, format::ByteOrder::Little)
                                         : dataset::integer_type(8, true, format::ByteOrder::Little);
  card->space.kind = format::DataspaceKind::Simple;
  card->space.dims = card->space.max_dims = {plan.files.size()};
  card->scales = {card->path};
  out.type = card->type;
  out.space = card->space;
  out.scales = card->scales;
  out.card = std::move(card);
  out.files = plan.files.size();
  for (const TakenFile& file : plan.files) {
    if (form == LabelForm::Text)
      out.texts.push_back(label_text(plan, file));
    else if (form == LabelForm::Real)
      append_bytes(label_real(file.card->label->number), out.made);
    else
      append_bytes(file.card->label->number.whole, out.made);
  }
  if (form == LabelForm::Time)
    out.attributes_set = {{"calendar", "proleptic_gregorian"}, {"units", "seconds since 1970-01-01"}};
  return out;
}

}  // namespace h5mount::join

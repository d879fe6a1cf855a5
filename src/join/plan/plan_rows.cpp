// What files.jsonl and files.parquet say of a plan.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "h5mount/join/plan.h"
#include "h5mount/text/json_writer.h"
#include "h5mount/text/shortest_float.h"
#include "packed_values.h"
#include "planner.h"

namespace h5mount::join {

namespace {

using meaning::NumberKind;
using meaning::Packing;

std::string number_json(double number) {
  if (!(std::abs(number) <= std::numeric_limits<double>::max())) return "null";
  char text[text::kFloatTextRoom];
  return std::string(text, text::write_float(number, text));
}

std::string number_json(std::uint64_t bits, NumberKind kind) {
  if (!meaning::is_integer(kind)) return number_json(std::bit_cast<double>(bits));
  return kind < NumberKind::U8 ? std::to_string(static_cast<std::int64_t>(bits)) : std::to_string(bits);
}

std::string packing_json(const MemberCard& card) {
  if (!card.packing) return {};
  const Packing& packing = *card.packing;
  if (!packing.scaled() && !packing.may_miss() && packing.read_as == packing.stored.kind) return {};
  std::string out;
  text::JsonWriter json(out);
  json.begin_object();
  if (packing.scale) json.key("scale_factor").raw(number_json(*packing.scale));
  if (packing.offset) json.key("add_offset").raw(number_json(*packing.offset));
  if (!packing.fills.empty()) {
    json.key("missing").begin_array();
    for (const std::uint64_t bits : packing.fills) json.raw(number_json(bits, packing.read_as));
    json.end_array();
  }
  if (packing.least) json.key("valid_min").raw(number_json(*packing.least, packing.read_as));
  if (packing.most) json.key("valid_max").raw(number_json(*packing.most, packing.read_as));
  if (packing.read_as != packing.stored.kind) json.member("unsigned", packing.read_as >= NumberKind::U8);
  json.end_object();
  return out;
}

std::string conversions(const PlannedMember& member, const MemberCard& card, std::uint32_t treatment) {
  std::string out;
  const auto add = [&](std::string_view what) {
    if (!out.empty()) out += ',';
    out += what;
  };
  if (!member.axis || member.error) return out;
  if (treatment < member.treatments.size()) {
    const Treatment& of = member.treatments[treatment];
    if (of.unpack) add("unpacked");
    if (of.fill) add("fill");
    if (of.rebase) add("rebased");
  }
  if (card.type && !same_type(*card.type, *member.type)) add("type");
  return out;
}

// Rows of one plan. Texts of a card that many files share are made once.
class FileRows {
 public:
  explicit FileRows(const Plan& plan) : plan_(plan) {
    for (const PlannedMember& member : plan.members)
      if (member.card->kind == MemberCard::Kind::Dataset || member.error) shown_.push_back(&member);
    last_.resize(shown_.size());
  }

  bool visit(const std::function<bool(const FileRow&)>& visit) {
    for (std::uint32_t file = 0; file < plan_.files.size(); ++file)
      if (!visit_file(file, visit)) return false;
    for (const LeftOutFile& one : plan_.left_out) {
      FileRow row;
      row.file = one.card->path;
      row.error = one.why.text();
      if (!visit(row)) return false;
    }
    return true;
  }

 private:
  struct Texts {
    const MemberCard* card = nullptr;
    std::uint32_t treatment = 0;
    std::string packing, converted;
  };

  bool visit_file(std::uint32_t file, const std::function<bool(const FileRow&)>& visit) {
    const FileCard& card = *plan_.files[file].card;
    bool any = false;
    // Both are by path.
    auto own = card.members.begin();
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const std::string_view path = shown_[i]->card->path;
      while (own != card.members.end() && (*own)->path < path) ++own;
      const bool has = own != card.members.end() && (*own)->path == path;
      if (!has && (!shown_[i]->axis || shown_[i]->error)) continue;
      any = true;
      if (!visit(row_of(file, i, has ? own->get() : nullptr))) return false;
    }
    if (any) return true;
    FileRow row;
    row.file = card.path;
    row.error = plan_.error ? plan_.error->text() : std::string();
    return visit(row);
  }

  FileRow row_of(std::uint32_t file, std::size_t i, const MemberCard* card) {
    const PlannedMember& member = *shown_[i];
    FileRow row;
    row.file = plan_.files[file].card->path;
    row.path = member.card->path;
    row.first = member.from == file;
    if (member.error) row.error = member.error->text();
    std::uint32_t treatment = 0;
    if (member.axis && file < member.parts.size()) {
      row.position = (*member.starts)[file];
      row.length = (*member.starts)[file + 1] - *row.position;
      treatment = member.parts[file].treatment;
    }
    if (!card) {
      row.converted = "gap";
      return row;
    }
    Texts& texts = last_[i];
    if (texts.card != card || texts.treatment != treatment)
      texts = {card, treatment, packing_json(*card), conversions(member, *card, treatment)};
    row.packing = texts.packing;
    row.units = card->units;
    row.converted = texts.converted;
    return row;
  }

  const Plan& plan_;
  std::vector<const PlannedMember*> shown_;
  std::vector<Texts> last_;  // of the file before
};

}  // namespace

void for_each_row(const Plan& plan, const std::function<bool(const FileRow&)>& visit) {
  FileRows(plan).visit(visit);
}

}  // namespace h5mount::join

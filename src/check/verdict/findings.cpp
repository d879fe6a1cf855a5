#include "findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "../fields.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"

namespace h5mount::check {

namespace {

constexpr VerdictCode kWorstFirst[] = {VerdictCode::CouldNotRun, VerdictCode::Corrupt, VerdictCode::Forbidden,
                                       VerdictCode::TooMuch, VerdictCode::Warning};

std::size_t rank_of(VerdictCode code) {
  return static_cast<std::size_t>(std::ranges::find(kWorstFirst, code) - std::begin(kWorstFirst));
}

std::string value_text(const VerdictValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.6g}", *number);
  return {};
}

bool has_many(VerdictKind kind) {
  return kind <= VerdictKind::Filter;
}

// What there is too much of where the walk met a bound: one of this program, or of the format (nullopt),
// which no sound file passes.
std::optional<VerdictKind> resource_of(const Error& error) {
  const std::string_view structure = error.structure(), field = error.field();
  if (error.code() == ErrorCode::TooLarge) return VerdictKind::LogicalSize;
  if (structure == structures::kDatatypeMessage && (field == "nesting" || field == "part_count"))
    return VerdictKind::DatatypeDepth;
  if (structure == structures::kChunk || structure == "ContiguousStorage") return VerdictKind::Expansion;
  if (structure == structures::kFractalHeapHugeObject) return VerdictKind::AttributeCount;
  if (structure.contains("Array")) return VerdictKind::ChunkCount;
  if (structure == "GlobalHeapCollection" && field == "length") return VerdictKind::ObjectCount;
  if (structure.empty() || field == "message.type" || field == "continuations")
    return VerdictKind::ObjectCount;
  return std::nullopt;
}

std::pair<VerdictKind, VerdictCode> meaning_of(const Error& error) {
  using enum ErrorCode;
  if (is_momentary(error)) return {VerdictKind::Damaged, VerdictCode::CouldNotRun};
  switch (error.code()) {
    case Cycle:
      return {VerdictKind::Loop, VerdictCode::Corrupt};
    case LimitExceeded:
    case TooLarge:
    case BudgetExceeded:
    case TooMuchMemory:
      if (const auto resource = resource_of(error)) return {*resource, VerdictCode::TooMuch};
      return {VerdictKind::Damaged, VerdictCode::Corrupt};
    case UnsupportedFeature:
      if (error.structure() == structures::kObjectHeader)
        return {VerdictKind::UnknownMessage, VerdictCode::Corrupt};
      // A filter of a heap, which the policy allows and this build lacks: what it has was not looked at.
      if (error.structure().empty()) return {VerdictKind::Filter, VerdictCode::Warning};
      return {VerdictKind::Damaged, VerdictCode::Corrupt};
    case Io:
    case NotFound:
    case AccessDenied:
    case Stale:
    case Interrupted:
    case TimedOut:
    case OutOfMemory:
    case Internal:
      return {VerdictKind::Damaged, VerdictCode::CouldNotRun};
    default:
      return {VerdictKind::Damaged, VerdictCode::Corrupt};
  }
}

// Other readers follow the numbers of these without asking, also to where this file has no bytes.
bool harms_others(const Error& error) {
  return error.structure() == "ExternalDataFilesMessage" || error.field() == "client_data";
}

// Fields of datasets that repeat what others say, which decide.
bool is_repetition(const Error& error) {
  const std::string_view field = error.field();
  return error.structure() == "Dataset" &&
         (field == "chunk_element_size" ||
          (field == "contiguous_size" && error.text().contains("value: 0x0,")));
}

// Fields that known writers, which readers of all kinds have to live with, do not set as the format says:
// names in UTF-8 that are said to be in ASCII, reserved bytes of the first versions, orders of attributes
// that are all 0, small collections of heaps, the place of a superblock that another block was put in front
// of.
bool is_often_wrong(const Error& error) {
  constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {structures::kDatatypeMessage, "padding"},
      {structures::kDataspaceMessage, "trailing_bytes"},
      {structures::kObjectHeader, "message.creation_order"},
      {"GlobalHeapCollection", "collection_size"},
      {structures::kSuperblock, "base_address"}};
  return is_repetition(error) || (error.field() == "name" && error.text().contains(kNotAscii)) ||
         (error.field() == "client_data" && error.text().contains(kOverlapsTheOneBefore)) ||
         std::ranges::find(kFields, std::pair(error.structure(), error.field())) != std::end(kFields);
}

constexpr std::string_view kKindNames[] = {"external_link",
                                           "external_storage",
                                           "virtual_source",
                                           "file_set",
                                           "filter",
                                           "expansion",
                                           "logical_size",
                                           "tiny_chunks",
                                           "object_count",
                                           "attribute_count",
                                           "chunk_count",
                                           "link_depth",
                                           "datatype_depth",
                                           "loop",
                                           "overlap",
                                           "foreign_format",
                                           "user_block",
                                           "trailing_bytes",
                                           "unaccounted_bytes",
                                           "unknown_message",
                                           "damaged"};
static_assert(std::size(kKindNames) == static_cast<std::size_t>(VerdictKind::Damaged) + 1);

}  // namespace

std::string_view verdict_kind_name(VerdictKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

VerdictCode worse(VerdictCode a, VerdictCode b) {
  return rank_of(a) <= rank_of(b) ? a : b;
}

std::string VerdictFinding::text() const {
  std::string out = fmt::format("{} at {}", verdict_kind_name(kind), place);
  if (const std::string shown = value_text(value); !shown.empty()) out += ": " + shown;
  if (const std::string shown = value_text(limit); !shown.empty())
    out += fmt::format(" ({}: {})", has_many(kind) ? "allowed" : "limit", shown);
  return out;
}

std::string_view Verdict::decision() const {
  return refused() ? "refuse" : code == VerdictCode::Warning ? "accept_with_warnings" : "accept";
}

std::string offset_place(std::uint64_t offset) {
  return fmt::format("offset {}", offset);
}

void Findings::add(VerdictKind kind, VerdictCode code, const std::string& place, VerdictValue value,
                   VerdictValue limit) {
  std::string known = fmt::format("{}\n{}", static_cast<int>(kind), place);
  if (has_many(kind)) known += '\n' + value_text(value);
  auto& list = by_code_[rank_of(code)];
  const bool is_new = list.size() < limits::kMaxFindings && known_.insert(std::move(known)).second;
  if (!is_new) {
    if (list.size() >= limits::kMaxFindings || !has_many(kind)) ++left_out_;
    return;
  }
  list.push_back({kind, code, place, std::move(value), std::move(limit)});
}

void Findings::add_damage(const Finding& finding, bool strict) {
  if (finding.severity == Severity::Note) return;
  const Error& error = finding.error;
  auto [kind, code] = meaning_of(error);
  const bool all_is_read = finding.read_all_the_same || is_repetition(error);
  if (all_is_read && (is_often_wrong(error) || (!strict && !harms_others(error))))
    code = VerdictCode::Warning;
  constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  const bool file = finding.path.empty();
  add(kind, code,
      !file                        ? finding.path
      : error.offset() == kNowhere ? "/"
                                   : offset_place(error.offset()),
      error.text());
}

Verdict Findings::take() {
  Verdict out;
  for (std::size_t rank = 0; rank < kCodes; ++rank)
    for (VerdictFinding& finding : by_code_[rank]) {
      out.code = worse(out.code, finding.code);
      if (out.findings.size() < limits::kMaxFindings)
        out.findings.push_back(std::move(finding));
      else
        ++left_out_;
    }
  out.left_out = left_out_;
  return out;
}

Verdict verdict_of_unopened(const Error& why) {
  Findings findings;
  findings.add_damage({Severity::Damage, "", why}, true);
  return findings.take();
}

}  // namespace h5mount::check

#include "h5mount/check/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <variant>

#include "h5mount/base/log.h"
#include "h5mount/base/text.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::check {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20, kGiB = 1ULL << 30, kTiB = 1ULL << 40;

using Text = std::string_view;

// What a name's value is, and where it goes.
struct CountOf {
  Limit Policy::* member;
};
struct BytesOf {
  Limit Policy::* member;
};
struct LeastBytes {  // from which on a rule holds
  std::uint64_t Policy::* member;
};
struct NamesOf {
  AllowedNames Policy::* member;
};
struct Filters {};

struct PolicyName {
  Text name;
  std::variant<CountOf, BytesOf, LeastBytes, NamesOf, Filters> value;
};

constexpr std::array kNames = {
    PolicyName{"allow_external_links", NamesOf{&Policy::allow_external_links}},
    PolicyName{"allow_external_storage", NamesOf{&Policy::allow_external_storage}},
    PolicyName{"allow_vds", NamesOf{&Policy::allow_vds}},
    PolicyName{"allow_filters", Filters{}},
    PolicyName{"max_object_count", CountOf{&Policy::max_object_count}},
    PolicyName{"max_attribute_count", CountOf{&Policy::max_attribute_count}},
    PolicyName{"max_chunk_count", CountOf{&Policy::max_chunk_count}},
    PolicyName{"max_link_traversal_depth", CountOf{&Policy::max_link_traversal_depth}},
    PolicyName{"max_datatype_recursion_depth", CountOf{&Policy::max_datatype_recursion_depth}},
    PolicyName{"max_logical_dataset_bytes", BytesOf{&Policy::max_logical_dataset_bytes}},
    PolicyName{"max_expansion", CountOf{&Policy::max_expansion}},
    PolicyName{"max_expansion_min_bytes", LeastBytes{&Policy::max_expansion_min_bytes}},
    PolicyName{"min_logical_chunk_bytes", LeastBytes{&Policy::min_logical_chunk_bytes}},
    PolicyName{"max_chunks_below_min_logical_bytes", CountOf{&Policy::max_chunks_below_min_logical_bytes}},
};

// deflate, shuffle, fletcher32, szip, nbit, scaleoffset: those of the specification.
constexpr std::uint16_t kFirstFilter = 1, kLastFilter = 6;

std::vector<std::uint16_t> filters_of_the_format() {
  std::vector<std::uint16_t> out;
  for (std::uint16_t id = kFirstFilter; id <= kLastFilter; ++id) out.push_back(id);
  return out;
}

Error bad_value(Text expected) {
  return {ErrorCode::InvalidValue, std::string(expected)};
}

// Reads the value of one name into the policy; its errors say what would have been a value.
struct ValueReader {
  Text text;
  Policy& out;

  Status operator()(CountOf to) const {
    const auto number = parse_whole<std::uint64_t>(text);
    if (!number && text != "none") return fail(bad_value("a number or none"));
    out.*to.member = number;
    return {};
  }
  Status operator()(BytesOf to) const {
    const auto bytes = parse_bytes(text);
    if (!bytes && text != "none") return fail(bad_value("a number of bytes (64G) or none"));
    out.*to.member = bytes;
    return {};
  }
  Status operator()(LeastBytes to) const {
    const auto bytes = text == "none" ? 0 : parse_bytes(text);
    if (!bytes) return fail(bad_value("a number of bytes (4K) or none"));
    out.*to.member = *bytes;
    return {};
  }
  Status operator()(NamesOf to) const {
    constexpr std::array<Text, 3> kWords = {"none", "beneath", "any"};  // in the order of AllowedNames
    const auto* const found = std::ranges::find(kWords, text);
    if (found == kWords.end()) return fail(bad_value("none, beneath or any"));
    out.*to.member = static_cast<AllowedNames>(found - kWords.begin());
    return {};
  }
  Status operator()(Filters) const {
    const bool list = text.starts_with('[') && text.ends_with(']') && text.size() > 1;
    if (text == "any") return out.allow_filters.reset(), Status{};
    if (text != "built-in" && text != "none" && !list)
      return fail(bad_value("built-in, any, none or a list of numbers ([1, 2, 32015])"));
    out.allow_filters = text == "built-in" ? filters_of_the_format() : std::vector<std::uint16_t>{};
    const Text numbers = list ? trim(text.substr(1, text.size() - 2)) : Text();
    for (Text rest = numbers; !rest.empty();) {
      const Text word = trim(take_until(rest, ','));
      const auto number = parse_whole<std::uint16_t>(word);
      if (!number)
        return fail(bad_value(fmt::format("numbers of filters, which '{}' is not", escape_for_log(word))));
      out.allow_filters->push_back(*number);
    }
    return {};
  }
};

// The line without a comment; `#` in quotes begins none.
Text without_comment(Text line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && quote == 0) return line.substr(0, i);
    if (line[i] == quote)
      quote = 0;
    else if (quote == 0 && (line[i] == '"' || line[i] == '\''))
      quote = line[i];
  }
  return line;
}

Text without_quotes(Text value) {
  const bool quoted =
      value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

Result<const PolicyName*> find_policy_name(Text name) {
  const auto* const found = std::ranges::find(kNames, name, &PolicyName::name);
  if (found != kNames.end()) return found;
  std::array<Text, kNames.size()> names;
  std::ranges::transform(kNames, names.begin(), &PolicyName::name);
  const Text meant = suggestion(name, names);
  return fail({ErrorCode::InvalidValue,
               fmt::format("unknown name '{}'{}", escape_for_log(name),
                           meant.empty() ? std::string() : fmt::format(": did you mean {}?", meant))});
}

Status read_policy_line(Text line, std::vector<const PolicyName*>& seen, Policy& out) {
  const auto equals = line.find('=');
  const Text name = trim(line.substr(0, equals));
  H5_ASSIGN(const PolicyName* const known, find_policy_name(name));
  if (equals == Text::npos) return fail(bad_value(fmt::format("{} has no value", name)));
  if (std::ranges::find(seen, known) != seen.end())
    return fail(bad_value(fmt::format("{} is there twice", name)));
  seen.push_back(known);
  const Text value = without_quotes(trim(line.substr(equals + 1)));
  if (const Status read = std::visit(ValueReader{value, out}, known->value); !read)
    return fail(
        bad_value(fmt::format("{} = {}: expected {}", name, escape_for_log(value), read.error().text())));
  return {};
}

}  // namespace

Policy untrusted_policy() {
  Policy out;
  out.allow_filters = filters_of_the_format();
  out.max_object_count = out.max_attribute_count = 100'000;
  out.max_chunk_count = 10'000'000;
  out.max_link_traversal_depth = out.max_datatype_recursion_depth = 64;
  out.max_logical_dataset_bytes = 64 * kGiB;
  out.max_expansion = 200;
  out.max_expansion_min_bytes = 256 * kMiB;
  out.min_logical_chunk_bytes = 4096;
  out.max_chunks_below_min_logical_bytes = 4096;
  return out;
}

Policy trusted_policy() {
  Policy out;
  out.name = "trusted";
  out.strict = false;
  out.allow_external_links = out.allow_external_storage = out.allow_vds = AllowedNames::Beneath;
  out.max_object_count = out.max_attribute_count = 10'000'000;
  out.max_link_traversal_depth = out.max_datatype_recursion_depth = 128;
  out.max_logical_dataset_bytes = 16 * kTiB;
  out.max_expansion = 2'000;
  out.max_expansion_min_bytes = 16 * kGiB;
  return out;
}

Result<Policy> parse_policy(std::string_view text, const std::string& path) {
  Policy out = untrusted_policy();
  out.name = path;
  out.text = text;
  std::vector<const PolicyName*> seen;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const Text line = trim(without_comment(take_until(text, '\n')), " \t\r");
    if (line.empty()) continue;
    if (const Status read = read_policy_line(line, seen, out); !read)
      return fail({ErrorCode::InvalidValue,
                   fmt::format("policy {}, line {}: {}", escape_for_log(path), number, read.error().text())});
  }
  return out;
}

Result<Policy> read_policy(const std::string& word) {
  if (word == "untrusted") return untrusted_policy();
  if (word == "trusted") return trusted_policy();
  constexpr std::uint64_t kMaxPolicyBytes = kMiB;
  const auto file = io::open_file_source(word);
  if (!file && file.error().code() == ErrorCode::NotFound)
    return fail(
        {ErrorCode::NotFound,
         fmt::format("policy {}: neither untrusted nor trusted, and no such file", escape_for_log(word))});
  if (!file) return fail(file.error().within("policy " + escape_for_log(word)));
  if ((*file)->size() > kMaxPolicyBytes)
    return fail(
        {ErrorCode::InvalidValue, fmt::format("policy {}: larger than any policy is", escape_for_log(word))});
  std::string text((*file)->size(), '\0');
  if (const Status read = (*file)->read_at(0, std::as_writable_bytes(std::span(text))); !read)
    return fail(read.error().within("policy " + escape_for_log(word)));
  return parse_policy(text, word);
}

}  // namespace h5mount::check

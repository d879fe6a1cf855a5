#include "pickled_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "h5mount/base/text.h"
#include "h5mount/base/utf8.h"

namespace h5mount::meaning {

namespace {

using Kind = PickledValue::Kind;

constexpr std::size_t kMostPickled = 128U << 10, kMostName = 1024, kMostClass = 64;
constexpr unsigned kMostDepth = 8;

// A decimal number without a sign but '-'.
bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Text as Python's raw-unicode-escape has it: Latin-1, and \uXXXX and \UXXXXXXXX.
std::string from_raw_escapes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t digits = text.starts_with("\\u") ? 4 : text.starts_with("\\U") ? 8 : 0;
    const auto code = digits > 0 && text.size() >= 2 + digits
                          ? parse_whole<std::uint32_t>(text.substr(2, digits), 16)
                          : std::nullopt;
    append_utf8(code.value_or(static_cast<unsigned char>(text[0])), out);
    text.remove_prefix(code ? 2 + digits : 1);
  }
  return out;
}

}  // namespace

std::string python_float(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::string out = fmt::format("{}", number);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string python_quoted(std::string_view text) {
  const char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') out += '\\';
    out += c;
  }
  return out + quote;
}

class PickleReader {
 public:
  explicit PickleReader(ByteSpan bytes) : rest_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  std::optional<Pickled> read() {
    for (;;) {
      const std::string_view code = take(1);
      if (bad_) return std::nullopt;
      if (code[0] == '.') break;
      if (!(number(code[0]) || text(code[0]) || container(code[0]) || stack(code[0]) || object(code[0])))
        return std::nullopt;
      if (bad_) return std::nullopt;
    }
    out_.root_ = pop();
    return bad_ ? std::nullopt : std::optional(std::move(out_));
  }

 private:
  static constexpr std::uint32_t kMark = ~std::uint32_t{0};

  std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) {
      bad_ = true;
      return {};
    }
    const std::string_view out = rest_.substr(0, static_cast<std::size_t>(bytes));
    rest_.remove_prefix(out.size());
    return out;
  }
  std::string_view line() {
    bad_ = bad_ || rest_.find('\n') == std::string_view::npos;
    return bad_ ? std::string_view() : take_until(rest_, '\n');
  }
  std::uint64_t integer(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    return bad_ ? 0 : load_le_width(reinterpret_cast<const std::byte*>(taken.data()), bytes);
  }

  bool push(PickledValue value) {
    stack_.push_back(static_cast<std::uint32_t>(out_.values_.size()));
    out_.values_.push_back(std::move(value));
    return true;
  }
  bool push(Kind kind, std::string text = {}) { return push(PickledValue{kind, std::move(text), {}}); }
  // Every pickle's first value stands for what is missing from the stack of a bad one.
  std::uint32_t pop() {
    if (stack_.empty() || stack_.back() == kMark) {
      bad_ = true;
      return 0;
    }
    const std::uint32_t out = stack_.back();
    stack_.pop_back();
    return out;
  }
  bool pop_some(std::size_t count) {
    for (; count > 0; --count) (void)pop();
    return true;
  }
  // Those above the last mark, which is taken away too.
  std::vector<std::uint32_t> pop_marked() {
    std::vector<std::uint32_t> out;
    while (!stack_.empty() && stack_.back() != kMark) out.push_back(pop());
    bad_ = bad_ || stack_.empty();
    if (!bad_) stack_.pop_back();
    std::ranges::reverse(out);
    return out;
  }
  PickledValue* top() {
    bad_ = bad_ || stack_.empty() || stack_.back() == kMark;
    return bad_ ? nullptr : &out_.values_[stack_.back()];
  }

  bool number(char code) {
    switch (code) {
      case 'N':
        return push(Kind::None);
      case '\x88':
        return push(Kind::Bool, "True");
      case '\x89':
        return push(Kind::Bool, "False");
      case 'I': {
        const std::string_view digits = line();
        if (digits == "00" || digits == "01") return push(Kind::Bool, digits == "01" ? "True" : "False");
        return is_decimal(digits) && push(Kind::Int, std::string(digits));
      }
      case 'L': {
        std::string_view digits = line();
        if (digits.ends_with('L')) digits.remove_suffix(1);
        return is_decimal(digits) && push(Kind::Int, std::string(digits));
      }
      case 'J':
        return push(Kind::Int, fmt::format("{}", static_cast<std::int32_t>(integer(4))));
      case 'K':
        return push(Kind::Int, fmt::format("{}", integer(1)));
      case 'M':
        return push(Kind::Int, fmt::format("{}", integer(2)));
      case '\x8a': {
        const std::uint64_t bytes = integer(1);
        if (bytes > 8) return false;
        const std::uint64_t bits = integer(static_cast<std::size_t>(bytes));
        const auto unused = static_cast<unsigned>(64 - 8 * bytes);
        const std::int64_t value = bytes == 0 ? 0 : static_cast<std::int64_t>(bits << unused) >> unused;
        return push(Kind::Int, fmt::format("{}", value));
      }
      case 'F': {
        const auto value = parse_whole<double>(line(), 10);
        return value && push(Kind::Float, python_float(*value));
      }
      case 'G': {
        const std::uint64_t bits = __builtin_bswap64(integer(8));
        return push(Kind::Float, python_float(std::bit_cast<double>(bits)));
      }
      default:
        return false;
    }
  }

  bool text(char code) {
    switch (code) {
      case 'V':
        return push(Kind::Text, from_raw_escapes(line()));
      case 'S': {  // of Python 2, without escapes
        std::string_view quoted = line();
        if (quoted.size() < 2 || quoted.front() != quoted.back() || quoted.contains('\\')) return false;
        return push(Kind::Text, std::string(quoted.substr(1, quoted.size() - 2)));
      }
      case 'T':
      case 'X':
      case 'B':
        return push(Kind::Text, std::string(take(integer(4))));
      case 'U':
      case 'C':
      case '\x8c':
        return push(Kind::Text, std::string(take(integer(1))));
      case '\x8d':
      case '\x8e':
        return push(Kind::Text, std::string(take(integer(8))));
      default:
        return false;
    }
  }

  bool push_items(Kind kind, std::vector<std::uint32_t> items) {
    return push(PickledValue{kind, {}, std::move(items)});
  }
  // Adds to the list or dictionary below; nothing can be seen of what is added to another object.
  bool add(std::vector<std::uint32_t> items) {
    PickledValue* const to = top();
    if (to == nullptr) return false;
    if (to->kind == Kind::List || to->kind == Kind::Dict)
      to->items.insert(to->items.end(), items.begin(), items.end());
    return true;
  }
  std::vector<std::uint32_t> pop_last(std::size_t count) {
    std::vector<std::uint32_t> out(count);
    for (std::size_t i = count; i > 0; --i) out[i - 1] = pop();
    return out;
  }

  bool container(char code) {
    switch (code) {
      case ']':
        return push_items(Kind::List, {});
      case ')':
        return push_items(Kind::Tuple, {});
      case '}':
        return push_items(Kind::Dict, {});
      case 'l':
        return push_items(Kind::List, pop_marked());
      case 't':
        return push_items(Kind::Tuple, pop_marked());
      case 'd':
        return push_items(Kind::Dict, pop_marked());
      case '\x85':
      case '\x86':
      case '\x87':
        return push_items(Kind::Tuple, pop_last(static_cast<std::size_t>(code - '\x84')));
      case 'a':
        return add(pop_last(1));
      case 's':
        return add(pop_last(2));
      case 'e':
      case 'u':
        return add(pop_marked());
      default:
        return false;
    }
  }

  bool remember(std::uint64_t name) {
    if (top() == nullptr) return false;
    memo_[name] = stack_.back();
    return true;
  }
  bool recall(std::uint64_t name) {
    const auto found = memo_.find(name);
    if (found == memo_.end()) return false;
    stack_.push_back(found->second);
    return true;
  }

  bool stack(char code) {
    switch (code) {
      case '\x80':
        return integer(1) <= 5;
      case '\x95':
        (void)take(8);
        return true;
      case '(':
        stack_.push_back(kMark);
        return true;
      case '0':
        return pop_some(1);
      case '1':
        (void)pop_marked();
        return true;
      case '2':
        if (top() == nullptr) return false;
        stack_.push_back(stack_.back());
        return true;
      case 'p':
      case 'g': {
        const auto name = parse_whole<std::uint64_t>(line());
        return name && (code == 'p' ? remember(*name) : recall(*name));
      }
      case 'q':
        return remember(integer(1));
      case 'r':
        return remember(integer(4));
      case '\x94':
        return remember(memo_.size());
      case 'h':
        return recall(integer(1));
      case 'j':
        return recall(integer(4));
      default:
        return false;
    }
  }

  bool push_object(std::string_view module, std::string_view name) {
    return push(Kind::Other, fmt::format("{}.{}", module.substr(0, kMostClass), name.substr(0, kMostClass)));
  }
  // Classes, functions and what is made by them.
  bool object(char code) {
    switch (code) {
      case 'c': {
        const std::string_view module = line(), name = line();
        return push_object(module, name);
      }
      case '\x93': {
        const auto parts = pop_last(2);
        if (bad_) return false;
        return push_object(out_.values_[parts[0]].text, out_.values_[parts[1]].text);
      }
      case 'R':
      case '\x81':
      case '\x92': {
        pop_some(code == '\x92' ? 2 : 1);
        const std::uint32_t maker = pop();
        return !bad_ && push(Kind::Other, out_.values_[maker].text.substr(0, 2 * kMostClass + 1));
      }
      case 'b':
        return pop_some(1);
      default:
        return false;
    }
  }

  std::string_view rest_;
  bool bad_ = false;
  std::vector<std::uint32_t> stack_;
  std::map<std::uint64_t, std::uint32_t> memo_;
  Pickled out_;
};

std::optional<Pickled> Pickled::read(ByteSpan bytes) {
  if (bytes.size() > kMostPickled) return std::nullopt;
  return PickleReader(bytes).read();
}

Pickled Pickled::of(PickledValue value) {
  Pickled out;
  out.values_.push_back(std::move(value));
  return out;
}

std::vector<const PickledValue*> Pickled::items(const PickledValue& of) const {
  std::vector<const PickledValue*> out;
  if (of.kind != Kind::List && of.kind != Kind::Tuple) return out;
  out.reserve(of.items.size());
  for (const std::uint32_t item : of.items) out.push_back(&values_[item]);
  return out;
}

const PickledValue* Pickled::find(const PickledValue& dictionary, std::string_view key) const {
  if (dictionary.kind != Kind::Dict) return nullptr;
  const auto& items = dictionary.items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (values_[items[i]].text == key) return &values_[items[i + 1]];
  return nullptr;
}

std::optional<std::string> Pickled::name(const PickledValue& of) const {
  if (of.kind == Kind::Text) return of.text.size() <= kMostName ? std::optional(of.text) : std::nullopt;
  std::string out;
  return append_repr(of, 0, out) ? std::optional(std::move(out)) : std::nullopt;
}

bool Pickled::append_repr(const PickledValue& of, unsigned depth, std::string& out) const {
  if (depth > kMostDepth || out.size() + of.text.size() > kMostName) return false;
  switch (of.kind) {
    case Kind::None:
      out += "None";
      return true;
    case Kind::Bool:
    case Kind::Int:
    case Kind::Float:
      out += of.text;
      return true;
    case Kind::Text:
      out += python_quoted(of.text);
      return true;
    case Kind::List:
    case Kind::Tuple: {
      const bool tuple = of.kind == Kind::Tuple;
      out += tuple ? '(' : '[';
      for (std::size_t i = 0; i < of.items.size(); ++i) {
        if (i > 0) out += ", ";
        if (!append_repr(values_[of.items[i]], depth + 1, out)) return false;
      }
      if (tuple && of.items.size() == 1) out += ',';
      out += tuple ? ')' : ']';
      return out.size() <= kMostName;
    }
    case Kind::Dict:
    case Kind::Other:
      break;
  }
  return false;
}

}  // namespace h5mount::meaning

#include "catalogue_line.h"

#include <array>
#include <charconv>

#include "h5mount/base/utf8.h"

namespace h5mount::tree {

namespace {

constexpr int kMaxDepth = 256;  // values nest no deeper than types do

// Steps over one JSON text after the other. Each function returns false if something else follows; `ended`
// then tells whether that is because the text ends.
class JsonSteps {
 public:
  explicit JsonSteps(std::string_view text) : text_(text) {}

  bool ended() const { return at_ >= text_.size(); }
  std::size_t at() const { return at_; }
  std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  bool step(char wanted) {
    if (ended() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool string() {
    if (!step('"')) return false;
    while (!ended()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') return step('"');
      if (c < ' ') return false;
      if (c == '\\') {
        if (!escape()) return false;
      } else {
        const std::size_t bytes = utf8_length(text_.substr(at_));
        if (bytes == 0) {
          if (text_.size() - at_ < 4) at_ = text_.size();  // the end of the text may be within a character
          return false;
        }
        at_ += bytes;
      }
    }
    return false;
  }

  bool value(int depth = 0) {
    if (ended() || depth > kMaxDepth) return false;
    if (text_[at_] == '"') return string();
    if (text_[at_] == '{') return list('{', '}', depth, true);
    if (text_[at_] == '[') return list('[', ']', depth, false);
    for (const std::string_view word : {"true", "false", "null"}) {
      const std::string_view rest = text_.substr(at_, word.size());
      if (!word.starts_with(rest)) continue;
      at_ += rest.size();
      return rest == word;
    }
    return number();
  }

 private:
  bool escape() {
    if (at_ + 1 >= text_.size()) return at_ = text_.size(), false;
    const char c = text_[at_ + 1];
    if (c != 'u') {
      at_ += 2;
      return std::string_view("\"\\/bfnrt").contains(c);
    }
    constexpr std::size_t kLength = 6;
    if (text_.size() - at_ < kLength) return at_ = text_.size(), false;
    const std::string_view digits = text_.substr(at_ + 2, 4);
    at_ += kLength;
    return digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  }

  bool number() {
    const std::size_t begin = at_;
    step('-');
    const std::size_t digits = at_;
    skip_digits();
    if (at_ == digits || (text_[digits] == '0' && at_ > digits + 1)) return false;
    if (step('.') && !skip_digits()) return false;
    if (!ended() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (!step('+')) step('-');
      if (!skip_digits()) return false;
    }
    return at_ > begin && !ended();  // at the end there may be more digits
  }
  bool skip_digits() {
    const std::size_t begin = at_;
    while (!ended() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > begin;
  }

  bool list(char open, char close, int depth, bool keys) {
    step(open);
    if (step(close)) return true;
    do {
      if (keys && !(string() && step(':'))) return false;
      if (!value(depth + 1)) return false;
    } while (step(','));
    return step(close);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view* member(CatalogueLine& line, std::string_view key) {
  struct Named {
    std::string_view key;
    std::string_view CatalogueLine::* member;
  };
  static constexpr std::array kMembers = {
      Named{"\"path\"", &CatalogueLine::path},   Named{"\"kind\"", &CatalogueLine::kind},
      Named{"\"shape\"", &CatalogueLine::shape}, Named{"\"dtype\"", &CatalogueLine::dtype},
      Named{"\"size\"", &CatalogueLine::size},   Named{"\"mtime\"", &CatalogueLine::mtime},
      Named{"\"value\"", &CatalogueLine::value}, Named{"\"attributes\"", &CatalogueLine::attributes},
      Named{"\"error\"", &CatalogueLine::error},
  };
  for (const Named& one : kMembers)
    if (one.key == key) return &(line.*one.member);
  return nullptr;
}

// `digits`: from a JSON string that is known to be sound.
unsigned hex(std::string_view digits) {
  unsigned out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
  return out;
}

void append_character(unsigned code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::array<unsigned, 4> kFirst = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kFirst[static_cast<std::size_t>(more)] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

// Returns the length of the escape in the text, in bytes.
std::size_t append_escape(std::string_view text, std::string& out) {
  constexpr std::string_view kLetters = "bfnrt", kMeant = "\b\f\n\r\t";
  constexpr std::size_t kLength = 6;
  const char c = text[1];
  if (c != 'u') {
    const std::size_t found = kLetters.find(c);
    out += found == std::string_view::npos ? c : kMeant[found];
    return 2;
  }
  const unsigned code = hex(text.substr(2, 4));
  if (code < 0xD800 || code > 0xDFFF) {
    append_character(code, out);
    return kLength;
  }
  const std::string_view rest = text.substr(kLength);
  const bool pair = code < 0xDC00 && rest.size() >= kLength && rest.starts_with("\\u");
  const unsigned low = pair ? hex(rest.substr(2, 4)) : 0;
  if (low < 0xDC00 || low > 0xDFFF) {
    out += text.substr(0, kLength);
    return kLength;
  }
  append_character(0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00)), out);
  return 2 * kLength;
}

}  // namespace

std::optional<CatalogueLine> take_apart(std::string_view line) {
  CatalogueLine out;
  JsonSteps json(line);
  if (!json.step('{')) return std::nullopt;
  do {
    std::size_t begin = json.at();
    const bool key = json.string();
    const std::string_view name = json.since(begin);
    begin = key ? json.at() + 1 : 0;
    if (!key || !json.step(':') || !json.value())
      return json.ended() && !out.path.empty() ? std::optional(out) : std::nullopt;
    if (std::string_view* const to = member(out, name); to != nullptr && to->empty()) *to = json.since(begin);
    if (!out.path.starts_with('"')) return std::nullopt;
  } while (json.step(','));
  out.whole = json.step('}') && json.ended();
  return out.whole || json.ended() ? std::optional(out) : std::nullopt;
}

std::string unescaped(std::string_view json_string) {
  std::string out;
  std::string_view text = json_string.substr(1, json_string.size() - 2);
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (!text.empty()) text.remove_prefix(append_escape(text, out));
  }
  return out;
}

}  // namespace h5mount::tree

#include "netrc.h"

#include <algorithm>
#include <optional>

#include "h5mount/base/text.h"

namespace h5mount::remote {
namespace {

constexpr std::string_view kBlank = " \t\r";

// Takes the rest of a word after its opening quote; nullopt if its line ends before it does.
std::optional<std::string> take_quoted(std::string_view& line) {
  std::string out;
  while (!line.empty()) {
    char c = line.front();
    line.remove_prefix(1);
    if (c == '"') return out;
    if (c == '\\') {
      if (line.empty()) break;
      c = line.front();
      line.remove_prefix(1);
      c = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
    }
    out += c;
  }
  return std::nullopt;
}

class NetrcParser {
 public:
  NetrcLogins parse(std::string_view text) {
    while (!text.empty() && sound_) take_line(take_until(text, '\n'));
    return std::move(logins_);
  }

 private:
  // A macro ends at an empty line.
  void take_line(std::string_view line) {
    line = trim(line, kBlank);
    if (macro_) {
      macro_ = !line.empty();
      return;
    }
    if (line.starts_with('#')) return;
    while (!line.empty() && !macro_) {
      if (line.front() == '"') {
        line.remove_prefix(1);
        const auto quoted = take_quoted(line);
        sound_ = quoted.has_value();
        if (!quoted) return;
        take_word(*quoted);
      } else {
        const std::size_t length = std::min(line.find_first_of(kBlank), line.size());
        take_word(std::string(line.substr(0, length)));
        line.remove_prefix(length);
      }
      line = trim(line, kBlank);
    }
  }

  void take_word(const std::string& word) {
    const std::string keyword = wanted_.empty() ? to_lower(word) : std::string();
    if (wanted_ == "machine") {
      host_ = to_lower(word);
      current_ = logins_.contains(host_) ? nullptr : &logins_[host_];
    } else if (wanted_ == "login" && current_ != nullptr) {
      current_->user = word;
    } else if (wanted_ == "password" && current_ != nullptr) {
      current_->password = word;
    }
    wanted_.clear();
    if (keyword == "machine" || keyword == "login" || keyword == "password") wanted_ = keyword;
    if (keyword == "default") current_ = nullptr;
    macro_ = keyword == "macdef";
  }

  NetrcLogins logins_;
  NetrcLogin* current_ = nullptr;  // of the machine that the words are for; null: they are not used
  std::string wanted_, host_;      // the keyword whose value is the next word
  bool macro_ = false, sound_ = true;
};

}  // namespace

NetrcLogins parse_netrc(std::string_view text) {
  return NetrcParser().parse(text);
}

}  // namespace h5mount::remote

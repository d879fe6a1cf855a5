#include "options.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/log.h"
#include "h5mount/base/text.h"

namespace h5mount::cli {
namespace {

Error bad_word(std::string text) {
  return {ErrorCode::InvalidValue, std::move(text)};
}

std::string see_help(std::string_view program) {
  return fmt::format(" (see {} --help)", program);
}

bool is_small_number(std::string_view word) {
  return !word.empty() && word.size() < 6 && word.find_first_not_of("0123456789") == std::string_view::npos;
}

class WordReader {
 public:
  WordReader(std::span<const ProgramOption> options, std::span<const char* const> words,
             std::string_view program)
      : options_(options), words_(words), program_(program) {}

  Result<Arguments> run() {
    for (bool names_only = false; next_ < words_.size();) {
      const std::string_view word = words_[next_++];
      if (names_only || word.size() < 2 || word.front() != '-')
        arguments_.operands.emplace_back(word);
      else if (word == "--")
        names_only = true;
      else
        H5_TRY(word.starts_with("--") ? read_long(word) : read_letters(word));
    }
    return std::move(arguments_);
  }

 private:
  Status read_long(std::string_view word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const ProgramOption* const option = find_program_option(options_, name);
    if (option == nullptr) return note_unknown(std::string(word));
    if (equals == word.size()) return store_next(*option, name);
    if (option->takes == Takes::Nothing)
      return fail(bad_word(fmt::format("{} takes no value{}", name, see_help(program_))));
    return store(*option, name, word.substr(equals + 1));
  }

  // -fs, -ouid=5, -C0
  Status read_letters(std::string_view word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      const std::string name = {'-', word[at]};
      const std::string_view rest = word.substr(at + 1);
      const ProgramOption* const option = find_program_option(options_, name);
      if (option == nullptr) return note_unknown("-" + std::string(word.substr(at)));
      const bool number = option->takes == Takes::Number && at == 1 && is_small_number(rest);
      if (!rest.empty() && (takes_word(*option) || number)) return store(*option, name, rest);
      if (word.size() == 2 || takes_word(*option)) return store_next(*option, name);
      H5_TRY(store(*option, name, ""));
    }
    return {};
  }

  // Whether a value is always there.
  static bool takes_word(const ProgramOption& option) {
    return option.takes == Takes::Value || option.takes == Takes::Values;
  }

  // The value, if it takes one, is the next word.
  Status store_next(const ProgramOption& option, std::string_view name) {
    const bool left = next_ < words_.size();
    const bool number = option.takes == Takes::Number && left && is_small_number(words_[next_]);
    if (!number && !takes_word(option)) return store(option, name, "");
    if (left) return store(option, name, words_[next_++]);
    return fail(bad_word(name == "-o"
                             ? "-o needs options after it: -o NAME[=VALUE],…"
                             : fmt::format("{} needs a value after it{}", name, see_help(program_))));
  }

  Status store(const ProgramOption& option, std::string_view name, std::string_view value) {
    if (option.takes == Takes::Value &&
        std::ranges::find(arguments_.given, &option) != arguments_.given.end())
      return fail(bad_word(fmt::format("{} is given twice{}", name, see_help(program_))));
    arguments_.given.push_back(&option);
    return option.store(arguments_, value);
  }

  Status note_unknown(std::string word) {
    if (arguments_.unknown.empty()) arguments_.unknown = std::move(word);
    return {};
  }

  const std::span<const ProgramOption> options_;
  const std::span<const char* const> words_;
  const std::string_view program_;
  std::size_t next_ = 1;
  Arguments arguments_;
};

// The error for a word that begins with '-' and is not an option; often it is a mount option.
Error unknown_word(std::span<const ProgramOption> options, const std::string& word,
                   std::string_view program) {
  const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const std::string bare = name.substr(0, name.find('='));
  const std::string shown = "unknown option " + escape_for_log(word);
  if (bare.size() < 2) return bad_word(shown + see_help(program));
  std::vector<std::string_view> names;
  for (const ProgramOption& option : options)
    if (!option.name.empty()) names.push_back(option.name);
  const std::string_view meant = suggestion(bare, names);
  if (!meant.empty()) return bad_word(fmt::format("{}: did you mean {}?", shown, meant));
  const std::string of_mount = meant_option(bare);
  return bad_word(of_mount.empty()
                      ? shown + see_help(program)
                      : fmt::format("{}: options of the mount follow -o: -o {}", shown, of_mount));
}

}  // namespace

Result<Arguments> read_words(std::span<const ProgramOption> options, int count, const char* const* words,
                             std::string_view program) {
  return WordReader(options, {words, static_cast<std::size_t>(count)}, program).run();
}

Status check_words(std::span<const ProgramOption> options, const Arguments& arguments, unsigned command,
                   std::string_view program) {
  if (!arguments.unknown.empty()) return fail(unknown_word(options, arguments.unknown, program));
  for (const ProgramOption* option : arguments.given)
    if ((option->commands & command) == 0)
      return fail(bad_word(
          fmt::format("{} is an option of another command{}", names_of(*option), see_help(program))));
  return {};
}

const ProgramOption* find_program_option(std::span<const ProgramOption> options, std::string_view name) {
  const bool letter = name.size() == 2 && name.front() == '-';
  const auto found = std::ranges::find_if(options, [&](const ProgramOption& option) {
    return letter ? option.letters.contains(name[1]) : !name.empty() && option.name == name;
  });
  return found == options.end() ? nullptr : &*found;
}

std::string names_of(const ProgramOption& option) {
  std::string out;
  for (const char letter : option.letters) out += fmt::format("{}-{}", out.empty() ? "" : ", ", letter);
  if (!option.name.empty()) out += fmt::format("{}{}", out.empty() ? "" : ", ", option.name);
  return out;
}

std::string option_lines(std::span<const ProgramOption> options, std::size_t width) {
  std::string out;
  for (const ProgramOption& option : options) {
    if (option.about.empty()) continue;
    const bool joined = option.form.empty() || option.form.find('=') < 2;
    const std::string names = names_of(option) + (joined ? "" : " ") + std::string(option.form);
    out += fmt::format("  {:<{}} {}\n", names, width, option.about);
  }
  return out;
}

}  // namespace h5mount::cli

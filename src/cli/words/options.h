// The options of a program: a table has a line for each, which says how it is given, which commands have it,
// what --help tells of it, and where its value goes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "h5mount/base/error.h"

namespace h5mount::cli {

struct ProgramOption;

// The parts of a command line.
struct Arguments {
  std::vector<std::string> operands;        // the words that are no options, and all after "--"
  std::vector<const ProgramOption*> given;  // in their order
  std::string unknown;                      // the first word that looks like an option and is none
  std::vector<std::string> of_mounts;       // the texts after -o
  bool help = false, version = false;
  std::string help_about;  // --help=NAME
  bool serves = false;
  unsigned fronts = 0;  // the commands without a mount that were named, as bits
  std::string listen;
  bool sloppy = false, verbose = false;  // of mount(8)
  std::string name_space;
  bool ignored = false;  // options that change nothing
  std::string unused;
  MountCommand mount;
  UnmountCommand unmount;
  FrontCommand front;
  ServeCommand serve;
  FsckCommand fsck;
};

enum class Takes : std::uint8_t {
  Nothing,
  Value,   // --name=VALUE, --name VALUE, -nVALUE, -n VALUE
  Values,  // the same, which may be repeated
  Maybe,   // --name, --name=VALUE
  Number,  // -n, -n5, -n 5
};

struct ProgramOption {
  std::string_view letters;  // "f": -f; any of them
  std::string_view name;     // "--foreground"; empty: it has letters only
  Takes takes = Takes::Nothing;
  unsigned commands = 0;   // those that have it: bits, which mean something to the program
  std::string_view form;   // what follows it, for people: "=FILE"
  std::string_view about;  // one line of --help; empty: it has none
  Status (*store)(Arguments& arguments, std::string_view value) = nullptr;
  std::string_view more = {};  // the rest, for --help=NAME
};

// Stores in a member of `Arguments`, or in a member of a part of it.
template <auto... Path>
Status set(Arguments& arguments, std::string_view value) {
  auto& to = (arguments.*....*Path);
  if constexpr (std::is_same_v<decltype(to), bool&>)
    to = true;
  else if constexpr (std::is_same_v<decltype(to), std::vector<std::string>&>)
    to.emplace_back(value);
  else
    to = value;
  return {};
}

// Reads the words after the program's name. A word that is no option fails nothing yet, so that --help beside
// it helps. `program`: the one whose --help tells more.
Result<Arguments> read_words(std::span<const ProgramOption> options, int count, const char* const* words,
                             std::string_view program = "h5mount");
// Fails if there was an unknown word, or an option of another command than this one (a bit).
Status check_words(std::span<const ProgramOption> options, const Arguments& arguments, unsigned command,
                   std::string_view program = "h5mount");

// The option of this name (`--list`, or a letter, `-l`); null: there is none.
const ProgramOption* find_program_option(std::span<const ProgramOption> options, std::string_view name);
// "-f, --foreground"
std::string names_of(const ProgramOption& option);
// A line for each option of which the table tells something.
std::string option_lines(std::span<const ProgramOption> options, std::size_t width);

// The commands, as bits of ProgramOption::commands: those without a mount in the order of FrontCommand::Kind.
inline constexpr unsigned kMount = 1U << 0, kServe = 1U << 1, kAnyCommand = ~0U;
constexpr unsigned bit_of(FrontCommand::Kind kind) {
  return 1U << (2U + static_cast<unsigned>(kind));
}

// The options of h5mount. First those with a letter, then the commands and what belongs to them.
std::span<const ProgramOption> program_options();

}  // namespace h5mount::cli

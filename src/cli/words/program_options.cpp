#include <fmt/format.h>

#include "h5mount/base/log.h"
#include "h5mount/base/text.h"
#include "options.h"

namespace h5mount::cli {
namespace {

using Kind = FrontCommand::Kind;

template <FrontCommand::Kind kKind>
Status choose(Arguments& arguments, std::string_view) {
  arguments.front.kind = kKind;
  arguments.fronts |= bit_of(kKind);
  return {};
}

Status ask_help(Arguments& arguments, std::string_view about) {
  arguments.help = true;
  arguments.help_about = about;
  return {};
}

Status ask_to_serve(Arguments& arguments, std::string_view listen) {
  arguments.serves = true;
  arguments.listen = listen;
  return {};
}

// ps shows the words of a command line to all users, so the token is not repeated in the message either.
Status ask_for_token(Arguments& arguments, std::string_view value) {
  arguments.serve.makes_token = true;
  if (value.empty()) return {};
  return fail({ErrorCode::InvalidValue,
               "--token takes no value, which other users would see: --token-file=FILE reads one"});
}

template <double front::Tolerance::* kBound>
Status set_tolerance(Arguments& arguments, std::string_view value) {
  const auto number = parse_whole<double>(value);
  // Written so that NaN is refused too.
  if (!number || !(*number >= 0)) {
    const std::string_view name = kBound == &front::Tolerance::absolute ? "--abs" : "--rel";
    return fail({ErrorCode::InvalidValue, fmt::format("{}={}: a number is expected, which is not below 0",
                                                      name, escape_for_log(value))});
  }
  arguments.front.diff.tolerance.*kBound = *number;
  return {};
}

// An empty one, as of a variable that is not set, would be the root with all that there is.
Status add_ignored(Arguments& arguments, std::string_view value) {
  if (value.empty()) return fail({ErrorCode::InvalidValue, "--ignore=: a PATH or PATH@NAME is expected"});
  arguments.front.diff.ignored.emplace_back(value);
  return {};
}

Status set_first(Arguments& arguments, std::string_view value) {
  constexpr std::uint64_t kMost = 1'000'000;  // they are held in memory
  const auto number = parse_whole<std::uint64_t>(value);
  if (!number || *number > kMost)
    return fail({ErrorCode::InvalidValue,
                 fmt::format("--first={}: a number up to {} is expected", escape_for_log(value), kMost)});
  arguments.front.diff.first = *number;
  return {};
}

constexpr ProgramOption kProgramOptions[] = {
    {"o", "", Takes::Values, kAnyCommand, "OPT,...", "mount options, named below; may be repeated",
     set<&Arguments::of_mounts>, "--help=NAME tells what the option NAME after -o is and takes."},
    {"f", "--foreground", Takes::Nothing, kMount, "", "stay in the foreground",
     set<&Arguments::mount, &MountCommand::foreground>},
    {"d", "--debug", Takes::Nothing, kMount, "", "log every request on stderr, in the foreground",
     set<&Arguments::mount, &MountCommand::debug>},
    {"s", "--single-thread", Takes::Nothing, kMount, "", "serve on one thread",
     set<&Arguments::mount, &MountCommand::single_thread>},
    {"h", "--help", Takes::Maybe, kAnyCommand, "[=NAME]", "this text, or what the option or command NAME is",
     ask_help},
    {"V", "--version", Takes::Nothing, kAnyCommand, "", "versions of h5mount, libfuse and kernel; filters",
     set<&Arguments::version>},
    {"l", "", Takes::Nothing, bit_of(Kind::List), "", "", set<&Arguments::front, &FrontCommand::details>},
    {"R", "", Takes::Nothing, bit_of(Kind::List), "", "", set<&Arguments::front, &FrontCommand::recursive>},
    {"", "--list", Takes::Nothing, bit_of(Kind::List), "[-l] [-R] SOURCE [PATH...]",
     "names; -l more, -R all below", choose<Kind::List>,
     "-l tells what each is, -R lists all that is below, -lR with all attributes."},
    {"", "--cat", Takes::Nothing, bit_of(Kind::Cat), "SOURCE PATH...", "bytes", choose<Kind::Cat>,
     "Bytes on standard output, decoded on all processors."},
    {"", "--stat", Takes::Nothing, bit_of(Kind::Stat), "SOURCE PATH...", "a JSON line each",
     choose<Kind::Stat>, "Type, size, links and every attribute."},
    {"", "--text", Takes::Nothing, bit_of(Kind::Text), "SOURCE [PATH...]", "one text to compare files by",
     choose<Kind::Text>,
     "Structure, attributes, and of each dataset a digest and its first values: for diff, and as git's "
     "textconv."},
    {"", "--tar", Takes::Nothing, bit_of(Kind::Tar), "SOURCE [PATH...]", "a pax archive", choose<Kind::Tar>,
     "tar --xattrs -x unpacks what cp -a of a mount gives."},
    {"", "--copy", Takes::Nothing, bit_of(Kind::Copy), "[--metadata] SOURCE PATH DESTINATION", "onto disk",
     choose<Kind::Copy>, "On all processors; the same command goes on after an interruption."},
    {"", "--metadata", Takes::Nothing, bit_of(Kind::Copy), "", "",
     set<&Arguments::front, &FrontCommand::metadata>,
     "With --copy: and DESTINATION.jsonl, metadata.jsonl of the whole file, from which scripts/to_hdf5.py "
     "makes\n  an HDF5 file of a copy."},
    {"", "--diff", Takes::Nothing, bit_of(Kind::Diff),
     "[--json --abs=X --rel=X --first=N --ignore=GLOB] A B [PATH...]", "compare", choose<Kind::Diff>,
     "What a reader can tell apart of two sources, of PATH in both, or of PATH in A and PATH2 in B: names, "
     "kinds, shapes,\n  types, attributes, values. Ends with 0 where they are equal, 1 where they differ, 2 "
     "after any trouble."},
    {"", "--abs", Takes::Value, bit_of(Kind::Diff), "=X", "", set_tolerance<&front::Tolerance::absolute>,
     "With --diff: numbers are equal that differ by at most X."},
    {"", "--rel", Takes::Value, bit_of(Kind::Diff), "=X", "", set_tolerance<&front::Tolerance::relative>,
     "With --diff: numbers are equal that differ by at most X times the one in A."},
    {"", "--first", Takes::Value, bit_of(Kind::Diff), "=N", "", set_first,
     "With --diff: so many places of each dataset or attribute whose values differ are told; 10 by default."},
    {"", "--ignore", Takes::Values, bit_of(Kind::Diff), "=GLOB", "", add_ignored,
     "With --diff: PATH with all below it (* stops at /, ** does not), or PATH@NAME, an attribute (* crosses "
     "/);\n  may be repeated."},
    {"", "--json", Takes::Nothing, bit_of(Kind::Diff), "", "",
     set<&Arguments::front, &FrontCommand::diff, &front::DiffOptions::json>,
     "With --diff: the differences as one object of JSON."},
    {"", "--serve", Takes::Value, kServe, "[ADDRESS:]PORT SOURCE...", "over HTTP", ask_to_serve,
     "To this machine unless ADDRESS says more. A port is open to all users of this machine, also for a "
     "FILE that\n  only you may read: --token, or --serve unix:PATH, a socket that only you can open. Files "
     "that FILE names are\n  not served unless -o external= says so, and then only where all who may read "
     "FILE may read them too."},
    {"", "--token", Takes::Maybe, kServe, "", "with --serve: a new token, which clients show", ask_for_token,
     "It is printed with the URL."},
    {"", "--token-file", Takes::Value, kServe, "=FILE", "with --serve: a token from FILE",
     set<&Arguments::serve, &ServeCommand::token_file>, "Only you may be able to read FILE."},
    {"", "--cors", Takes::Value, kServe, "=ORIGIN", "with --serve: web pages of ORIGIN may read",
     set<&Arguments::serve, &ServeCommand::cors_origin>},
    {"", "--s3", Takes::Nothing, kServe, "", "with --serve: as buckets of Amazon S3",
     set<&Arguments::serve, &ServeCommand::s3>,
     "Each SOURCE is a bucket under its last name, for programs that read from S3 "
     "(Spark, Dask, DuckDB, Trino, Ray)."},
    {"", "--s3-key-file", Takes::Value, kServe, "=FILE", "with --s3: requests are signed",
     set<&Arguments::serve, &ServeCommand::s3_key_file>,
     "FILE has a line ACCESSKEY:SECRET; only you may be able to read it. An address other than this "
     "machine's needs it,\n  or --anonymous."},
    {"", "--s3-host", Takes::Value, kServe, "=NAME", "with --s3: buckets as BUCKET.NAME too",
     set<&Arguments::serve, &ServeCommand::s3_host>, "In paths they stand in any case."},
    {"", "--anonymous", Takes::Nothing, kServe, "", "with --s3: everybody reads, without a key",
     set<&Arguments::serve, &ServeCommand::anonymous>},
};

}  // namespace

std::span<const ProgramOption> program_options() {
  return kProgramOptions;
}

}  // namespace h5mount::cli

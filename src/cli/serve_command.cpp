#include "run_commands.h"

#include <fmt/format.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "h5mount/base/advice.h"
#include "h5mount/filter/plugins.h"
#include "h5mount/remote/url.h"
#include "h5mount/serve/server.h"
#include "h5mount/sign/sha256.h"
#include "h5mount/survive/systemd.h"
#include "mount/drop_rights.h"
#include "open/make_tree.h"
#include "open/open_source.h"
#include "serve_socket.h"
#include "serve_token.h"
#include "words/exit_codes.h"

namespace h5mount::cli {
namespace {

constexpr std::chrono::seconds kDrain{30};
constexpr std::chrono::milliseconds kDrainInterrupted{500};
constexpr std::chrono::milliseconds kDrainTick{100};

// Objects and settings that all sources share.
struct Shared {
  const MountOptions& options;
  bool open_to_all;  // everyone who can reach the port can read
  std::shared_ptr<cache::BlockCache> cache;
  std::shared_ptr<cache::WorkerPool> workers;
  std::shared_ptr<SharedCache> memory = std::make_shared<SharedCache>();
};

// Whether no later write can leave the same times as one at `modified`, in nanoseconds since 1970.
bool has_settled(std::int64_t modified) {
  constexpr std::chrono::milliseconds kSettles{50};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::nanoseconds(modified) > kSettles;
}

// The version is taken before the tree is brought up to date, so that it is never newer than what is read.
// `up_to_date`: the version that the tree was brought up to when that had settled; 0: none.
serve::SourceState state_of(tree::Tree& tree, const object::FileSet& files,
                            std::atomic<std::uint64_t>& up_to_date) {
  serve::SourceState out;
  RequestBudget budget;
  const auto file = tree.file_of(tree::kRootNode, budget);
  const bool known = file && file->has_value();
  out.current = known && !(*file)->replaced;
  if (known) {
    out.version = (*file)->version;
    out.modified = (*file)->modified;
  }
  if (!out.current || up_to_date == out.version) return out;
  const bool settled = has_settled(out.modified);
  out.current = files.main()->followed->revalidate_now().has_value();
  up_to_date = out.current && settled ? out.version : 0;
  return out;
}

// Whether other users may read what has this mode.
bool others_read(std::uint32_t mode) {
  constexpr std::uint32_t kOthersRead = 0004;
  return (mode & kOthersRead) != 0;
}

// Files that FILE names are sent only if everyone who may read FILE may read them: on an open port everyone
// reads FILE.
Status check_readers(const object::FileSet& files, const Shared& shared) {
  const auto& external = shared.options.external;
  if (!shared.open_to_all || !external || *external == object::ExternalPolicy::None ||
      others_read(files.main()->attributes.mode))
    return {};
  return fail(
      Error(ErrorCode::AccessDenied,
            "not all users may read it, but through an open port all would read the files that it names: "
            "leave external= out, or use --token or unix:PATH"));
}

Result<serve::OpenedSource> serve_files(const std::string& file, const Shared& shared,
                                        const std::shared_ptr<object::FileSet>& files) {
  H5_TRY(check_readers(*files, shared));
  const auto status = std::make_shared<MountStatus>(remote::shown_url(file), shared.cache);
  status->set_files(files);
  H5_ASSIGN(auto tree, tree::Tree::make({shared.cache, shared.workers, files, nullptr, status->counters()},
                                        tree_options(shared.options, status, FailedReads::Logged)));
  H5_TRY(tree->stat(tree::kRootNode, tree::StatDepth::Listing));
  const auto shown = [files](const tree::NodeStat& node) {
    return object::readable_by_all_readers(files->main()->attributes,
                                           {.uid = node.uid, .gid = node.gid, .mode = node.mode});
  };
  const auto state = [files, tree, up_to_date = std::make_shared<std::atomic<std::uint64_t>>(0)] {
    return state_of(*tree, *files, *up_to_date);
  };
  return serve::OpenedSource{tree, state, shown, tree->notifies_changes()};
}

// Serves many files, each as it is found. If no token is required, files that others may not read are
// refused.
serve::OpenedSource serve_many(const OpenedSources& sources, const Shared& shared) {
  const auto status = std::make_shared<MountStatus>(sources.name, shared.cache);
  auto tree = make_forest(sources, shared.options, shared.cache, shared.workers, status, FailedReads::Logged,
                          shared.open_to_all ? Readers::Any : Readers::Own);
  std::function<bool(const tree::NodeStat&)> shown;
  if (shared.open_to_all) shown = [](const tree::NodeStat& node) { return others_read(node.mode); };
  const bool local = tree->notifies_changes();
  return {std::move(tree), nullptr, std::move(shown), local};
}

// Downloads that began before a file was replaced go on with the old one. Clients are other users, as with
// allow_other, so the same rules apply to files that a file names.
MountOptions serving_options(const MountOptions& options) {
  MountOptions out = options;
  out.reload = true;
  out.allow_other = true;
  out.references.may_name_paths = false;
  // Nodes show the owners and modes of their files, which are compared.
  out.uid = out.gid = std::nullopt;
  out.file_umask = out.directory_umask = 0;
  return out;
}

// For `.` and `run/`, the name of the directory.
std::string last_name(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// Returns a code other than 0 if a source cannot be opened.
int open_all(const ServeCommand& command, const Shared& shared, std::vector<serve::SourceToServe>& out) {
  for (const std::string& path : command.sources.paths) {
    const auto sources = open_sources({{path}}, shared.options, salvage_use(shared.options), shared.memory);
    if (!sources)
      return print_error(remote::shown_url(path), sources.error().text(), exit_code_of(sources.error()));
    const std::string name = last_name(remote::shown_url(path));
    if (sources->many) {
      const auto opened = serve_many(*sources, shared);
      out.push_back({name, [opened]() -> Result<serve::OpenedSource> { return opened; }, opened});
      continue;
    }
    auto opened = serve_files(path, shared, sources->files);
    if (!opened) return print_error(remote::shown_url(path), opened.error().text(), kExitBadFile);
    const auto again = [path, shared]() -> Result<serve::OpenedSource> {
      H5_ASSIGN(const auto anew, open_source(path, shared.options, shared.memory));
      return serve_files(path, shared, anew);
    };
    out.push_back({name, again, *std::move(opened)});
  }
  return 0;
}

// Lines of answers do not go to the log that /.h5/log shows: they would displace its messages.
void print_answer(const std::string& line) {
  std::fprintf(stderr, "h5mount: %s\n", line.c_str());
}

Result<std::string> token_of(const ServeCommand& command) {
  if (command.makes_token) return make_token();
  return command.token_file.empty() ? Result<std::string>(std::string()) : read_token(command.token_file);
}

// How buckets are served; nullopt: pages and listings are served instead.
Result<std::optional<serve::S3Options>> s3_options_of(const ServeCommand& command) {
  if (!command.s3) return std::nullopt;
  serve::S3Options out{.anonymous = command.anonymous, .host = command.s3_host};
  if (!command.s3_key_file.empty()) {
    H5_ASSIGN(out.key, read_s3_key(command.s3_key_file));
    if (!sign::has_sha256())
      return fail(
          Error(ErrorCode::UnsupportedFeature, "this h5mount has no libcrypto, which --s3-key-file needs"));
  }
  return out;
}

constexpr std::array<int, 4> kEndings = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};

// Blocks the signals before threads are started, so that only run_serve takes them. If SIGHUP is ignored
// (nohup), it stays ignored.
sigset_t block_endings() {
  sigset_t out;
  sigemptyset(&out);
  for (const int signal : kEndings) {
    struct sigaction action = {};
    const bool ignored = ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (signal == SIGHUP && ignored) continue;
    if (ignored) ::signal(signal, SIG_DFL);
    sigaddset(&out, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &out, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return out;
}

// Waits until all answers that were begun are sent; returns whether they are. A second signal ends the wait.
// A server in whose place another one goes on waits for as long as its clients take what it sends; a second
// signal is then as a first one is otherwise.
bool drain(serve::Server& server, int signal, bool replaced, const sigset_t& endings) {
  const auto end_after = [](int of) {
    const auto patience = of == SIGTERM ? std::chrono::milliseconds(kDrain) : kDrainInterrupted;
    return std::chrono::steady_clock::now() + patience;
  };
  const auto how = [&] {
    return signal == SIGTERM ? serve::Server::Ending::Gently : serve::Server::Ending::AtOnce;
  };
  const timespec none = {};
  auto end = end_after(signal);
  while (!server.drain(kDrainTick, how())) {
    const int second = ::sigtimedwait(&endings, nullptr, &none);
    if (replaced && second > 0) {
      signal = second;
      end = end_after(signal);
      replaced = false;
    } else if (!replaced && (second > 0 || std::chrono::steady_clock::now() >= end)) {
      return false;
    }
  }
  return true;
}

// Takes the socket that others made: a keeper's, or systemd's. `first`: whether no server has answered on it
// before.
Status take_socket(const std::optional<survive::KeeperLink>& keeper, serve::ServerOptions& options,
                   bool& first) {
  if (!keeper) return take_handed_socket(options);
  H5_ASSIGN(const survive::KeeperLink::Socket socket, keeper->receive_socket());
  options.handed_socket = socket.descriptor;
  first = socket.first;
  return {};
}

}  // namespace

int run_serve(const ServeCommand& command, const std::optional<survive::KeeperLink>& keeper) {
  const LogLevel level = command.options.log_level.value_or(LogLevel::Warning);
  set_log_level(level);
  set_salvage_mode(command.options.salvage);
  if (!serve::can_serve())
    return print_error(
        "",
        "this h5mount was built without libmicrohttpd, which --serve needs: install its headers and "
        "build again",
        kExitUsage);
  const sigset_t endings = block_endings();
  const MountOptions options = serving_options(command.options);
  const auto token = token_of(command);
  if (!token) return print_error("", token.error().text(), kExitUsage);
  auto s3 = s3_options_of(command);
  if (!s3) return print_error("", s3.error().text(), kExitUsage);
  serve::ServerOptions server_options = place_of(command);
  bool first = true;
  if (const Status taken = take_socket(keeper, server_options, first); !taken)
    return print_error("", taken.error().text(), kExitUsage);
  const bool has_key = !token->empty() || (*s3 && (*s3)->key);
  const bool open_to_all = !has_key && is_open_place(server_options);
  const Shared shared{options, open_to_all, make_cache(options), make_workers(options)};
  filter::use_filter_plugins({.directories = options.plugins});
  std::vector<serve::SourceToServe> sources;
  // While files are opened, which starts no threads, a signal ends the program as usual.
  ::pthread_sigmask(SIG_UNBLOCK, &endings, nullptr);
  const int code = open_all(command, shared, sources);
  ::pthread_sigmask(SIG_BLOCK, &endings, nullptr);
  if (code != 0) return code;
  server_options.memory = shared.cache;
  server_options.token = *token;
  server_options.s3 = *std::move(s3);
  server_options.cors_origin = command.cors_origin;
  if (level >= LogLevel::Info) server_options.log_answer = print_answer;
  auto server = serve::Server::start(server_options, std::move(sources));
  if (!server) return print_error("", server.error().text(), kExitUsage);
  if (options.plugins.empty()) refuse_calls(command.sources.far());
  // Whoever reads the address may count on the keeper.
  if (keeper && !keeper->tell_ready()) return kExitMountFailed;
  if (!keeper) survive::notify_systemd("READY=1");
  if (first) fmt::print("{}{}\n", (*server)->url(), command.makes_token ? "?token=" + *token : "");
  std::fflush(stdout);
  int signal = 0;
  while (::sigwait(&endings, &signal) != 0) {
  }
  const bool replaced = signal == SIGTERM && keeper && keeper->is_replaced();
  if (drain(**server, signal, replaced, endings)) return 0;
  print_error("", "ended before all answers were sent");
  std::_Exit(kExitPartial);
}

}  // namespace h5mount::cli

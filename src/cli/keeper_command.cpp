#include "run_commands.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "mount/background.h"
#include "mount/force_unmount.h"
#include "mount/made_mountpoint.h"
#include "serve_socket.h"
#include "words/exit_codes.h"

namespace h5mount::cli {
namespace {

// Refuses a command that a successor could not repeat.
Status check_repeatable(const MountOptions& options, bool makes_token, survive::OwnWords own) {
  const auto refuse = [](std::string text) { return fail(Error(ErrorCode::InvalidValue, std::move(text))); };
  if (std::ranges::find(options.for_libfuse, "auto_unmount") != options.for_libfuse.end())
    return refuse("auto_unmount ends the mount with its server, and survive does not: leave one of them out");
  if (makes_token)
    return refuse("--token makes another token in every server (survive): --token-file=FILE names one");
  for (int i = 1; i < own.count; ++i) {
    const std::string_view word = own.words[i];
    if (word == "@-" || word.find("/dev/fd/") != word.npos || word.find("/proc/self/fd/") != word.npos)
      return refuse(std::string(word) + " cannot be opened again by another server (survive): name a file");
  }
  return {};
}

}  // namespace

int run_keeper(const MountCommand& command, survive::OwnWords own) {
  const auto refuse = [&](const Error& error) {
    return print_error(command.mountpoint, error.text(), kExitMountFailed);
  };
  if (const Status repeatable = check_repeatable(command.options, false, own); !repeatable)
    return print_error("", repeatable.error().text(), kExitUsage);
  auto held = survive::hold_mount();
  if (!held) return refuse(held.error());
  MadeMountpoint made;  // outlives the mount
  if (command.makes_mountpoint && !held->device) {
    auto place = MadeMountpoint::make(command.mountpoint);
    if (!place) return refuse(place.error());
    made = *std::move(place);
  }
  std::optional<Background> background;
  if (!command.foreground) {
    auto forked = Background::fork_process();
    if (!forked) return refuse(forked.error());
    background = *std::move(forked);
  }
  return survive::run_keeper({.name = command.mountpoint,
                              .serve_within = command.options.patience,
                              .failure = kExitMountFailed,
                              .on_ready = [&] { return !background || background->ready(); },
                              .unmount = [&] { detach_mount(command.mountpoint); }},
                             *std::move(held), own);
}

int run_keeper(const ServeCommand& command, survive::OwnWords own) {
  Status done = check_repeatable(command.options, command.makes_token, own);
  serve::ServerOptions place = place_of(command);
  if (done) done = take_handed_socket(place);
  auto listener = done ? serve::listen_at(place) : Result<serve::Listener>(fail(done.error()));
  if (!listener) return print_error("", listener.error().text(), kExitUsage);
  survive::HeldDescriptors held;
  held.socket = std::move(listener->socket);
  // `listener` removes the socket's file at the end.
  return survive::run_keeper(
      {.name = listener->url, .serve_within = command.options.patience, .failure = kExitMountFailed},
      std::move(held), own);
}

}  // namespace h5mount::cli

#include "h5mount/fuse/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <thread>

#include "../listings/directory_listings.h"
#include "../loop/serving_loop.h"
#include "../loop/wait_choice.h"
#include "../ops/adapter.h"
#include "change_watch.h"
#include "fusermount.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"
#include "kernel_notifier.h"
#include "mount_answers.h"
#include "mount_trouble.h"
#include "stop_request.h"

namespace h5mount::fuse {
namespace {

constexpr unsigned kFewestWorkers = 32;

// libfuse splits options at commas and takes a backslash as an escape.
std::string escape_option(const std::string& value) {
  std::string out;
  for (const char c : value) {
    if (c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> session_arguments(const SessionOptions& options) {
  std::vector<std::string> arguments{"h5mount"};
  const auto option = [&arguments](std::string text) {
    arguments.emplace_back("-o");
    arguments.push_back(std::move(text));
  };
  // Given as mount flags, so that the kernel returns EROFS without a request and does not update access
  // times.
  option("ro,nosuid,nodev");
  if (options.check_permissions) option("default_permissions");
  option("fsname=" + escape_option(options.source));
  option("subtype=" + escape_option(options.subtype));
  if (options.max_read != 0) option("max_read=" + std::to_string(options.max_read));
  for (const std::string& text : options.mount_options) option(escape_option(text));
  if (options.debug) arguments.emplace_back("-d");
  return arguments;
}

// The same options for fusermount3.
std::string helper_options(const SessionOptions& options) {
  std::string out;
  const std::vector<std::string> words = session_arguments(options);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i - 1] == "-o") out += (out.empty() ? "" : ",") + words[i];
  }
  return out;
}

// Whether the system lets this process start as many threads as a mount needs, and a process to unmount it. A
// user who can start none could not take the mount down.
Status check_threads() {
  constexpr std::size_t kNeeded = 10;
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::thread> threads;
  Status out;
  try {
    threads.reserve(kNeeded);
    for (std::size_t i = 0; i < kNeeded; ++i)
      threads.push_back(start_thread("h5-check", [ended] { ended.wait(); }));
  } catch (const std::exception& error) {  // no thread, or no memory for one
    out = fail({ErrorCode::Io,
                fmt::format("the system allows {} of {} threads that a mount needs (ulimit -u, pids.max): {}",
                            threads.size(), kNeeded, error.what())});
  }
  end.set_value();
  for (std::thread& thread : threads) thread.join();
  return out;
}

// The channel of the kernel's requests.
class SessionChannel final : public RequestChannel {
 public:
  // `handover`: may be null.
  SessionChannel(fuse_session* session, Handover* handover) : session_(session), handover_(handover) {}

  int receive(fuse_buf& buffer) override { return fuse_session_receive_buf(session_, &buffer); }
  bool ready() const override {
    pollfd device{.fd = fuse_session_fd(session_), .events = POLLIN, .revents = 0};
    return ::poll(&device, 1, 0) != 0;
  }
  void process(const fuse_buf& buffer) noexcept override {
    process_request(buffer);
    if (!first_.load(std::memory_order_relaxed)) return;
    // libfuse ends the session if it could not agree with the kernel on the first request.
    const bool ended = fuse_session_exited(session_) != 0;
    if (ended && !stopped_) failed_ = true;
    answered_ = !ended;
    release_waiting();
  }
  bool ended() const override { return fuse_session_exited(session_) != 0; }
  pid_t client_of(const fuse_buf& buffer) const override {
    const auto* const header = static_cast<const fuse_in_header*>(buffer.mem);
    if (buffer.size < sizeof *header) return 0;
    switch (header->opcode) {
      case FUSE_FORGET:  // made by the kernel when it likes
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
      case FUSE_RELEASE:
      case FUSE_RELEASEDIR:
        return WaitChoice::kNobody;
      default:
        return static_cast<pid_t>(header->pid);
    }
  }

  // May be called from any thread.
  void stop() {
    stopped_ = true;
    fuse_session_exit(session_);
  }
  bool failed() const { return failed_; }

  // Waits for the first answer; returns false if the session ended before.
  bool await_first() const {
    first_.wait(true);
    return answered_;
  }
  void release_waiting() {
    first_ = false;
    first_.notify_all();
  }

 private:
  void process_request(const fuse_buf& buffer) noexcept {
    if (handover_ == nullptr) return fuse_session_process_buf(session_, &buffer);
    const auto header = *static_cast<const fuse_in_header*>(buffer.mem);
    fuse_session_process_buf(session_, &buffer);
    handover_->processed(header.unique, header.opcode);
  }

  fuse_session* session_;
  Handover* handover_;
  std::atomic<bool> first_ = true, answered_ = false, stopped_ = false, failed_ = false;
};

class FuseSession final : public Session {
 public:
  FuseSession(std::shared_ptr<tree::Tree> tree, SessionOptions options)
      : adapter_{.tree = std::move(tree),
                 .options = std::move(options),
                 .kernel = nullptr,
                 .handles = OpenHandles(adapter_.options.handover.get()),
                 .xattr_answers = {},
                 .listing_advice = {},
                 .listings = std::make_shared<DirectoryListings>(),
                 .requests = {}},
        stop_request_(adapter_.options.handle_signals) {}

  ~FuseSession() override {
    end_mount();
    if (session_ != nullptr) fuse_session_destroy(session_);
  }

  Status begin();
  int serve(std::function<void()> on_ready) override;
  void stop() override;

 private:
  Error mount_error(const std::string& said) const;
  struct Helpers;
  void start(Helpers& helpers, SessionChannel& channel, ServingLoop& loop,
             const std::function<void()>& on_ready);
  Status mount(CaughtMessages& messages);
  Status hand_over(int device);
  void announce(const std::function<void()>& on_ready, const SessionChannel& channel) const;
  void end_mount();

  Adapter adapter_;
  fuse_session* session_ = nullptr;
  bool mounted_ = false;
  FusermountMount fusermount_;
  StopRequest stop_request_;
};

Error FuseSession::mount_error(const std::string& said) const {
  const std::string& place = adapter_.options.mountpoint;
  return {ErrorCode::Io, "cannot mount on " + place + (said.empty() ? "" : ": " + with_cure(said))};
}

Status FuseSession::begin() {
  Handover* const handover = adapter_.options.handover.get();
  const bool goes_on = handover != nullptr && handover->goes_on();
  if (!goes_on) H5_TRY(check_mountpoint(adapter_.options.mountpoint));
  H5_TRY(check_threads());
  if (handover != nullptr) adapter_.tree = handover->adopt(std::move(adapter_.tree));
  std::vector<std::string> words = session_arguments(adapter_.options);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());
  CaughtMessages messages;
  session_ = fuse_session_new(&arguments, &operations(), sizeof(fuse_lowlevel_ops), &adapter_);
  fuse_opt_free_args(&arguments);
  if (session_ == nullptr) return fail(mount_error(messages.finish()));
  H5_TRY(goes_on ? hand_over(handover->take_device().release()) : mount(messages));
  mounted_ = handover == nullptr;
  messages.finish();
  log_libfuse_messages();
  return {};
}

// libfuse runs fusermount3 if mount(2) is refused, but not if there is no /dev/fuse.
Status FuseSession::mount(CaughtMessages& messages) {
  std::string place = adapter_.options.mountpoint;
  const auto handed = handed_descriptor(place);
  if (handed) ::fcntl(*handed, F_SETFD, FD_CLOEXEC);
  if (const Status device = handed ? Status{} : check_device(); !device) {
    const auto program = find_fusermount();
    if (!program || adapter_.options.handover) return device;  // its child unmounts at this process's end
    if (const Status asked = fusermount_.begin(*program, place, helper_options(adapter_.options)); !asked) {
      const std::string said = messages.finish();
      return fail(Error(ErrorCode::Io, fmt::format("{}; {}{}", device.error().text(), asked.error().text(),
                                                   said.empty() ? "" : ": " + said)));
    }
    place = fmt::format("/dev/fd/{}", fusermount_.take_descriptor());
  }
  if (fuse_session_mount(session_, place.c_str()) != 0) return fail(mount_error(messages.finish()));
  return adapter_.options.handover ? hand_over(fuse_session_fd(session_)) : Status{};
}

// From now on requests and answers go through the handover.
Status FuseSession::hand_over(int device) {
  fuse_custom_io through = {};
  through.read = [](int fd, void* buffer, std::size_t length, void* adapter) {
    return static_cast<Adapter*>(adapter)->options.handover->read(fd, buffer, length);
  };
  through.writev = [](int fd, iovec* parts, int count, void* adapter) {
    return static_cast<Adapter*>(adapter)->options.handover->answer(fd, parts, count);
  };
  if (fuse_session_custom_io(session_, &through, device) != 0)
    return fail({ErrorCode::Io, "libfuse does not take the device that another process mounted"});
  return adapter_.options.handover->begin(device, [this](std::span<std::byte> request) {
    fuse_buf buffer = {};
    buffer.size = request.size();
    buffer.mem = request.data();
    fuse_session_process_buf(session_, &buffer);
    return fuse_session_exited(session_) == 0;
  });
}

// A stat that returns proves that the mount answers; a new read-ahead must not be set earlier.
void FuseSession::announce(const std::function<void()>& on_ready, const SessionChannel& channel) const {
  const std::string& place = adapter_.options.mountpoint;
  if (handed_descriptor(place)) {
    if (channel.await_first() && on_ready) on_ready();
    return;
  }
  if (!mount_answers(place, fuse_session_fd(session_))) return;
  if (const auto device = device_of_mount(place)) raise_read_ahead(*device);
  if (on_ready) on_ready();
}

// The threads besides those of the loop.
struct FuseSession::Helpers {
  std::thread announcer;
  std::shared_ptr<KernelNotifier> notifier;
  std::optional<ChangeWatch> watch;
};

// Throws if the system refuses a thread, a descriptor or memory.
void FuseSession::start(Helpers& helpers, SessionChannel& channel, ServingLoop& loop,
                        const std::function<void()>& on_ready) {
  helpers.notifier = std::make_shared<KernelNotifier>(session_);
  adapter_.kernel = helpers.notifier;
  adapter_.tree->set_kernel(helpers.notifier);
  helpers.watch.emplace(adapter_.tree);
  adapter_.opens_directories = !(adapter_.tree->notifies_changes() && helpers.watch->watches());
  adapter_.requests.start();
  // The notifier's running writes may wait for reads of the same pages, so it is stopped while requests are
  // still answered.
  stop_request_.begin(
      [this, &channel, &loop, notifier = helpers.notifier] {
        if (adapter_.options.on_stop) adapter_.options.on_stop();
        notifier->stop([&channel, &loop] {
          channel.stop();
          loop.interrupt();
        });
      },
      [&loop] { loop.interrupt(); });
  helpers.announcer =
      start_thread("h5-announce", [this, &on_ready, &channel] { announce(on_ready, channel); });
}

int FuseSession::serve(std::function<void()> on_ready) {
  Helpers helpers;
  SessionChannel channel(session_, adapter_.options.handover.get());
  const unsigned threads =
      adapter_.options.single_thread ? 1 : std::max(adapter_.options.workers, kFewestWorkers);
  const ServingLoop::Options loop_options{.max_threads = threads,
                                          .wake_signal = StopRequest::wake_signal(),
                                          .on_end = adapter_.options.on_disconnect};
  ServingLoop loop(channel, loop_options);
  int result = 0;
  try {
    start(helpers, channel, loop, on_ready);
    result = loop.run();
  } catch (const std::exception& error) {
    log(LogLevel::Error, "the mount cannot be served: {}", error.what());
    result = -EAGAIN;
  }
  adapter_.requests.stop();
  stop_request_.end();
  helpers.watch.reset();
  adapter_.tree->set_kernel(nullptr);
  // After an unmount the connection is dead, so no write waits.
  if (helpers.notifier) helpers.notifier->stop();
  channel.release_waiting();
  end_mount();  // closes the descriptor, which must not be in use; the announcer's wait ends
  if (helpers.announcer.joinable()) helpers.announcer.join();
  return channel.failed() ? -EPROTO : std::min(result, 0);
}

void FuseSession::stop() {
  stop_request_.ask();
}

void FuseSession::end_mount() {
  if (!std::exchange(mounted_, false)) return;
  fuse_session_unmount(session_);
  if (!fusermount_.mounted() && !handed_descriptor(adapter_.options.mountpoint)) return;
  fuse_session_destroy(std::exchange(session_, nullptr));  // libfuse has only now closed the descriptor
  fusermount_.end();
}

}  // namespace

// A kernel tells its protocol only to a mount; of the two versions, libfuse's and the kernel's, the smaller
// one is used.
std::string library_version() {
  struct utsname system = {};
  ::uname(&system);
  return fmt::format("libfuse {}, kernel {}, FUSE protocol {}.{} at most", fuse_pkgversion(), system.release,
                     FUSE_KERNEL_VERSION, FUSE_KERNEL_MINOR_VERSION);
}

Result<std::unique_ptr<Session>> Session::mount(std::shared_ptr<tree::Tree> tree, SessionOptions options) {
  auto session = std::make_unique<FuseSession>(std::move(tree), std::move(options));
  H5_TRY(session->begin());
  return session;
}

}  // namespace h5mount::fuse

#include "h5mount/survive/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "h5mount/base/descriptor_message.h"
#include "h5mount/base/log.h"
#include "h5mount/survive/systemd.h"
#include "surviving_mount.h"

namespace h5mount::survive {
namespace {

using Clock = std::chrono::steady_clock;

// The messages between keepers and their servers, each a datagram with descriptors.
// To a server: `Begin`, with the memory and, if there is one, the device, or with the socket, and `Replaced`
// where the SIGTERM that follows makes room for the next server. From a server: the others.
enum class KeeperWord : char { Begin = 'B', Mounted = 'M', Ready = 'R', Replaced = 'N' };

struct KeeperMessage {
  KeeperWord word = KeeperWord::Begin;
  unsigned char detail = 0;  // of Begin: EndCause; with --serve, whether a server has answered before
  std::vector<UniqueFd> descriptors;
};

bool send_message(int socket, KeeperWord word, unsigned char detail = 0,
                  const std::vector<int>& descriptors = {}) {
  const std::array<char, 2> text{static_cast<char>(word), static_cast<char>(detail)};
  return send_with_descriptors(socket, {text.data(), text.size()}, descriptors);
}

// Returns nullopt if the other process has ended.
std::optional<KeeperMessage> receive_message(int socket) {
  DescriptorMessage got = receive_with_descriptors(socket, 2);
  if (got.bytes.size() != 2) return std::nullopt;
  return KeeperMessage{static_cast<KeeperWord>(got.bytes[0]), static_cast<unsigned char>(got.bytes[1]),
                       std::move(got.descriptors)};
}

constexpr const char* kOwnProgram = "/proc/self/exe";  // even if another one is installed by now
constexpr std::string_view kPrefix = "kept:";
constexpr const char* kDeviceName = "h5mount-device";
constexpr const char* kMemoryName = "h5mount-memory";
constexpr int kServersSocket = 3;
constexpr unsigned kMaxFailures = 5;  // servers that end before they serve, one after another
// A server that lived for a shorter time is not replaced at once.
constexpr std::chrono::milliseconds kShortLife{100};

constexpr std::array kEnding{SIGINT, SIGTERM, SIGQUIT, SIGHUP};

std::vector<std::string> copy_words(OwnWords own) {
  std::vector<std::string> out(own.words, own.words + own.count);
  out.front().insert(0, kPrefix);
  return out;
}

// Renames this process, so that killing every process with the mount point on its command line hits only the
// server.
void take_other_name(OwnWords own) {
  constexpr std::string_view kName = "h5mount-keeper";
  char* const begin = own.words[0];
  char* const last = own.words[own.count - 1];
  const auto bytes = static_cast<std::size_t>(last - begin) + std::strlen(last);
  std::memset(begin, 0, bytes);
  std::memcpy(begin, kName.data(), std::min(kName.size(), bytes));
  ::prctl(PR_SET_NAME, kName.data());
}

std::string installed_program() {
  constexpr std::string_view kDeleted = " (deleted)";
  std::error_code none;
  std::string out = std::filesystem::read_symlink(kOwnProgram, none).string();
  if (out.ends_with(kDeleted)) out.resize(out.size() - kDeleted.size());
  return out.empty() ? kOwnProgram : out;
}

bool is_connected(int device) {
  pollfd what{.fd = device, .events = 0, .revents = 0};
  return ::poll(&what, 1, 0) >= 0 && (what.revents & POLLERR) == 0;
}

class Keeper {
 public:
  Keeper(KeeperOptions options, HeldDescriptors held, OwnWords own)
      : options_(std::move(options)),
        words_(copy_words(own)),
        directory_(std::filesystem::current_path()),
        installed_(installed_program()),
        memory_(std::move(held.memory)),
        listening_(std::move(held.socket)),
        device_(std::move(held.device)),
        ever_ready_(device_) {}

  int run();

 private:
  struct Ended {
    bool by_signal = false;
    int number = 0;
  };

  Status take_signals();
  Status start(EndCause cause);
  [[noreturn]] void become_server(int socket) const;
  void take_messages();
  void take_signal(int number);
  int wait_at_most();
  bool await_server(Ended& ended);
  std::optional<int> go_on(const Ended& ended);
  std::optional<int> again(EndCause cause);
  int finish(int code);
  void store(const char* name, int descriptor) const;

  bool is_to_pass_on() const { return listening_ && replacing_ && ready_; }
  std::optional<int> pass_on();
  void reap_passed();

  const KeeperOptions options_;
  const std::vector<std::string> words_;
  const std::string directory_, installed_;
  const UniqueFd memory_, listening_;
  UniqueFd device_;
  std::vector<pid_t> passed_;  // servers that send what they have begun
  UniqueFd signals_, socket_;
  sigset_t mask_before_{};
  std::string program_ = kOwnProgram;
  pid_t server_ = 0;
  Clock::time_point started_;
  bool ready_ = false;       // the server that runs
  bool ever_ready_ = false;  // a server was
  bool ending_ = false, replacing_ = false;
  bool given_up_ = false;  // the server that runs: it is killed, as it did not begin to serve
  unsigned failures_ = 0;
};

Status Keeper::take_signals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int one : {SIGCHLD, SIGUSR1, SIGUSR2}) sigaddset(&taken, one);
  for (const int one : kEnding) {
    struct sigaction before = {};
    ::sigaction(one, nullptr, &before);
    if (one != SIGHUP || before.sa_handler != SIG_IGN) sigaddset(&taken, one);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::sigprocmask(SIG_BLOCK, &taken, &mask_before_);
  signals_ = UniqueFd(::signalfd(-1, &taken, SFD_CLOEXEC));
  return signals_ ? Status{} : fail(io_error(errno, "signalfd"));
}

void Keeper::become_server(int socket) const {
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (socket == kServersSocket)
    ::fcntl(socket, F_SETFD, 0);
  else
    ::dup2(socket, kServersSocket);
  if (::chdir(directory_.c_str()) != 0) log(LogLevel::Warning, "{}: cannot be entered", directory_);
  std::vector<char*> words;
  for (const std::string& word : words_) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(program_.c_str(), words.data());
  ::_exit(options_.failure);
}

Status Keeper::start(EndCause cause) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(io_error(errno, "socketpair"));
  socket_ = UniqueFd(ends[0]);
  const UniqueFd servers(ends[1]);
  std::fflush(nullptr);
  server_ = ::fork();
  if (server_ < 0) return fail(io_error(errno, "fork"));
  if (server_ == 0) become_server(servers.get());
  started_ = Clock::now();
  ready_ = given_up_ = false;
  std::vector<int> handed{listening_ ? listening_.get() : memory_.get()};
  if (device_) handed.push_back(device_.get());
  const auto detail =
      listening_ ? static_cast<unsigned char>(ever_ready_) : static_cast<unsigned char>(cause);
  (void)send_message(socket_.get(), KeeperWord::Begin, detail, handed);
  return {};
}

void Keeper::store(const char* name, int descriptor) const {
  notify_systemd(std::string("FDSTORE=1\nFDNAME=") + name, descriptor);
}

// Takes all messages that the server has sent; its device is taken once.
void Keeper::take_messages() {
  for (;;) {
    pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (!socket_ || ::poll(&readable, 1, 0) <= 0) return;
    auto message = receive_message(socket_.get());
    if (!message) return socket_.reset();
    if (message->word == KeeperWord::Mounted && !device_ && message->descriptors.size() == 1) {
      device_ = std::move(message->descriptors.front());
      store(kDeviceName, device_.get());
      store(kMemoryName, memory_.get());
    }
    if (message->word != KeeperWord::Ready || ready_) continue;
    ready_ = true;
    failures_ = 0;
    if (!std::exchange(ever_ready_, true)) {
      notify_systemd("READY=1");
      // If the caller was killed, nobody waits for the mount.
      if (options_.on_ready && !options_.on_ready()) take_signal(SIGTERM);
    }
    if (replacing_) take_signal(SIGUSR2);
  }
}

void Keeper::take_signal(int number) {
  if (server_ <= 0 || number == SIGCHLD) return;
  if (number == SIGUSR1) {
    if (!listening_) ::kill(server_, SIGUSR1);
  } else if (number == SIGUSR2) {
    replacing_ = true;
    if (ready_ && !listening_) ::kill(server_, SIGKILL);
  } else {
    ending_ = true;
    ::kill(server_, SIGTERM);
  }
}

// How long the keeper may wait, in milliseconds; -1: without a limit. An installed program that does not
// serve in time is killed, and this one, which the mount was made with, goes on: until then every request
// waits.
int Keeper::wait_at_most() {
  if (server_ <= 0 || ready_ || given_up_ || program_ == kOwnProgram) return -1;
  const auto left = started_ + options_.serve_within - Clock::now();
  if (left > Clock::duration::zero())
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  log(LogLevel::Error, "{} serves nothing after {} s, and is killed", program_,
      options_.serve_within.count());
  given_up_ = true;
  ::kill(server_, SIGKILL);
  return -1;
}

// Waits until the server ends; returns false if it woke up for another reason.
bool Keeper::await_server(Ended& ended) {
  std::array<pollfd, 2> what{pollfd{signals_.get(), POLLIN, 0}, pollfd{socket_.get(), POLLIN, 0}};
  if (::poll(what.data(), what.size(), wait_at_most()) < 0) return false;
  take_messages();
  if ((what[0].revents & POLLIN) == 0) return false;
  signalfd_siginfo signal = {};
  if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal) return false;
  take_signal(static_cast<int>(signal.ssi_signo));
  int status = 0;
  if (server_ <= 0 || ::waitpid(server_, &status, WNOHANG) != server_) return false;
  take_messages();
  server_ = 0;
  ended = {WIFSIGNALED(status), WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)};
  return true;
}

// Returns nullopt if another server goes on with the mount; else the exit code.
std::optional<int> Keeper::go_on(const Ended& ended) {
  if (!ever_ready_) {
    if (ended.by_signal)
      std::fprintf(stderr, "h5mount: ended by signal %d before %s answered\n", ended.number,
                   listening_ ? "it" : "the mount");
    return ended.by_signal || ended.number == 0 ? options_.failure : ended.number;
  }
  if (device_ && !is_connected(device_.get())) return ended.by_signal ? 0 : ended.number;  // unmounted
  if (ending_ || (ready_ && !ended.by_signal)) return ended.by_signal ? 0 : ended.number;
  if (!ready_ && program_ != kOwnProgram) {
    log(LogLevel::Error, "{} cannot go on with the mount on {}: the version that made it does", program_,
        options_.name);
    program_ = kOwnProgram;
    return again(EndCause::None);
  }
  if (!ready_ && ++failures_ == kMaxFailures) {
    log(LogLevel::Error, "no server can go on with the mount on {}: it ends", options_.name);
    return options_.failure;
  }
  if (std::exchange(replacing_, false)) {
    program_ = installed_;
    return again(EndCause::None);
  }
  log(LogLevel::Warning, "the server of {} was ended by signal {}: another one goes on", options_.name,
      ended.number);
  return again(!ended.by_signal          ? EndCause::None
               : ended.number == SIGKILL ? EndCause::Killed
                                         : EndCause::Crashed);
}

std::optional<int> Keeper::again(EndCause cause) {
  if (Clock::now() - started_ < kShortLife) std::this_thread::sleep_for(kShortLife);
  const Status started = start(cause);
  if (started) return std::nullopt;
  log(LogLevel::Error, "no server can be started: {}", started.error().text());
  return options_.failure;
}

// Lets the server send what it has begun, which takes as long as its clients do, and starts the installed
// program beside it.
std::optional<int> Keeper::pass_on() {
  replacing_ = false;
  (void)send_message(socket_.get(), KeeperWord::Replaced);
  ::kill(server_, SIGTERM);
  passed_.push_back(std::exchange(server_, 0));
  program_ = installed_;
  return again(EndCause::None);
}

void Keeper::reap_passed() {
  std::erase_if(passed_, [](pid_t one) { return ::waitpid(one, nullptr, WNOHANG) != 0; });
}

int Keeper::finish(int code) {
  // A server ends by itself a while after SIGTERM that follows no word of another one.
  for (const pid_t one : passed_) ::kill(one, SIGTERM);
  for (const pid_t one : passed_) ::waitpid(one, nullptr, 0);
  if (device_ && is_connected(device_.get())) options_.unmount();
  for (const char* const name : {kDeviceName, kMemoryName})
    notify_systemd(std::string("FDSTOREREMOVE=1\nFDNAME=") + name);
  return code;
}

int Keeper::run() {
  Status began = take_signals();
  if (began) began = start(device_ ? EndCause::Killed : EndCause::None);
  if (!began) {
    log(LogLevel::Error, "{}: {}", options_.name, began.error().text());
    return finish(options_.failure);
  }
  for (;;) {
    Ended ended;
    std::optional<int> code;
    if (await_server(ended))
      code = go_on(ended);
    else if (is_to_pass_on())
      code = pass_on();
    reap_passed();
    if (code) return finish(*code);
  }
}

UniqueFd stored(const char* name) {
  for (const StoredDescriptor& one : stored_descriptors()) {
    if (one.name != name) continue;
    ::fcntl(one.number, F_SETFD, FD_CLOEXEC);
    return UniqueFd(one.number);
  }
  return {};
}

bool is_server(OwnWords own) {
  return own.count > 0 && std::string_view(own.words[0]).starts_with(kPrefix);
}

}  // namespace

Result<HeldDescriptors> hold_mount() {
  HeldDescriptors out{.memory = stored(kMemoryName), .device = stored(kDeviceName)};
  if (!out.device || !out.memory) {
    H5_ASSIGN(out.memory, SurvivingMemory::make());
  }
  return out;
}

int run_keeper(KeeperOptions options, HeldDescriptors held, OwnWords own) {
  Keeper keeper(std::move(options), std::move(held), own);
  take_other_name(own);
  return keeper.run();
}

// ---- the server's side

std::optional<KeeperLink> KeeperLink::find(OwnWords own) {
  if (!is_server(own)) return std::nullopt;
  own.words[0] += kPrefix.size();
  ::prctl(PR_SET_NAME, "h5mount");
  ::fcntl(kServersSocket, F_SETFD, FD_CLOEXEC);
  return KeeperLink(UniqueFd(kServersSocket));
}

Result<std::shared_ptr<fuse::Handover>> KeeperLink::receive() const {
  auto begin = receive_message(socket_->get());
  if (!begin || begin->word != KeeperWord::Begin || begin->descriptors.empty())
    return fail(Error(ErrorCode::Io, "the process that keeps the mount has ended: mount again"));
  H5_ASSIGN(SurvivingMemory memory, SurvivingMemory::map(begin->descriptors.front().get()));
  UniqueFd device = begin->descriptors.size() > 1 ? std::move(begin->descriptors[1]) : UniqueFd();
  return std::make_shared<SurvivingMount>(
      std::move(memory), std::move(device), static_cast<EndCause>(begin->detail),
      [socket = socket_](int own) { return send_message(socket->get(), KeeperWord::Mounted, 0, {own}); });
}

Result<KeeperLink::Socket> KeeperLink::receive_socket() const {
  auto begin = receive_message(socket_->get());
  if (!begin || begin->word != KeeperWord::Begin || begin->descriptors.size() != 1)
    return fail(Error(ErrorCode::Io, "the process that keeps the socket has ended"));
  return Socket{begin->descriptors.front().release(), begin->detail == 0};
}

bool KeeperLink::is_replaced() const {
  pollfd word{socket_->get(), POLLIN, 0};
  const bool there = ::poll(&word, 1, 0) > 0 && (word.revents & POLLIN) != 0;
  const auto message = there ? receive_message(socket_->get()) : std::nullopt;
  return message && message->word == KeeperWord::Replaced;
}

bool KeeperLink::tell_ready() const {
  return send_message(socket_->get(), KeeperWord::Ready);
}

std::vector<unsigned> handed_descriptors(OwnWords own) {
  if (is_server(own)) return {kServersSocket};
  std::vector<unsigned> out;
  for (const StoredDescriptor& one : stored_descriptors()) out.push_back(static_cast<unsigned>(one.number));
  return out;
}

std::vector<int> handed_sockets() {
  std::vector<int> out;
  for (const StoredDescriptor& one : stored_descriptors())
    if (one.name != kDeviceName && one.name != kMemoryName) out.push_back(one.number);
  return out;
}

}  // namespace h5mount::survive

// A real SWMR writer in the background and a mount over its file.
#pragma once

#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "frames.h"
#include "mount/command.h"

namespace h5mount::test {

inline constexpr std::uint64_t kElements = 8 * 16;
inline constexpr std::uint64_t kFrameBytes = kElements * 2;

inline void pause_for(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// A shell command in the background, killed at the end whatever happens.
class Process {
 public:
  Process() = default;
  explicit Process(const std::string& command) { start(command); }
  ~Process() { end(SIGKILL); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void start(const std::string& command) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    ::_exit(127);
  }
  int wait() {
    int status = -1;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void end(int signal) {
    if (pid_ > 0) ::kill(pid_, signal);
    wait();
  }

 private:
  pid_t pid_ = -1;
};

// A writer in the background, over a file that it makes first.
class Writer {
 public:
  Writer(const std::filesystem::path& file, const std::string& words) : file_(file), words_(words) {
    EXPECT_EQ(run(std::string(SWMR_WRITER) + " " + file.string() + " " + words + " create=1").code, 0);
  }
  // `more` words come after those it was made with, and win.
  void start(const std::string& more = {}) {
    process_.start(std::string(SWMR_WRITER) + " " + file_.string() + " " + words_ + " restart=1 " + more);
  }
  int wait() { return process_.wait(); }
  void end(int signal) { process_.end(signal); }

 private:
  std::filesystem::path file_;
  std::string words_;
  Process process_;
};

inline std::uint64_t size_of(const std::string& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
}

inline bool wait_for_size(const std::string& path, std::uint64_t bytes, int milliseconds = 20'000) {
  for (; milliseconds > 0 && size_of(path) < bytes; milliseconds -= 20) pause_for(20);
  return size_of(path) >= bytes;
}

// `tail` in the background, and what it wrote.
class Tail {
 public:
  explicit Tail(const std::string& path, const std::string& how = "-f") {
    static int counter = 0;
    out_ = scratch() / ("tail" + std::to_string(counter++));
    process_.start("tail -s 0.1 -c +1 " + how + " " + path + " >" + out_.string() + " 2>/dev/null");
  }
  std::string collected(std::uint64_t bytes, int milliseconds = 20'000) {
    (void)wait_for_size(out_, bytes, milliseconds);
    pause_for(150);  // for what may come too much
    return slurp(out_);
  }

 private:
  std::filesystem::path out_;
  Process process_;
};

struct Kind {
  const char *index, *filter;
  int chunk;
};

inline std::string words_of(const Kind& kind) {
  return std::string("index=") + kind.index + " filter=" + kind.filter +
         " chunk=" + std::to_string(kind.chunk);
}

// Mounts once the writer has marked the file, which it does some time after it was started.
inline void mount_live(const MountPoint& mount, const std::filesystem::path& file,
                       const std::string& options = {}) {
  Outcome outcome;
  for (int i = 0; i < 100 && !mount.mounted(); ++i) {
    outcome = mount.mount(file, options);
    if (!mount.mounted()) pause_for(50);
  }
  ASSERT_TRUE(mount.mounted()) << outcome.err;
}

}  // namespace h5mount::test

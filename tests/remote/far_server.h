// tests/remote/far_server.py, or another server beside it, in a process of its own, for the length of a test.
#pragma once

#include <csignal>
#include <cstdio>

#include "mount/command.h"

namespace h5mount::test {

// Whether a disk cache keeps anything here: it leaves a tenth of the file system free.
inline bool disk_has_room() {
  const std::filesystem::space_info space = std::filesystem::space(scratch());
  return space.available > space.capacity / 8;
}

class FarServer {
 public:
  explicit FarServer(const std::filesystem::path& directory, const std::vector<std::string>& options = {},
                     const std::string& program = "far_server.py") {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return;
    const std::string script = (source_root() / "tests/remote" / program).string();
    std::vector<std::string> words{"/usr/bin/python3", script, directory.string()};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(pipe[1], STDOUT_FILENO);
      ::execv(arguments.front(), arguments.data());
      ::_exit(1);
    }
    ::close(pipe[1]);
    FILE* const said = ::fdopen(pipe[0], "r");
    if (std::fscanf(said, "%d", &port_) != 1) port_ = 0;
    std::fclose(said);
  }
  ~FarServer() { stop(); }
  FarServer(const FarServer&) = delete;
  FarServer& operator=(const FarServer&) = delete;

  void stop() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  // As it is, a server that does not answer.
  void pause(bool paused) const { ::kill(process_, paused ? SIGSTOP : SIGCONT); }

  int port() const { return port_; }
  std::string url(const std::string& path = {}) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + path;
  }
  // Faults of all requests that follow, and none without.
  void set(const std::string& faults = {}) const { ask(".set?" + faults); }
  void reset() const { ask(".reset"); }
  int count() const { return std::atoi(ask(".count").c_str()); }
  int most_at_once() const { return std::atoi(ask(".most").c_str()); }
  std::string requests() const { return ask(".requests"); }

 private:
  std::string ask(const std::string& path) const { return run("curl -s -g '" + url(path) + "'").out; }

  pid_t process_ = -1;
  int port_ = 0;
};

}  // namespace h5mount::test

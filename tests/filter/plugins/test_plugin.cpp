// Filter plugins with HDF5's interface, correct and faulty: one shared object for each PLUGIN_ID
// (plugins/meson.build). They decode by xor of every byte with 0x5A.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "../../../src/filter/plugin/abi.h"

namespace {

using h5mount::filter::PluginTable;

void decode_in_place(void* buffer, std::size_t bytes) {
  auto* at = static_cast<unsigned char*>(buffer);
  for (std::size_t i = 0; i < bytes; ++i) at[i] ^= 0x5A;
}

// A signal by thread reaches this process only.
bool signals_another() {
  const pid_t parent = ::getppid();
  if (::syscall(SYS_tgkill, parent, parent, 0) == 0 || ::syscall(SYS_tgkill, 1, 1, 0) == 0) return true;
  return ::syscall(SYS_tgkill, ::getpid(), ::getpid(), 0) != 0;
}

// True where a file, socket or process can be opened or created.
bool something_opens() {
  if (::open("/etc/passwd", O_RDONLY) >= 0 || ::open("/dev/null", O_RDWR) >= 0) return true;
  if (::socket(AF_INET, SOCK_STREAM, 0) >= 0 || ::dup(0) >= 0) return true;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  if (child > 0) return true;
  char* const words[] = {nullptr};
  ::execve("/bin/true", words, words);
  return ::kill(::getppid(), 0) == 0 || signals_another();
}

// What code that runs while it is loaded can do beyond reading.
bool escapes_while_loaded() {
  if (::open("/dev/null", O_RDWR) >= 0 || ::open("/tmp", O_TMPFILE | O_RDWR, 0600) >= 0) return true;
  if (::socket(AF_INET, SOCK_STREAM, 0) >= 0 || ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0) return true;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child > 0 || ::kill(::getppid(), 0) == 0 || signals_another() || ::geteuid() == 0;
}
bool hangs() {
  for (;;) ::usleep(1000);
}
const bool g_hung = PLUGIN_ID == 64010 && hangs();
const bool g_escaped = PLUGIN_ID == 64009 && escapes_while_loaded();

void misbehave(std::size_t bytes) {
  switch (PLUGIN_ID) {
    case 64002: {  // a write to a plain null would be optimised away
      volatile char* volatile nowhere = nullptr;
      *nowhere = 1;
      break;
    }
    case 64003:
      for (;;) ::usleep(1000);
    case 64004: {  // writes far out of bounds
      auto* small = static_cast<volatile char*>(std::malloc(16));
      for (std::size_t i = 0; i < (std::size_t{64} << 20); i += 64) small[i] = 1;
      break;
    }
    case 64008:
      ::_exit(7);
    default:
      (void)bytes;
  }
}

std::size_t filter(unsigned flags, std::size_t count, const unsigned* values, std::size_t bytes,
                   std::size_t* size, void** buffer) {
  if ((flags & h5mount::filter::kPluginReverse) == 0) {
    decode_in_place(*buffer, bytes);  // xor is its own inverse
    return bytes;
  }
  misbehave(bytes);
  if (PLUGIN_ID == 64005 && something_opens()) return 0;
  if (g_hung || g_escaped) return 0;
  if (PLUGIN_ID == 64006) {  // allocates until malloc fails
    for (int i = 0; i < 1024; ++i) {
      void* more = std::malloc(std::size_t{256} << 20);
      if (more == nullptr) return 0;
      std::memset(more, 1, 4096);
    }
  }
  if (PLUGIN_ID == 64007 || (count > 0 && values[0] > 1)) {  // returns a multiple of the size
    const std::size_t times = PLUGIN_ID == 64007 ? 1000 : values[0];
    auto* longer = static_cast<char*>(std::malloc(bytes * times));
    for (std::size_t i = 0; i < times; ++i) std::memcpy(longer + i * bytes, *buffer, bytes);
    std::free(*buffer);
    *buffer = longer;
    *size = bytes *= times;
  }
  decode_in_place(*buffer, bytes);
  return bytes;
}

const PluginTable kTable = {1, PLUGIN_ID, 1, 1, "xor of the tests", nullptr, nullptr, filter};

}  // namespace

extern "C" __attribute__((visibility("default"))) int H5PLget_plugin_type() {
  return h5mount::filter::kPluginTypeFilter;
}
extern "C" __attribute__((visibility("default"))) const void* H5PLget_plugin_info() {
  return &kTable;
}

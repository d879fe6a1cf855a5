#include "surviving_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace h5mount::survive {
namespace {

constexpr std::uint64_t kMagic = 0x7470'656B'746D'3568;  // "h5mtkept"
// To be increased with every change to the layout of the memory: a program with another layout does not take
// over.
constexpr std::uint64_t kLayout = 2;

// A server that shrank it would end the next one.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Result<UniqueFd> SurvivingMemory::make() {
  UniqueFd out(::memfd_create("h5mount-kept", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!out || ::ftruncate(out.get(), kBytes) != 0 || ::fcntl(out.get(), F_ADD_SEALS, kSeals) != 0)
    return fail(io_error(errno, "memory that survives a server"));
  return out;
}

Result<SurvivingMemory> SurvivingMemory::map(int memory) {
  struct stat found = {};
  if (::fstat(memory, &found) != 0 || ::fcntl(memory, F_GET_SEALS) != kSeals)
    return fail(io_error(errno, "memory that survives a server"));
  const Error other(ErrorCode::UnsupportedFeature,
                    "another version of h5mount has served this mount: it goes on");
  if (found.st_size != static_cast<off_t>(kBytes)) return fail(other);
  void* const base = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
  if (base == MAP_FAILED) return fail(io_error(errno, "memory that survives a server"));
  SurvivingMemory out(static_cast<std::byte*>(base));
  SharedHeader& header = out.header();
  if (header.magic == 0) {
    header.layout = kLayout;
    publish(header.magic, kMagic);
  }
  if (header.magic != kMagic || header.layout != kLayout) return fail(other);
  return out;
}

SurvivingMemory::~SurvivingMemory() {
  if (base_ != nullptr) ::munmap(base_, kBytes);
}

}  // namespace h5mount::survive

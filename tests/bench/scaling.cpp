// scaling: throughput against decoding threads, on a machine with any number of processors. Each chunk costs
// time that is slept instead of computed, so that sixteen threads behave as on sixteen processors; what the
// threads share (locks of the cache, of the queue, of decoding memory) shows as lost throughput.
//
//   scaling [MICROSECONDS_A_CHUNK]    prints threads, chunks a second and the share of linear scaling
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "../dataset/memory_dataset.h"

namespace h5mount::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kRows = 4096, kColumns = 64, kChunkRows = 16, kChunkColumns = 64;
constexpr std::uint64_t kChunks = kRows / kChunkRows * (kColumns / kChunkColumns);

struct Slow {
  std::chrono::nanoseconds per_byte;
  void operator()(std::size_t bytes) const { std::this_thread::sleep_for(per_byte * bytes); }
};

// One reader from begin to end; the workers and its own thread decode.
double forward(const MemoryDataset& data, const Slow& slow, unsigned threads) {
  const auto environment = data.environment(64U << 20, std::max(1U, threads - 1));
  const auto reader = data.open_reader(environment, slow);
  const auto begin = Clock::now();
  dataset::Pieces pieces;
  if (!reader->read(0, reader->size(), {nullptr, Unbounded()}, pieces)) std::exit(1);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// As many readers as threads, each of its own chunks, a page at a time.
double at_random(const MemoryDataset& data, const Slow& slow, unsigned threads) {
  const auto environment = data.environment(64U << 20, threads);
  const auto reader = data.open_reader(environment, slow);
  const std::uint64_t chunk = reader->size() / kChunks;
  const auto begin = Clock::now();
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < threads; ++i) {
    readers.emplace_back([&, i] {
      for (std::uint64_t c = i; c < kChunks; c += threads) {
        for (std::uint64_t at = 0; at < chunk; at += 1024) {
          dataset::Pieces pieces;
          if (!reader->read(c * chunk + at, 1024, {nullptr, Unbounded()}, pieces)) std::exit(1);
        }
      }
    });
  }
  for (std::thread& one : readers) one.join();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void measure(const char* name, double (*run)(const MemoryDataset&, const Slow&, unsigned),
             const MemoryDataset& data, const Slow& slow) {
  double one = 0;
  for (const unsigned threads : {1U, 2U, 4U, 8U, 16U}) {
    if (threads == 1 && run == forward) continue;  // a pool has a thread, and the reader is another
    double best = 1e9;
    for (int round = 0; round < 3; ++round) best = std::min(best, run(data, slow, threads));
    if (one == 0) one = best * threads;
    std::printf("%-8s %2u threads %9.0f chunks/s %5.2f of linear\n", name, threads, kChunks / best,
                one / best / threads);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace h5mount::test

int main(int argc, char** argv) {
  using namespace h5mount::test;
  const int microseconds = argc > 1 ? std::atoi(argv[1]) : 4000;
  const DatasetShape shape{.dims = {kRows, kColumns},
                           .chunk_dims = {kChunkRows, kChunkColumns},
                           .element_size = 4,
                           .filtered = true,
                           .index = h5mount::format::ChunkIndexKind::FixedArray};
  const MemoryDataset data(shape, 1);
  const std::uint64_t chunk_bytes = kChunkRows * kChunkColumns * 4;
  const Slow slow{std::chrono::nanoseconds(microseconds * 1000ULL / chunk_bytes)};
  measure("forward", forward, data, slow);
  measure("random", at_random, data, slow);
  return 0;
}

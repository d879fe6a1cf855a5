// What of a store is a chunk's key, and what its readers are answered.
#include "site/chunk_failure.h"

#include <gtest/gtest.h>

namespace h5mount::serve {
namespace {

TEST(ChunkFailure, KeysOfChunksAreToldByTheirForm) {
  for (const char* const path :
       {"/.h5/plain.zarr/t/0.0", "/.h5/stored.zarr/a/b/12", "/.h5/v3.zarr/t/c.0.0", "/.h5/v3.zarr/scalar/c",
        "/run/a.h5/.h5/plain.zarr/t/0.1.2", "/bucket/.h5/v3.zarr/c/c.7"})
    EXPECT_TRUE(is_chunk_key(path)) << path;
  for (const char* const path :
       {"/t/0.0", "/.h5/npy/t.npy", "/.h5/plain.zarr", "/.h5/plain.zarr/", "/.h5/plain.zarr/t/",
        "/.h5/plain.zarr/.zmetadata", "/.h5/plain.zarr/t/.zarray", "/.h5/plain.zarr/t/.zattrs",
        "/.h5/v3.zarr/zarr.json", "/.h5/v3.zarr/t/zarr.json", "/.h5/v3.zarr/t/0", "/.h5/v3.zarr/t/c.0/x",
        "/.h5/v3.zarr/t/cat.0", "/plain.zarr/t/0.0", "/.h5/csv/0"})
    EXPECT_FALSE(is_chunk_key(path)) << path;
}

TEST(ChunkFailure, OnlyFailuresOfTheServerAreReplaced) {
  const Request reader{"GET", "/.h5/plain.zarr/t/0", {{"User-Agent", "aiohttp"}}};
  for (const unsigned status : {200U, 206U, 304U, 401U, 403U, 404U, 412U, 416U})
    EXPECT_EQ(chunk_failure(reader, plain_answer(status, "as it is")).status, status);
  for (const unsigned status : {500U, 501U, 503U, 504U}) {
    const Answer answer = chunk_failure(reader, plain_answer(status, "caf\xC3\xA9\nis damaged"));
    EXPECT_EQ(answer.status, 200U);
    EXPECT_FALSE(answer.body);
    for (const auto& [name, value] : answer.headers) {
      EXPECT_NE(name, "ETag");
      if (name == "X-H5mount-Error") EXPECT_EQ(value, std::to_string(status) + " caf???is damaged");
    }
  }
}

TEST(ChunkFailure, TheSizeIsNeverThatOfTheChunk) {
  const Request nameless{"GET", "/.h5/plain.zarr/t/0", {}};
  for (const std::uint64_t size : {1, 2, 4096})
    EXPECT_NE(chunk_failure(nameless, plain_answer(500, "damaged"), size).body->size(), size);
  const Request fetch{"GET", "/.h5/plain.zarr/t/0", {{"Sec-Fetch-Mode", "cors"}, {"User-Agent", "node"}}};
  EXPECT_EQ(chunk_failure(fetch, plain_answer(500, "damaged"), 1).status, 500U);
}

}  // namespace
}  // namespace h5mount::serve

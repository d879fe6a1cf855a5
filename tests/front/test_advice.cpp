// Commands and fsck.h5 tell what helps, once for all errors of a kind, and a part of a dataset that helps is
// there.
#include "front_test.h"

namespace h5mount::test {
namespace {

using AdviceTest = FrontTest;

std::size_t count_of(const std::string& words, const std::string& text) {
  std::size_t out = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++out;
  return out;
}

TEST_F(AdviceTest, AFullDiskTellsThatRoomHelps) {
  write("f['words'] = np.arange(1000)");
  const Outcome full = in("$H5MOUNT --cat f.h5 words >/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(count_of("make room", full.err), 1U) << full.err;
}

TEST_F(AdviceTest, DamagedChunksTellOnceWhatCanBeRead) {
  write(R"(
for name in ('a', 'b'):
    d = f.create_dataset(name, data=np.arange(2000), chunks=(1000,), compression='gzip')
f.flush()
at = [f[name].id.get_chunk_info(1) for name in ('a', 'b')]
f.close()
with open('f.h5', 'r+b') as raw:
    for info in at:
        raw.seek(info.byte_offset + 2)
        raw.write(b'\xff' * (info.size - 2))
)");
  const Outcome read = in("$H5MOUNT --cat f.h5 a b >/dev/null");
  EXPECT_EQ(read.code, 1);
  EXPECT_EQ(lines_in(read.err), 2) << read.err;
  EXPECT_EQ(count_of("can be read in parts", read.err), 1U) << read.err;
  const Outcome checked = in("$(dirname $H5MOUNT)/fsck.h5 f.h5 >/dev/null");
  EXPECT_EQ(checked.code, 4);
  EXPECT_EQ(count_of("can be read in parts", checked.err), 1U) << checked.err;
  // As it says.
  const Outcome part =
      in("$H5MOUNT --cat f.h5 /.h5/slice/a/0:1000 | od -A n -t d8 -w8 | tail -n 1 | tr -d ' '");
  EXPECT_EQ(part.out, "999\n") << part.err;
  EXPECT_EQ(in("$(dirname $H5MOUNT)/fsck.h5 -q f.h5").err, "");
}

}  // namespace
}  // namespace h5mount::test

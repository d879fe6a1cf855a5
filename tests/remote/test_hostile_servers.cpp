// Servers that claim, lie or send something else, through the programs.
#include "remote_command.h"

namespace h5mount::test {
namespace {

using HostileServerTest = RemoteCommandTest;

// Bytes that nobody sent were what lay in the program's memory: through a server, other clients' requests.
TEST_F(HostileServerTest, ALengthThatNoFileHasIsRefused) {
  for (const char* length : {"9223372036854775808", "18446744073709551615"}) {
    const std::string url = "${U}!length=" + std::string(length) + "/beyond.h5";
    const Outcome cat = with_url("$H5MOUNT --cat -o timeout=3 " + url + " d");
    EXPECT_EQ(cat.code, 1) << cat.err;
    EXPECT_EQ(cat.out, "");
    EXPECT_NE(cat.err.find("more than a file can have"), std::string::npos) << cat.err;
    EXPECT_EQ(with_url("timeout 20 $H5MOUNT --serve 0 -o timeout=3 " + url).code, 1);
    EXPECT_EQ(with_url("$F -q -o timeout=3 " + url).code, 8);
  }
}

// The server answers with zeros there, and so does a read: whatever is shown was asked for.
TEST_F(HostileServerTest, TheEndOfTheLongestObjectIsWhatTheServerSends) {
  const Outcome cat = with_url(
      "$H5MOUNT --cat -o timeout=3 ${U}!length=9223372036854775807/end.h5 d | od -An -tu8 | sort -u");
  EXPECT_EQ(cat.out.substr(0, cat.out.find('\n')).find_first_not_of(" 0"), std::string::npos) << cat.out;
  EXPECT_EQ(lines_in(cat.out), 2) << "zeros, and od's sign of more of them: " << cat.out << cat.err;
  EXPECT_NE(server->requests().find("9223372036854775"), std::string::npos);
  const Outcome served =
      with_url(R"(mkfifo said; $H5MOUNT --serve 0 ${U}!length=9223372036854775807/end.h5 > said & served=$!
read line < said
for i in 1 2 3 4 5; do
  curl -s -H 'Authorization: Bearer of-another-client' "${line}?list" > /dev/null
  curl -sf ${line}d | tr -d '\0' | wc -c
done
kill $served; wait)");
  EXPECT_EQ(served.out, "0\n0\n0\n0\n0\n") << served.err;
}

TEST_F(HostileServerTest, APageInPlaceOfAFileIsNamedAsForALocalFile) {
  std::ofstream(place / "www/page.h5") << "\n<!DOCTYPE html><html><body>Log in</body></html>";
  const std::string local = in("$H5MOUNT --list www/page.h5").err;
  const std::string named = local.substr(local.find(" is an HTML page"));
  for (const char* how : {"page.h5", "!html=sized/other.h5", "!html=chunked/other.h5",
                          "!html=closed/other.h5", "!html=large/other.h5", "!to=|!html=chunked|x/other.h5"}) {
    const Outcome out = with_url("$H5MOUNT --list -o timeout=3 '" + server->url(how) + "?sig=secret'");
    EXPECT_EQ(out.code, 2) << how << out.err;
    EXPECT_NE(out.err.find(named), std::string::npos) << how << out.err;
    EXPECT_EQ(lines_in(out.err), 1) << out.err;
    EXPECT_EQ(out.err.find("secret"), std::string::npos) << out.err;
  }
  std::ofstream(place / "www/zeros.h5") << std::string(5000, '\0');
  EXPECT_NE(with_url("$H5MOUNT --list ${U}zeros.h5").err.find("nothing but zeros"), std::string::npos);
  std::ofstream(place / "www/error.h5") << "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code></Error>";
  const Outcome checked = with_url("$F ${U}error.h5");
  EXPECT_NE((checked.out + checked.err).find("an XML document"), std::string::npos)
      << checked.out << checked.err;
}

TEST_F(HostileServerTest, AnEmptyObjectIsToldAsAnEmptyFileIs) {
  std::ofstream(place / "www/empty.h5").close();
  const Outcome local = in("$H5MOUNT --list www/empty.h5");
  EXPECT_EQ(local.code, 2);
  const std::string named = local.err.substr(local.err.find(" is empty"));
  for (const char* path : {"empty.h5", "!whole/empty.h5"}) {
    const Outcome out = with_url("$H5MOUNT --list -o timeout=3 ${U}" + std::string(path));
    EXPECT_EQ(out.code, 2) << out.err;
    EXPECT_NE(out.err.find(named), std::string::npos) << out.err;
    EXPECT_EQ(lines_in(out.err), 1) << out.err;
  }
}

TEST_F(HostileServerTest, RangeUnitsAreComparedWithoutCase) {
  EXPECT_EQ(with_url("$H5MOUNT --cat ${U}!unit=Bytes/deep/main.h5 packed numbers | cksum").out,
            in("$H5MOUNT --cat www/deep/main.h5 packed numbers | cksum").out);
}

TEST_F(HostileServerTest, ARedirectToAFileSaysItsScheme) {
  for (const char* to : {"FILE:|etc|passwd", "FILE:|||etc|passwd", "file:|||etc|passwd"}) {
    const Outcome out =
        with_url("$H5MOUNT --list -o timeout=3 '" + server->url("!to=" + std::string(to) + "/x") + "'");
    EXPECT_EQ(out.code, 1);
    EXPECT_NE(out.err.find("its scheme is file:"), std::string::npos) << out.err;
  }
}

// What cannot be told apart cannot be refused, but it can be said.
TEST_F(HostileServerTest, WithoutVersionsThereIsAWarningUnlessItIsKnown) {
  const std::string list = "$H5MOUNT --list ${U}!";
  for (const char* faults : {"tag=-,time=-", "tag=W%2F%22weak%22,time=-"}) {
    const std::string url = std::string(faults) + "/other.h5";
    const Outcome out = with_url(list + url);
    EXPECT_EQ(out.code, 0) << out.err;
    EXPECT_NE(out.err.find("validate=size"), std::string::npos) << out.err;
    EXPECT_EQ(lines_in(out.err), 1) << out.err;
    EXPECT_EQ(with_url("$H5MOUNT -o validate=size --list ${U}!" + url).err, "");
  }
  EXPECT_EQ(with_url(list + "time=-/other.h5").err, "") << "a strong ETag";
  EXPECT_EQ(with_url(list + "tag=-,time=01%20Jan%202024%2000:00:00%20GMT/other.h5").err, "");
  EXPECT_NE(with_url(list + "tag=-/other.h5").err.find("validate=size"), std::string::npos)
      << "written within the last minute";
}

// A region becomes a part of a host's name: the token of a session would go to the host that it names.
TEST_F(HostileServerTest, ARegionThatIsNoHostNameIsNotTaken) {
  for (const char* region : {"evil.example/", "evil.example#", "a b", "x@evil.example"}) {
    serve({"--secret", "AKID:key", "--region", region});
    const Outcome out = with_url(
        "AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=key $H5MOUNT --list -o timeout=3,s3_endpoint=${U} "
        "s3://bucket/x.h5");
    EXPECT_EQ(out.code, 1) << out.err;
    EXPECT_NE(server->requests().find("/us-east-1/s3/"), std::string::npos) << server->requests();
    EXPECT_EQ(server->requests().find(std::string("/") + region), std::string::npos) << server->requests();
  }
}

TEST_F(HostileServerTest, SecretsDoNotGoInTheClearWhereARedirectLeads) {
  const std::string port = std::to_string(server->port());
  ASSERT_EQ(in("echo 'machine localhost login me password \"two words\"' > netrc; "
               "echo 'localhost X-Key: header-secret' > h; chmod 600 h")
                .code,
            0);
  const std::string list = "NETRC=netrc $H5MOUNT --list -o headers=h ";
  EXPECT_EQ(with_url(list + "'" + server->url("!to=http:||localhost:" + port + "|other.h5/x") + "'").code, 0);
  EXPECT_NE(server->requests().find("localhost:" + port), std::string::npos);
  EXPECT_EQ(server->requests().find("header-secret"), std::string::npos) << server->requests();
  EXPECT_EQ(server->requests().find("Basic "), std::string::npos) << server->requests();
  EXPECT_EQ(with_url(list + "http://localhost:" + port + "/other.h5").code, 0);
  EXPECT_NE(server->requests().find("header-secret"), std::string::npos);
  EXPECT_NE(server->requests().find("Basic bWU6dHdvIHdvcmRz"), std::string::npos) << server->requests();
}

TEST_F(HostileServerTest, ListsOfSourcesAreRegularFilesAndNotShown) {
  ASSERT_EQ(in("mkfifo fifo; mkdir m; echo 'root:secret-hash:19000' > shadow; printf "
               "'www/other.h5\nnone.h5\n' > list")
                .code,
            0);
  for (const char* source : {"@/dev/zero", "@fifo", "@shadow", "@list", "@- < shadow", "@- < /dev/zero"}) {
    for (const char* command : {"$H5MOUNT --list ", "$F "}) {
      const Outcome out = with_url("timeout 20 " + std::string(command) + source);
      EXPECT_NE(out.code, 0) << command << source;
      EXPECT_LT(out.code, 100) << command << source;
      EXPECT_EQ((out.err + out.out).find("secret-hash"), std::string::npos) << out.err;
      EXPECT_EQ(out.err.find("none.h5"), std::string::npos) << out.err;
    }
  }
  EXPECT_NE(with_url("$H5MOUNT --list @list").err.find("list, line 2: no such file"), std::string::npos);
  const Outcome checked = with_url("$F @list");
  EXPECT_EQ(checked.code, 8) << checked.err;
  EXPECT_NE(checked.out.find("other.h5"), std::string::npos) << "the others are checked";
}

class FarMemoryTest : public RemoteMountTest {};

// Far chunks of 16 MiB, each wanted by two readers at once, with a cache that holds none of them: what is
// being fetched has a bound, and is fetched once for those that wait for it.
TEST_F(FarMemoryTest, ManyReadersOfLargeChunksStayWithinTheirMemory) {
  const Outcome made = in(R"(/usr/bin/python3 - <<'END'
import h5py, numpy as np
with h5py.File('www/large.h5', 'w') as f:
    d = f.create_dataset('d', (12 << 24,), 'u1', chunks=(1 << 24,))
    for i in range(12):
        d[i << 24:(i + 1) << 24] = np.full(1 << 24, i, 'u1')
END)");
  ASSERT_EQ(made.code, 0) << made.err;
  server->set("delay=0.05");
  mounts(server->url("large.h5"), "-o cache_size=1M");
  const Outcome read = run(
      "cd " + mount.path() +
          " && for i in $(seq 0 23); do dd if=d bs=1M skip=$((i*8)) count=1 iflag=direct status=none | "
          "od -An -tu1 | cut -c1-4 | tr -d ' \\n' | sed 's/$/\\n/' & done | sort -n | uniq -c | tr -s ' ' | "
          "tr '\\n' ';'; wait",
      240);
  std::string expected;
  for (int i = 0; i < 12; ++i) expected += " 2 " + std::to_string(i) + "*;";
  EXPECT_EQ(read.out, expected) << read.err;
  const std::string pid = mount.in("sed -n 's/^pid: //p' .h5/status | tr -d '\n'").out;
  const std::string peak = run("awk '/^VmHWM:/ { print $2 }' /proc/" + pid + "/status").out;
  ASSERT_FALSE(peak.empty());
  EXPECT_LT(std::stoi(peak), (1 + 64 + 128) << 10)
      << "KiB: cache_size, what is kept, and what is fetched, decoded and read ahead";
  const std::string fetched = mount.in("sed -n 's/^remote_bytes: //p' .h5/status").out;
  EXPECT_LT(std::stoll(fetched), 13LL << 24) << "each chunk once, and the structures";
}

}  // namespace
}  // namespace h5mount::test

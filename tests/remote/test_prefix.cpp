// s3://BUCKET/PREFIX/ through the programs, from the test server and from h5mount's own S3 endpoint.
#include "remote_command.h"

namespace h5mount::test {
namespace {

class RemotePrefixTest : public RemoteCommandTest {
 protected:
  void SetUp() override {
    RemoteCommandTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(in("mkdir -p 'www/bucket/run 1/2026' && cp www/other.h5 'www/bucket/run 1/a+b%41.h5' && "
                 "cp www/other.h5 'www/bucket/run 1/2026/c.nc' && cp www/note.txt 'www/bucket/run 1' && "
                 "cp www/note.txt 'www/bucket/run 1/broken.h5' && cp www/deep/*.h5 'www/bucket/run 1'")
                  .code,
              0);
  }
  static constexpr const char* kPrefix = "-o s3_endpoint=${U} 's3://bucket/run 1/' ";
  static constexpr const char* kNames = "2026\na+b%2541.h5\nbroken.h5\nmain.h5\nother.h5\n";
};

class RemotePrefixMountTest : public RemotePrefixTest {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    RemotePrefixTest::SetUp();
  }
  MountPoint mount;
};

TEST_F(RemotePrefixTest, IsADirectoryOfItsFiles) {
  const std::string prefix = kPrefix;
  EXPECT_EQ(with_url("$H5MOUNT --list " + prefix).out, kNames);
  EXPECT_EQ(with_url("$H5MOUNT --list -o passthrough " + prefix + "| grep -c '^note.txt$'").out, "1\n");
  EXPECT_EQ(with_url("$H5MOUNT --cat " + prefix + "2026/c.nc/d a+b%2541.h5/d | od -An -tu1 | tr -s ' '").out,
            " 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5\n 6 7 8 9\n");
  EXPECT_EQ(with_url("$H5MOUNT --cat -o passthrough " + prefix + "note.txt | cmp - www/note.txt").code, 0);
  server->set("page=1");
  EXPECT_EQ(with_url("$H5MOUNT --list " + prefix).out, kNames);
  server->set();
  const Outcome checked = with_url("$F -o s3_endpoint=${U} 's3://bucket/run 1/'");
  EXPECT_EQ(checked.code, 4) << checked.err;
  EXPECT_NE(checked.out.find("s3://bucket/run 1/broken.h5"), std::string::npos) << checked.out;
}

TEST_F(RemotePrefixTest, ThatCannotBeListedIsExitOne) {
  const std::string list = "$H5MOUNT --list -o timeout=2,s3_endpoint=${U} ";
  for (const char* url : {"s3://bucket/nothing/", "s3://none/"}) {
    const Outcome out = with_url(list + url);
    EXPECT_EQ(out.code, 1) << out.err;
    EXPECT_EQ(lines_in(out.err), 1) << out.err;
  }
  server->set("deny=9:403");
  const Outcome refused = with_url(list + "s3://bucket/");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("s3://bucket/ cannot be listed: the server refuses it (403)"), std::string::npos)
      << refused.err;
  server->set("page=1,stuck");
  const Outcome stuck = with_url(list + "'s3://bucket/run 1/'");
  EXPECT_EQ(stuck.code, 1);
  EXPECT_NE(stuck.err.find("a page of names leads to itself"), std::string::npos) << stuck.err;
  server->set("deny=2:503");
  EXPECT_EQ(with_url("$H5MOUNT --list -o s3_endpoint=${U} s3://bucket/").out, "run 1\n");
}

TEST_F(RemotePrefixTest, ListsAreSigned) {
  serve({"--secret", "AKID:se/cret", "--region", "eu-south-1"});
  const std::string list = "AWS_SECRET_ACCESS_KEY=se/cret $H5MOUNT --list ";
  EXPECT_EQ(with_url("AWS_ACCESS_KEY_ID=AKID " + list + kPrefix).out, kNames);
  EXPECT_EQ(with_url("AWS_ACCESS_KEY_ID=OTHER " + list + kPrefix).code, 1);
}

TEST_F(RemotePrefixTest, OfH5mountsOwnEndpointIsTheDirectoryThatItServes) {
  const Outcome out = in(R"(echo AKID:a-secret-of-the-tests > key; chmod 600 key; mkfifo said
$H5MOUNT --serve 0 --s3 --s3-key-file=key -o match=-,passthrough www > said & server=$!
read line < said
export AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=a-secret-of-the-tests AWS_ENDPOINT_URL_S3=$line
$H5MOUNT --list s3://www/bucket/; $H5MOUNT --list 's3://www/bucket/run 1/'
$H5MOUNT --cat 's3://www/bucket/run 1/' other.h5/d 2026/c.nc/d > far
kill $server; wait
for f in 1 2; do $H5MOUNT --cat www/other.h5 d; done | cmp - far && echo equal)");
  EXPECT_EQ(out.out, std::string("run 1\n") + kNames + "equal\n") << out.err;
}

TEST_F(RemotePrefixMountTest, OneRequestMountsAndDirectoriesAreListedWhenTheyAreLookedInto) {
  ASSERT_EQ(with_url(std::string("$H5MOUNT ") + kPrefix + mount.path()).code, 0);
  EXPECT_LE(server->count(), 3) << server->requests();  // the prefix, and whether it has a key named .h5
  EXPECT_EQ(mount.in("od -An -tu1 2026/c.nc/d").out, "   0   1   2   3   4   5   6   7   8   9\n");
  EXPECT_EQ(mount.in("ls broken.h5; getfattr -n user.hdf5.error broken.h5 | grep -c hdf5.error=").out, "1\n");
  EXPECT_EQ(mount.in("readlink main.h5/near; cat main.h5/near | wc -c").out, "../other.h5/d\n10\n");
  EXPECT_EQ(mount.in("findmnt -no SOURCE .").out, "s3://bucket/run 1/\n");
  EXPECT_EQ(mount.in("ls -l; ls -l 2026").code, 0);
  const int before = server->count();
  EXPECT_EQ(mount.in("ls -l | wc -l; ls -l 2026 | wc -l").out, "6\n2\n");
  EXPECT_EQ(server->count(), before) << "what was listed holds for a minute";
}

TEST_F(RemotePrefixMountTest, SeveralStandSideBySideAndAreAskedForWhenTheyAreUsed) {
  std::ofstream(place / "list") << "s3://bucket/run 1/\ns3://none/run 1/\ns3://bucket/\n";
  ASSERT_EQ(with_url("$H5MOUNT -o s3_endpoint=${U} @list " + mount.path()).code, 0);
  EXPECT_EQ(mount.in("ls").out, "bucket\nrun 1\nrun 1 (2)\n");
  EXPECT_EQ(server->count(), 0);
  EXPECT_EQ(mount.in("od -An -tu1 'run 1/a+b%2541.h5/d' | wc -w").out, "10\n");
  const Outcome none = mount.in("ls 'run 1 (2)'; cat .h5/log");
  EXPECT_NE(none.out.find("s3://none/run 1/ cannot be listed: the server has no such object (404)"),
            std::string::npos)
      << none.out << none.err;
  EXPECT_NE(none.err.find("Input/output error"), std::string::npos) << none.err << none.out;
}

}  // namespace
}  // namespace h5mount::test

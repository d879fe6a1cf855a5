// URLs through the programs: mounts, commands without a mount, fsck.h5.
#include "remote_command.h"

namespace h5mount::test {
namespace {

TEST_F(RemoteCommandTest, CommandsWithoutAMountShowWhatTheyShowOfTheFile) {
  for (const char* command : {"--list -lR {}", "--cat {} packed numbers words /.h5/npy/packed.npy",
                              "--stat {} packed", "--text {}", "--tar {} numbers packed words"}) {
    const auto of = [&](const std::string& source) {
      std::string words = command;
      words.replace(words.find("{}"), 2, source);
      // Of a far file the blocks of chunks are an estimate.
      return with_url("$H5MOUNT " + words + " | sed 's/mtime=[0-9.]*//; s/\"blocks\":[0-9]*//' | sha256sum")
          .out;
    };
    EXPECT_EQ(of("${U}deep/main.h5"), of("www/deep/main.h5")) << command;
  }
  EXPECT_EQ(
      with_url("$H5MOUNT --copy ${U}deep/main.h5 packed copied && $H5MOUNT --cat www/deep/main.h5 packed | "
               "cmp - copied")
          .code,
      0);
  const Outcome checked = with_url("$F ${U}deep/main.h5 && $F --checksum=sha256 -q ${U}deep/main.h5");
  EXPECT_EQ(checked.code, 0) << checked.err << checked.out;
  EXPECT_EQ(checked.out.substr(checked.out.find('\n') + 1).empty(), false);
}

TEST_F(RemoteCommandTest, WhatCannotBeHadIsExitOneAndWhatIsNotHdf5Two) {
  const std::pair<const char*, int> cases[] = {
      {"${U}nothing.h5", 1},         {"http://127.0.0.1:1/x", 1},     {"http://no.such.host.invalid/x", 1},
      {"${U}!whole/../other.h5", 1}, {"${U}!fail=9:403/other.h5", 1}, {"${U}!gzip/other.h5", 1},
      {"${U}note.txt?secret=1", 2}};
  for (const auto& [url, code] : cases) {
    const Outcome out = with_url(std::string("$H5MOUNT -o timeout=2 --list \"") + url + "\"");
    EXPECT_EQ(out.code, code) << url << out.err;
    EXPECT_EQ(lines_in(out.err), 1) << out.err;
    EXPECT_EQ(out.err.find("secret"), std::string::npos) << out.err;
  }
  EXPECT_EQ(with_url("$F -q ${U}nothing.h5").code, 8);
  EXPECT_EQ(with_url("$H5MOUNT --list ftp://host/x").code, 1);
  EXPECT_EQ(with_url("mkdir m; $H5MOUNT -o survive ${U}other.h5 m").code, 1);
}

TEST_F(RemoteCommandTest, NamesInARemoteFileLeadBeneathItsOwnPlaceOnly) {
  const Outcome out = with_url(
      "for n in near below; do $H5MOUNT --cat ${U}deep/main.h5 $n | od -An -tu1 | tr -s ' '; done; "
      "$H5MOUNT --cat ${U}deep/main.h5 above; $H5MOUNT --cat ${U}deep/main.h5 local");
  EXPECT_EQ(out.out, " 0 1 2 3 4 5 6 7 8 9\n 0 1 2 3 4 5 6 7 8 9\n");
  EXPECT_EQ(lines_in(out.err), 2) << out.err;
  EXPECT_EQ(server->requests().find("etc/passwd"), std::string::npos) << "a name of this machine";
  EXPECT_EQ(server->requests().find("\"/other.h5\""), std::string::npos);
}

TEST_F(RemoteCommandTest, PasswordsAndHeadersGoToTheirOwnHostAlone) {
  const std::string list = "$H5MOUNT --list -o headers=h ";
  ASSERT_EQ(
      in("echo '127.0.0.1 Authorization: Bearer abc' > h; echo 'localhost X-Other: 1' >> h; chmod 600 h")
          .code,
      0);
  EXPECT_EQ(with_url(list + "${U}deep/main.h5").code, 0);
  EXPECT_NE(server->requests().find("Bearer abc"), std::string::npos);
  EXPECT_EQ(server->requests().find("x-other"), std::string::npos);
  server->reset();
  // A redirect to the same server under another name.
  EXPECT_EQ(
      with_url(list + "'" +
               server->url("!to=http:||localhost:" + std::to_string(server->port()) + "|deep|main.h5/x") +
               "'")
          .code,
      0);
  const std::string asked = server->requests();
  EXPECT_LT(asked.rfind("Bearer abc"), asked.find("\"host\": \"localhost")) << asked;
  const Outcome refused = with_url("chmod 644 h; " + list + "${U}deep/main.h5");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("chmod 600"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find("Bearer"), std::string::npos);

  server->set("login=me:p%20w");
  const std::string host = "127.0.0.1:" + std::to_string(server->port());
  EXPECT_EQ(with_url("$H5MOUNT --list 'http://me:p%20w@" + host + "/deep/main.h5'").code, 0);
  EXPECT_EQ(with_url("$H5MOUNT --list http://me:wrong@" + host + "/deep/main.h5").code, 1);
  server->set("login=me:pw");
  EXPECT_EQ(with_url("echo 'default login x password y machine 127.0.0.1 login me password pw' > .netrc; "
                     "HOME=$PWD $H5MOUNT --list ${U}deep/main.h5")
                .code,
            0);
}

TEST_F(RemoteCommandTest, OnlyWhatMayBeFetchedIsSalvaged) {
  const std::string bytes = std::to_string(std::filesystem::file_size(place / "www/headless.h5"));
  const auto cat = [&](const std::string& option, const std::string& file) {
    return with_url("$H5MOUNT --cat -o " + option + " ${U}" + file + " packed | cksum");
  };
  const std::string whole = in("$H5MOUNT --cat www/deep/main.h5 packed | cksum").out;
  const Outcome asked = cat("salvage", "headless.h5");
  EXPECT_NE(asked.err.find(" is not salvaged: all of it would be fetched, " + bytes + " bytes; salvage=far"),
            std::string::npos)
      << asked.err;
  EXPECT_NE(asked.out, whole);
  EXPECT_EQ(cat("salvage=far", "headless.h5").out, whole);
  EXPECT_EQ(cat("salvage=fill:far", "headless.h5").out, whole);
  EXPECT_EQ(cat("salvage", "deep/main.h5").out, whole) << "a sound one is not fetched";
  EXPECT_EQ(with_url("$H5MOUNT --cat -o salvage ${U}deep/main.h5 near | od -An -tu1 | tr -d ' \n'").out,
            "0123456789")
      << "nor is one that it names";
  const Outcome checked = with_url("$F --salvage ${U}headless.h5; $F --salvage=far ${U}headless.h5");
  EXPECT_NE(checked.err.find("all of it would be fetched, " + bytes), std::string::npos) << checked.err;
  EXPECT_NE(checked.out.find("salvage: found by"), std::string::npos) << checked.out;
}

TEST_F(RemoteCommandTest, S3RequestsAreSigned) {
  const std::string key = "a b+c=d:e!'()*@~%41.h5";
  std::filesystem::create_directories(place / "www/bucket.x");
  std::filesystem::copy_file(place / "www/other.h5", place / "www/bucket.x" / key);
  serve({"--secret", "AKID:se/cret", "--region", "eu-south-1"});
  const std::string list = "AWS_SECRET_ACCESS_KEY=se/cret $H5MOUNT --list -o s3_endpoint=${U} ";
  const Outcome listed = with_url("AWS_ACCESS_KEY_ID=AKID " + list + "\"s3://bucket.x/" + key + "\"");
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(listed.out, "d\n");
  EXPECT_EQ(server->count(), 2) << "the first answer names the region";
  EXPECT_EQ(
      with_url("AWS_REGION=eu-south-1 AWS_ACCESS_KEY_ID=AKID " + list + "\"s3://bucket.x/" + key + "\"").code,
      0);
  EXPECT_EQ(server->count(), 3);
  EXPECT_EQ(with_url("AWS_ACCESS_KEY_ID=OTHER " + list + "\"s3://bucket.x/" + key + "\"").code, 1);
  EXPECT_EQ(with_url("AWS_ACCESS_KEY_ID=AKID " + list + "-o anonymous \"s3://bucket.x/" + key + "\"").code,
            1);
}

TEST_F(RemoteCommandTest, UrlsAreServed) {
  const Outcome out =
      with_url(R"(mkfifo said; $H5MOUNT --serve 0 ${U}deep/main.h5?sig=hidden > said & served=$!
read line < said
curl -sf ${line}main.h5/packed > packed || curl -sf ${line}packed > packed
curl -s -o /dev/null -w '%{http_code} ' ${line}nothing
curl -s ${line}.h5/status ${line}main.h5/.h5/status | grep -c hidden
kill $served; wait
$H5MOUNT --cat www/deep/main.h5 packed | cmp - packed && echo equal)");
  EXPECT_EQ(out.out, "404 0\nequal\n") << out.err;
}

TEST_F(RemoteCommandTest, FsckTakesTheOptionsOfUrls) {
  server->set("login=me:pw");
  EXPECT_EQ(in("echo 'machine 127.0.0.1 login me password pw' > .netrc; echo 'host X: y' > h").code, 0);
  EXPECT_EQ(with_url("HOME=$PWD $F -q -o timeout=5,validate=size ${U}deep/other.h5").code, 0);
  EXPECT_EQ(with_url("$F -q ${U}deep/other.h5").code, 8);
  const Outcome open_headers = with_url("chmod 644 h; HOME=$PWD $F -q -o headers=h ${U}deep/other.h5");
  EXPECT_EQ(open_headers.code, 8);
  EXPECT_NE(open_headers.err.find("chmod 600"), std::string::npos) << open_headers.err;
  const Outcome unknown = with_url("$F -o timeuot=5 ${U}deep/other.h5");
  EXPECT_EQ(unknown.code, 16);
  EXPECT_NE(unknown.err.find("did you mean timeout="), std::string::npos) << unknown.err;
}

TEST_F(RemoteCommandTest, EveryRequestIsALineOfTheDebugLog) {
  const Outcome out =
      with_url("$H5MOUNT -o log_level=debug --list '" + server->url("deep/main.h5?secret") + "'");
  EXPECT_NE(out.err.find("/deep/main.h5: bytes 0 to "), std::string::npos) << out.err;
  EXPECT_EQ(out.err.find("secret"), std::string::npos) << out.err;
}

// Small chunks, each less than a request, are asked for far enough ahead that one answer's delay is not
// waited for after another's.
TEST_F(RemoteCommandTest, AForwardReaderOfChunksHasManyRequestsUnderWay) {
  ASSERT_EQ(in(R"(/usr/bin/python3 - <<'END'
import h5py, numpy as np
with h5py.File('www/chunks.h5', 'w', libver='latest') as f:
    f.create_dataset('d', data=np.arange(12 << 20, dtype='<u4'), chunks=(1 << 16,))
END)")
                .code,
            0);
  server->set("delay=0.1");
  const std::string cat = " d | sha256sum";
  EXPECT_EQ(with_url("$H5MOUNT --cat ${U}chunks.h5" + cat).out, in("$H5MOUNT --cat www/chunks.h5" + cat).out);
  EXPECT_GE(server->most_at_once(), 6);
  EXPECT_LE(server->most_at_once(), 16);
  EXPECT_LT(server->count(), 48) << "192 chunks of 256 KiB";
}

// ---- the disk cache

TEST_F(RemoteCommandTest, WhatCameIsKeptOnDiskForTheNextRun) {
  if (!disk_has_room()) GTEST_SKIP() << "the disk is nearly full";
  const std::string cat = "$H5MOUNT --cat -o disk_cache=kept ${U}deep/main.h5 packed numbers | sha256sum";
  const std::string local = in("$H5MOUNT --cat www/deep/main.h5 packed numbers | sha256sum").out;
  EXPECT_EQ(with_url(cat).out, local);
  EXPECT_GT(server->count(), 1);
  server->reset();
  EXPECT_EQ(with_url(cat).out, local);
  EXPECT_EQ(server->count(), 1) << server->requests();
  server->reset();
  EXPECT_EQ(
      with_url("$F -q -o disk_cache=kept ${U}deep/main.h5 && $H5MOUNT --copy -o disk_cache=kept "
               "${U}deep/main.h5 packed copied && $H5MOUNT --cat www/deep/main.h5 packed | cmp - copied")
          .code,
      0);
  // Whoever may not read it gets nothing of it, and another object is another one.
  server->set("fail=9:403");
  EXPECT_EQ(with_url(cat).out, in("sha256sum < /dev/null").out);
  server->set();
  EXPECT_EQ(
      in("/usr/bin/python3 -c \"import h5py; h5py.File('www/deep/main.h5', 'a')['numbers'][7] = 1\"").code,
      0);
  EXPECT_EQ(with_url(cat).out, in("$H5MOUNT --cat www/deep/main.h5 packed numbers | sha256sum").out);
}

TEST_F(RemoteCommandTest, TheDiskCacheHoldsNoSecret) {
  if (!disk_has_room()) GTEST_SKIP() << "the disk is nearly full";
  const std::string host = "127.0.0.1:" + std::to_string(server->port());
  const auto cat = [&](const std::string& query) {
    server->reset();
    return with_url("$H5MOUNT --cat -o disk_cache=kept 'http://me:pass@" + host + "/deep/main.h5?" + query +
                    "' numbers | tail -c 4 | od -An -tu4")
        .out;
  };
  EXPECT_EQ(cat("X-Amz-Date=1&X-Amz-Signature=hidden"), "     499999\n");
  EXPECT_EQ(cat("X-Amz-Date=2&X-Amz-Signature=secret"), "     499999\n");
  EXPECT_EQ(server->count(), 1) << "another signature for the same object";
  EXPECT_EQ(
      in("ls -R kept; stat -c %a kept; grep -rcE 'hidden|secret|me:pass|deep|main' kept | grep -v ':0$'")
          .out.find("main"),
      std::string::npos);
  EXPECT_EQ(in("grep -rE 'hidden|secret|me:pass|deep.main' kept | wc -l").out, "0\n");
}

TEST_F(RemoteCommandTest, WhatHasNoVersionIsNotKept) {
  for (const char* faults : {"tag=-,time=-", "tag=W%2F%22weak%22,time=-"}) {
    server->set(faults);
    for (int i = 0; i < 2; ++i) {
      server->reset();
      EXPECT_EQ(with_url("$H5MOUNT --cat -o disk_cache=kept ${U}deep/main.h5 numbers | wc -c").out,
                "2000000\n");
      EXPECT_GT(server->count(), 1) << faults;
    }
  }
}

TEST_F(RemoteCommandTest, ADiskCacheWhereOthersMayWriteIsExitOne) {
  ASSERT_EQ(in("mkdir -m 777 open").code, 0);
  const Outcome refused = with_url(
      "$H5MOUNT --cat -o disk_cache=open ${U}deep/main.h5 numbers | wc -c; mkdir m; "
      "echo ${U}deep/main.h5 > list; $H5MOUNT -o disk_cache=open @list m");
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "0\n");
  EXPECT_EQ(lines_in(refused.err), 2) << refused.err;
  EXPECT_NE(refused.err.find("others may write there"), std::string::npos) << refused.err;
  EXPECT_EQ(server->count(), 0);
  EXPECT_EQ(with_url("$H5MOUNT --list -o disk_cache=kept,disk_cache_size=1000 ${U}other.h5").code, 1);
  EXPECT_EQ(
      with_url("HOME=$PWD XDG_CACHE_HOME= $H5MOUNT --list -o disk_cache=$PWD/home/h5mount ${U}other.h5").code,
      0);
}

// ---- mounts

TEST_F(RemoteMountTest, OneRequestMounts) {
  mounts(server->url("deep/other.h5"));
  EXPECT_EQ(mount.in("ls -l; od -An -tu1 d; getfattr -d d").code, 0);
  EXPECT_EQ(mount.in("grep '^remote_requests' .h5/status").out, "remote_requests: 1\n");
}

TEST_F(RemoteMountTest, MountsShareADiskCache) {
  if (!disk_has_room()) GTEST_SKIP() << "the disk is nearly full";
  const std::string cache = "-o disk_cache=" + (place / "kept").string();
  const std::string local = in("$H5MOUNT --cat www/deep/main.h5 packed numbers | sha256sum").out;
  mounts(server->url("deep/main.h5"), cache);
  MountPoint second;
  ASSERT_EQ(with_url("$H5MOUNT " + cache + " ${U}deep/main.h5 " + second.path()).code, 0);
  server->reset();
  EXPECT_EQ(mount.in("cat packed numbers | sha256sum").out, local);
  const int first = server->count();
  EXPECT_GT(first, 0);
  const std::string kept = "find kept -size +1900k | wc -l";
  for (int i = 0; i < 100 && in(kept).out == "0\n"; ++i) ::usleep(100'000);
  EXPECT_EQ(second.in("cat packed numbers | sha256sum").out, local);
  EXPECT_EQ(server->count(), first);
  EXPECT_NE(second.in("grep '^disk_cache_hits' .h5/status").out, "disk_cache_hits: 0\n");
}

TEST_F(RemoteMountTest, BytesAreThoseOfTheFile) {
  mounts(server->url("deep/main.h5"));
  const std::string local = in("$H5MOUNT --cat www/deep/main.h5 packed numbers | sha256sum").out;
  EXPECT_EQ(mount.in("cat packed numbers | sha256sum").out, local);
  EXPECT_EQ(mount.in("cat near | od -An -tu1 | tr -s ' '").out, " 0 1 2 3 4 5 6 7 8 9\n");
}

TEST_F(RemoteMountTest, NoSecretIsShown) {
  const std::string host = "127.0.0.1:" + std::to_string(server->port());
  mounts("http://me:pass@" + host + "/deep/main.h5?sig=hidden");
  const Outcome shown = mount.in(
      "findmnt -no SOURCE .; df . ; cat .h5/status .h5/log .h5/list.txt; getfattr -d . words; "
      "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep h5mount; done 2>/dev/null");
  EXPECT_NE(shown.out.find("http://" + host + "/deep/main.h5"), std::string::npos) << shown.out;
  for (const char* secret : {"pass", "sig=", "hidden"})
    EXPECT_EQ(shown.out.find(std::string(secret) + "\n"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("sig=hidden"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("me:pass"), std::string::npos) << shown.out;
}

TEST_F(RemoteMountTest, AnObjectThatIsReplacedIsStaleAndTakenUpByReload) {
  const std::string other =
      "/usr/bin/python3 -c \"import h5py, numpy as np; f = h5py.File('new.h5', 'w'); "
      "f['numbers'] = np.arange(3000000, dtype='<i4'); f.close()\" && mv new.h5 www/deep/main.h5";
  mounts(server->url("deep/main.h5"));
  std::ofstream(place / "make") << other;
  ASSERT_EQ(in("sh make").code, 0);
  const Outcome read = mount.in("tail -c 4 numbers");
  EXPECT_NE(read.err.find("Stale file handle"), std::string::npos) << read.err;
  EXPECT_NE(mount.in("ls -l").err.find("Stale file handle"), std::string::npos);
  MountPoint second;
  ASSERT_EQ(with_url("$H5MOUNT -o reload '" + server->url("deep/main.h5?sig=1") + "' " + second.path()).code,
            0);
  EXPECT_EQ(second.in("stat -c %s numbers").out, "12000000\n");
  ASSERT_EQ(in("sed -i 's/3000000/4000000/' make; sh make").code, 0);
  (void)second.in("tail -c 4 numbers");  // meets the new one
  const Outcome after = second.in(
      "for i in $(seq 50); do [ \"$(stat -c %s numbers 2>&1)\" = 16000000 ] && break; sleep 0.2; done; "
      "stat -c %s numbers; tail -c 4 numbers | od -An -tu4");
  EXPECT_EQ(after.out, "16000000\n    3999999\n") << after.err;
}

TEST_F(RemoteMountTest, SeveralUrlsAreAskedForWhenTheyAreUsed) {
  std::ofstream(place / "list") << server->url("deep/other.h5?sig=hidden") << "\n# a comment\n"
                                << server->url("nothing.h5") << "\n"
                                << server->url("!login=user:word/private.h5") << "\n"
                                << (place / "www/other.h5").string() << "\n";
  ASSERT_EQ(in("$H5MOUNT @list " + mount.path()).code, 0);
  EXPECT_EQ(mount.in("ls").out, "nothing.h5\nother.h5\nother.h5 (2)\nprivate.h5\n");
  EXPECT_EQ(server->count(), 0);
  EXPECT_EQ(mount.in("od -An -tu1 other.h5/d; getfattr -n user.hdf5.error nothing.h5 | grep -c 404").out,
            "   0   1   2   3   4   5   6   7   8   9\n1\n");
  const Outcome gone = mount.in("ls nothing.h5; ls nothing.h5/.h5");
  EXPECT_EQ(gone.out, "");
  EXPECT_EQ(lines_in(gone.err), 2) << gone.err;
  EXPECT_NE(gone.err.find("Stale file handle"), std::string::npos) << gone.err;
  const Outcome refused = mount.in("ls private.h5");
  EXPECT_NE(refused.err.find("Permission denied"), std::string::npos) << refused.err;
  const Outcome all = in("$H5MOUNT --list -R @list");
  EXPECT_EQ(all.code, 1);
  EXPECT_NE(all.err.find("nothing.h5"), std::string::npos) << all.err;
  EXPECT_NE(all.err.find("private.h5"), std::string::npos) << all.err;
  ASSERT_EQ(in("cp www/other.h5 www/nothing.h5").code, 0);
  const Outcome there = mount.in("sleep 1.1; ls nothing.h5");
  EXPECT_EQ(there.out, "d\n") << there.err;
}

// Far objects' headers are asked for together: 16 requests are under way at once, where each had waited for
// the one before.
TEST_F(RemoteMountTest, ALongListingAsksForHeadersTogether) {
  const Outcome made = in(R"(/usr/bin/python3 - <<'END'
import h5py, numpy as np
with h5py.File('www/many.h5', 'w', libver='latest') as f:
    for i in range(1000):
        f.create_group(f'g{i:04}')
        f[f'd{i:04}'] = np.zeros(5000, 'f8')
END)");
  ASSERT_EQ(made.code, 0) << made.err;
  mounts(server->url("many.h5"));
  EXPECT_EQ(mount.in("ls -l | wc -l").out, "2001\n");
  EXPECT_GT(server->count(), 100);  // they lie too far apart to be joined
  const std::string rounds = mount.in("sed -n 's/^remote_rounds: //p' .h5/status").out;
  EXPECT_LT(std::stoi(rounds), 40) << rounds;
}

// Counting them would read the index of each dataset.
TEST_F(RemoteMountTest, BlocksOfChunksAreEstimatedFromTheSize) {
  mounts(server->url("deep/main.h5"));
  EXPECT_EQ(mount.in("stat -c '%s %b' packed").out, "800000 1563\n") << "they are compressed";
  EXPECT_EQ(mount.in("cksum < packed").out, in("$H5MOUNT --cat www/deep/main.h5 packed | cksum").out);
}

TEST_F(RemoteMountTest, AServerThatIsSilentIsAnErrorAndHoldsUpNoUmount) {
  mounts(server->url("deep/main.h5"), "-o timeout=2");
  server->pause(true);
  const Outcome read = mount.in("timeout -s KILL 20 tail -c 4 numbers");
  EXPECT_NE(read.err.find("Input/output error"), std::string::npos) << read.err;
  const Outcome waiting =
      run("cd / && (tail -c 4000 " + mount.path("numbers") + " >/dev/null 2>&1 &) ; sleep 0.3; umount -l " +
          mount.path() + " || fusermount3 -uz " + mount.path());
  EXPECT_EQ(waiting.code, 0) << waiting.err;
  EXPECT_TRUE(mount.gone());
  server->pause(false);
}

}  // namespace
}  // namespace h5mount::test

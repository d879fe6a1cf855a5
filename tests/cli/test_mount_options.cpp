#include "words/mount_options.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/corpus.h"

namespace h5mount::cli {
namespace {

MountOptions parsed(const std::vector<std::string>& texts) {
  auto out = parse_mount_options(texts, false);
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out.value_or(MountOptions{});
}

std::string trouble(const std::string& text) {
  const auto out = parse_mount_options({text}, false);
  return out ? "" : out.error().text();
}

TEST(SplitOptions, AtCommasButNotEscapedOnes) {
  EXPECT_EQ(split_options("a,b=1"), (std::vector<std::string>{"a", "b=1"}));
  EXPECT_EQ(split_options("fsname=a\\,b\\\\c,,ro,"), (std::vector<std::string>{"fsname=a,b\\c", "ro"}));
  EXPECT_TRUE(split_options("").empty());
  EXPECT_EQ(split_options(R"(join=+run:run_(\d+)\.h5,ro\)"),
            (std::vector<std::string>{R"(join=+run:run_(\d+)\.h5)", R"(ro\)"}));
}

TEST(MountOptionsTest, OfJoining) {
  EXPECT_FALSE(parsed({"ro"}).join);
  const MountOptions options = parsed({"join=time", "join_order=name,join_conflict=first,join_gap=refuse"});
  ASSERT_TRUE(options.join);
  EXPECT_EQ(options.join->axis.name, "time");
  EXPECT_EQ(options.join->order, join::Order::Name);
  EXPECT_EQ(options.join->conflict, join::Conflict::First);
  EXPECT_EQ(options.join->gap, join::Gap::Refuse);
  EXPECT_EQ(parsed({"join=time"}).join->conflict, join::Conflict::Decode);
  EXPECT_EQ(trouble("join_gap=fill"), "options join_* need join=");
  EXPECT_NE(trouble("join=time,join_order=size").find("coordinate, name or given"), std::string::npos);
}

TEST(MountOptionsTest, TakesWhatMountPasses) {
  const MountOptions options =
      parsed({"rw,dev,suid,exec,relatime,nofail,_netdev,noauto,user,x-systemd.automount,x-gvfs-show,comment="
              "a,defaults"});
  EXPECT_EQ(options.for_libfuse, std::vector<std::string>{"exec"});
}

TEST(MountOptionsTest, OwnersAndMasks) {
  const MountOptions options = parsed({"uid=5,gid=6,umask=027", "fmask=0077"});
  EXPECT_EQ(options.uid, 5U);
  EXPECT_EQ(options.gid, 6U);
  EXPECT_EQ(options.file_umask, 077U);
  EXPECT_EQ(options.directory_umask, 027U);
}

TEST(MountOptionsTest, ALaterOneWins) {
  EXPECT_EQ(parsed({"uid=5", "uid=7"}).uid, 7U);
}

TEST(MountOptionsTest, OurOwn) {
  const MountOptions options =
      parsed({"cache_size=64M,threads=3,external=any,swmr=off,force,log_level=debug,fsname=x,subtype=y,max_"
              "read=65536"});
  EXPECT_EQ(options.cache_bytes, 64U << 20);
  EXPECT_EQ(options.threads, 3U);
  EXPECT_EQ(options.external, object::ExternalPolicy::Any);
  EXPECT_EQ(options.swmr, Swmr::Off);
  EXPECT_TRUE(options.force);
  EXPECT_EQ(options.log_level, LogLevel::Debug);
  EXPECT_EQ(options.fsname, "x");
  EXPECT_EQ(options.subtype, "y");
  EXPECT_EQ(options.max_read, 65'536U);
}

TEST(MountOptionsTest, ExternalTakesAWordOrDirectories) {
  const MountOptions listed = parsed({"external=/usr:/etc"});
  EXPECT_EQ(listed.external, object::ExternalPolicy::Listed);
  EXPECT_EQ(listed.external_directories, (std::vector<std::string>{"/usr", "/etc"}));
  const MountOptions both = parsed({"external=beneath:/usr"});
  EXPECT_EQ(both.external, object::ExternalPolicy::Beneath);
  EXPECT_EQ(both.external_directories, std::vector<std::string>{"/usr"});
  EXPECT_EQ(parsed({"external=/usr", "external=none"}).external, object::ExternalPolicy::None);
  EXPECT_TRUE(parsed({"external=/usr", "external=any"}).external_directories.empty());
  EXPECT_NE(trouble("external=/usr:/nowhere/at/all").find("existing directories"), std::string::npos);
  EXPECT_NE(trouble("external=any:/usr").find("existing directories"), std::string::npos);
}

TEST(MountOptionsTest, SurviveMayNameTheSecondsThatAnUpgradeMayTake) {
  EXPECT_TRUE(parsed({"survive"}).survive);
  EXPECT_EQ(parsed({"survive"}).patience, std::chrono::seconds(30));
  EXPECT_TRUE(parsed({"survive=5"}).survive);
  EXPECT_EQ(parsed({"survive=5"}).patience, std::chrono::seconds(5));
  for (const std::string wrong : {"survive=0", "survive=3601", "survive=5s"})
    EXPECT_NE(trouble(wrong).find("must be a number of seconds from 1 to 3600"), std::string::npos) << wrong;
}

TEST(MountOptionsTest, AllowOtherIsPassedOnAndRemembered) {
  const MountOptions options = parsed({"allow_other,auto_unmount"});
  EXPECT_TRUE(options.allow_other);
  EXPECT_EQ(options.for_libfuse, (std::vector<std::string>{"allow_other", "auto_unmount"}));
}

TEST(MountOptionsTest, TroubleNamesTheOption) {
  EXPECT_NE(trouble("frobnicate").find("'frobnicate'"), std::string::npos);
  EXPECT_NE(trouble("frobnicate=3").find("'frobnicate='"), std::string::npos);
  EXPECT_NE(trouble("uid=me").find("uid=me"), std::string::npos);
  EXPECT_NE(trouble("umask=9").find("octal"), std::string::npos);
  EXPECT_NE(trouble("umask=7777").find("octal"), std::string::npos);
  EXPECT_NE(trouble("cache_size=lots").find("cache_size"), std::string::npos);
  EXPECT_NE(trouble("threads=0").find("threads"), std::string::npos);
  EXPECT_NE(trouble("external=all").find("beneath"), std::string::npos);
  EXPECT_NE(trouble("swmr=maybe").find("auto"), std::string::npos);
  EXPECT_NE(trouble("max_read=1").find("max_read"), std::string::npos);
  EXPECT_NE(trouble("fsname=").find("fsname"), std::string::npos);
  EXPECT_NE(trouble("plugins=/x").find("directories"), std::string::npos);
}

TEST(MountOptionsTest, UsersAndGroupsByName) {
  const MountOptions options = parsed({"uid=root,gid=root"});
  EXPECT_EQ(options.uid, 0U);
  EXPECT_EQ(options.gid, 0U);
  EXPECT_NE(trouble("uid=no-such-user").find("name of a user"), std::string::npos);
  EXPECT_NE(trouble("gid=no-such-group").find("name of a group"), std::string::npos);
  EXPECT_NE(trouble("uid=4294967295").find("uid="), std::string::npos);  // (uid_t)-1 is no user
}

TEST(MountOptionsTest, ValuesAreThereWhereTheyBelong) {
  for (const std::string_view name : mount_option_names()) {
    const std::string bare(name);
    const bool flag = trouble(bare).empty();
    if (name == "salvage") {  // may have one
      EXPECT_TRUE(flag);
      EXPECT_NE(trouble("salvage=1").find("must be fill"), std::string::npos);
      EXPECT_NE(trouble("salvage=").find("needs a value"), std::string::npos);
    } else if (name == "survive") {
      EXPECT_TRUE(flag);
      EXPECT_NE(trouble("survive=now").find("must be a number of seconds"), std::string::npos);
      EXPECT_NE(trouble("survive=").find("needs a value"), std::string::npos);
    } else if (name == "disk_cache") {  // without one there is a usual directory where there is a home
      EXPECT_TRUE(trouble("disk_cache=kept").empty());
      EXPECT_NE(trouble("disk_cache=").find("needs a value"), std::string::npos);
    } else if (flag) {
      EXPECT_NE(trouble(bare + "=1").find("takes no value"), std::string::npos) << name;
    } else {
      EXPECT_NE(trouble(bare).find("needs a value: " + bare + "="), std::string::npos) << name;
      EXPECT_NE(trouble(bare + "=").find("needs a value: " + bare + "="), std::string::npos) << name;
    }
  }
}

TEST(MountOptionsTest, NearMisses) {
  EXPECT_NE(trouble("cachesize=1").find("did you mean cache_size=?"), std::string::npos);
  EXPECT_NE(trouble("Allow-Other").find("did you mean allow_other?"), std::string::npos);
  EXPECT_NE(trouble("extrenal=any").find("did you mean external=?"), std::string::npos);
  EXPECT_NE(trouble("gdi=1").find("unknown"), std::string::npos);
  EXPECT_EQ(trouble("frobnicate").find("did you mean"), std::string::npos);
  EXPECT_EQ(trouble(std::string(10'000, 'u')).find("did you mean"), std::string::npos);
}

TEST(MountOptionsTest, NoRemount) {
  EXPECT_NE(trouble("remount,ro").find("umount and mount again"), std::string::npos);
  EXPECT_FALSE(parse_mount_options({"remount"}, true));
}

// Each has its line in --help and in the manual.
TEST(MountOptionsTest, EachIsDocumented) {
  const std::string help = mount_options_help();
  std::ifstream file(test::source_root() / "docs" / "man" / "h5mount.1.md");
  const std::string manual{std::istreambuf_iterator<char>(file), {}};
  for (const std::string_view name : mount_option_names()) {
    EXPECT_NE(help.find(" " + std::string(name)), std::string::npos) << name;
    EXPECT_TRUE(mount_option_help(name).starts_with("-o " + std::string(name))) << name;
    EXPECT_NE(manual.find("`" + std::string(name)), std::string::npos) << name;
  }
}

TEST(MountOptionsTest, PluginsAreDirectoriesThatAreThere) {
  const auto options = parse_mount_options({"plugins=/usr/../usr:/tmp"}, false);
  ASSERT_TRUE(options) << options.error().text();
  EXPECT_EQ(options->plugins, (std::vector<std::string>{"/usr", "/tmp"}));
}

TEST(MountOptionsTest, SloppyLetsUnknownOnesPassButNotBadValues) {
  EXPECT_TRUE(parse_mount_options({"frobnicate,other=2"}, true));
  EXPECT_FALSE(parse_mount_options({"uid=me"}, true));
}

TEST(MountOptionsTest, APolicyIsReadAtOnce) {
  EXPECT_EQ(parsed({"ro"}).policy, nullptr);
  ASSERT_NE(parsed({"policy=trusted"}).policy, nullptr);
  EXPECT_EQ(parsed({"policy=trusted"}).policy->name, "trusted");
  EXPECT_NE(trouble("policy=/no/such/file").find("/no/such/file"), std::string::npos);
  EXPECT_NE(trouble("policy=untrusted,salvage").find("salvage"), std::string::npos);
  EXPECT_NE(trouble("policy=").find("untrusted|trusted|FILE"), std::string::npos);
}

}  // namespace
}  // namespace h5mount::cli

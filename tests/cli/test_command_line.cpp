#include "words/command_line.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <regex>
#include <set>
#include <sstream>

#include <filesystem>
#include <fstream>

#include "h5mount/base/deflate.h"

namespace h5mount::cli {
namespace {

Result<Command> parse(std::vector<const char*> words) {
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

MountCommand command(std::vector<const char*> words) {
  const auto out = parse(std::move(words));
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out && std::holds_alternative<MountCommand>(*out) ? std::get<MountCommand>(*out) : MountCommand{};
}

TEST(CommandLine, OptionsBeforeAfterAndBetween) {
  for (const auto& words :
       std::vector<std::vector<const char*>>{{"h5mount", "-o", "uid=5,gid=6", "/a.h5", "/m"},
                                             {"h5mount", "/a.h5", "/m", "-o", "uid=5", "-o", "gid=6"},
                                             {"h5mount", "/a.h5", "-ouid=5", "/m", "-o", "gid=6"}}) {
    const MountCommand out = command(words);
    EXPECT_EQ(out.sources.paths, std::vector<std::string>{"/a.h5"});
    EXPECT_EQ(out.mountpoint, "/m");
    EXPECT_EQ(out.options.uid, 5U);
    EXPECT_EQ(out.options.gid, 6U);
  }
}

TEST(CommandLine, Flags) {
  const MountCommand out = command({"h5mount", "-f", "-s", "/a.h5", "/m"});
  EXPECT_TRUE(out.foreground);
  EXPECT_TRUE(out.single_thread);
  EXPECT_FALSE(out.debug);
  EXPECT_TRUE(command({"h5mount", "-d", "/a.h5", "/m"}).foreground);
}

TEST(CommandLine, PathsBecomeAbsolute) {
  const MountCommand out = command({"h5mount", "a.h5", "m/"});
  const auto here = std::filesystem::current_path();
  EXPECT_EQ(out.sources.paths, std::vector{(here / "a.h5").string()});
  EXPECT_EQ(out.mountpoint, here / "m");
}

TEST(CommandLine, UsageTrouble) {
  EXPECT_FALSE(parse({"h5mount"}));
  EXPECT_FALSE(parse({"h5mount", "@-"}));
  EXPECT_FALSE(parse({"h5mount", "@/no/such/list", "/m"}));
  EXPECT_FALSE(parse({"mount.h5", "/a.h5"}));
  EXPECT_FALSE(parse({"mount.h5", "/a.h5", "/b.h5", "/m"}));
  EXPECT_FALSE(parse({"h5mount", "-z", "/a.h5", "/m"}));
  EXPECT_FALSE(parse({"h5mount", "-o", "frobnicate", "/a.h5", "/m"}));
  EXPECT_EQ(parse({"h5mount", "-z", "/a.h5", "/m"}).error().text().find('\n'), std::string::npos);
}

TEST(CommandLine, FlagsTakeNoValue) {
  for (const char* word : {"--foreground=yes", "--debug=1", "--single-thread=no"}) {
    const auto out = parse({"h5mount", word, "/a.h5", "/m"});
    ASSERT_FALSE(out) << word;
    EXPECT_NE(out.error().text().find("takes no value"), std::string::npos) << out.error().text();
  }
}

TEST(CommandLine, Serve) {
  const auto served = [](std::vector<const char*> words) {
    const auto out = parse(std::move(words));
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out && std::holds_alternative<ServeCommand>(*out) ? std::get<ServeCommand>(*out) : ServeCommand{};
  };
  const ServeCommand one = served({"h5mount", "--serve", "8000", "/a.h5", "/b.h5", "-o", "uid=5"});
  EXPECT_EQ(one.sources.paths, (std::vector<std::string>{"/a.h5", "/b.h5"}));
  EXPECT_EQ(one.place.address, "127.0.0.1");
  EXPECT_EQ(one.place.port, 8000);
  EXPECT_EQ(one.cors_origin, "");
  const std::pair<const char*, std::pair<const char*, int>> places[] = {{"0", {"127.0.0.1", 0}},
                                                                        {"localhost:1", {"127.0.0.1", 1}},
                                                                        {"*:65535", {"0.0.0.0", 65535}},
                                                                        {"[::1]:80", {"::1", 80}},
                                                                        {"10.0.0.1:80", {"10.0.0.1", 80}}};
  for (const auto& [text, place] : places) {
    const ServeCommand command =
        served({"h5mount", "--serve", text, "--cors=https://a.example:8443", "/a.h5"});
    EXPECT_EQ(command.place.address, place.first) << text;
    EXPECT_EQ(command.place.port, place.second) << text;
    EXPECT_EQ(command.cors_origin, "https://a.example:8443");
  }
  for (const char* text : {"", "x", "65536", "-1", "1x", "a.example:80", "::1", "[::1]", "127.0.0.1:", ":80"})
    EXPECT_FALSE(parse({"h5mount", "--serve", text, "/a.h5"})) << text;
  EXPECT_FALSE(parse({"h5mount", "--serve", "80"}));
  EXPECT_FALSE(parse({"h5mount", "--serve"}));
  EXPECT_FALSE(parse({"h5mount", "--serve", "80", "/a.h5", "--cors", "a.example"}));
  EXPECT_FALSE(parse({"h5mount", "--serve", "80", "ftp://a.example/a.h5"}));
}

std::string refusal(std::vector<const char*> words) {
  const auto out = parse(std::move(words));
  return out ? "" : out.error().text();
}

TEST(CommandLine, TheHelperRefusesAnotherNamespace) {
  EXPECT_TRUE(parse({"mount.h5", "/a.h5", "/m", "-o", "ro"}));
  EXPECT_NE(refusal({"mount.h5", "/a.h5", "/m", "-N", "77"}).find("nsenter --target 77 --mount"),
            std::string::npos);
  EXPECT_NE(refusal({"mount.h5", "/a.h5", "/m", "-N", "/run/ns"}).find("nsenter --mount=/run/ns"),
            std::string::npos);
}

TEST(CommandLine, UsageTroubleIsNamed) {
  EXPECT_NE(refusal({"h5mount", "@-"}).find("MOUNTPOINT"), std::string::npos);
  EXPECT_NE(refusal({"h5mount", "/a.h5", "/m", "-o"}).find("-o needs options"), std::string::npos);
  EXPECT_NE(refusal({"h5mount", "--cache-size=1M", "/a.h5", "/m"}).find("-o cache_size="), std::string::npos);
  EXPECT_NE(refusal({"h5mount", "--forground", "/a.h5", "/m"}).find("--foreground?"), std::string::npos);
  EXPECT_NE(refusal({"h5mount", "-z", "/a.h5", "/m"}).find("unknown option -z"), std::string::npos);
  EXPECT_NE(refusal({"h5mount", "ftp://host/a.h5", "/m"}).find("URL"), std::string::npos);
  EXPECT_NE(refusal({"h5mount", "/tmp", "/etc/passwd"}).find("swapped?"), std::string::npos);
}

TEST(CommandLine, SeveralSourcesAndThoseThatAListNames) {
  const MountCommand several = command({"h5mount", "/a.h5", "/b.h5", "-o", "uid=5", "/c", "/m/"});
  EXPECT_EQ(several.sources.paths, (std::vector<std::string>{"/a.h5", "/b.h5", "/c"}));
  EXPECT_EQ(several.sources.name(), "/a.h5 and 2 more");
  EXPECT_EQ(several.mountpoint, "/m");
  EXPECT_TRUE(several.sources.many());
  const auto list = std::filesystem::temp_directory_path() / "h5mount-list";
  std::ofstream(list) << "# two of them\n/usr\n\n/usr/../etc/passwd\r\nhttp://host/x";
  const std::string word = "@" + list.string();
  EXPECT_EQ(command({"h5mount", word.c_str(), "/m"}).sources.paths,
            (std::vector<std::string>{"/usr", "/etc/passwd", "http://host/x"}));
  std::filesystem::remove(list);
}

// As root `@/etc/shadow` would show a line of it, and @/dev/zero would be read for ever.
TEST(CommandLine, WhatIsNoListOfSourcesIsRefusedAndNotShown) {
  const auto list = std::filesystem::temp_directory_path() / "h5mount-no-list";
  const std::string word = "@" + list.string();
  const auto told = [&](const std::string& text) {
    std::ofstream(list, std::ios::binary) << text;
    const std::string out = refusal({"h5mount", word.c_str(), "/m"});
    EXPECT_EQ(out.find("secret"), std::string::npos) << out;
    return out;
  };
  EXPECT_NE(told("# one\nroot:secret:19000:0:99999:7:::\n").find("line 2: no such file"), std::string::npos);
  EXPECT_NE(told("/usr\nsecret").find("line 2: no such file"), std::string::npos);
  EXPECT_NE(told("/usr\nftp://me:secret@host/\n").find("line 2: "), std::string::npos);
  EXPECT_NE(told(std::string("secret\0\n", 8)).find("line 1: "), std::string::npos);
  EXPECT_NE(told("/usr\n" + std::string(200'000, '\0')).find("line 2: "), std::string::npos);
  EXPECT_NE(told(std::string(100'000, '#')).find("longer"), std::string::npos);
  std::filesystem::remove(list);
  ASSERT_EQ(::mkfifo(list.c_str(), 0600), 0);
  EXPECT_NE(refusal({"h5mount", word.c_str(), "/m"}).find("no regular file"), std::string::npos);
  std::filesystem::remove(list);
  for (const char* device : {"@/dev/zero", "@/dev/null", "@/dev/tty"})
    EXPECT_FALSE(refusal({"h5mount", device, "/m"}).empty()) << device;
}

TEST(CommandLine, AMountPointIsNamedAfterItsSource) {
  const auto here = std::filesystem::current_path();
  const auto made = [](const char* source) {
    const MountCommand out = command({"h5mount", source});
    EXPECT_TRUE(out.makes_mountpoint);
    return std::filesystem::path(out.mountpoint);
  };
  EXPECT_EQ(made("/data/run.42.h5"), here / "run.42");
  EXPECT_EQ(made("/data/run"), here / "run.mount");
  EXPECT_EQ(made("/usr/lib/"), here / "lib");
  EXPECT_EQ(made(here.c_str()), here / here.filename());
  EXPECT_EQ(made((".." / here.filename()).c_str()), here / here.filename());
  EXPECT_FALSE(command({"h5mount", "/a.h5", "/m"}).makes_mountpoint);
}

TEST(CommandLine, LongNamesOfFlags) {
  const MountCommand out = command({"h5mount", "--foreground", "--single-thread", "/a.h5", "/m"});
  EXPECT_TRUE(out.foreground);
  EXPECT_TRUE(out.single_thread);
  EXPECT_TRUE(command({"h5mount", "--debug", "/a.h5", "/m"}).debug);
}

TEST(CommandLine, HelpIsOneScreen) {
  const std::string help = std::get<TextOutput>(*parse({"h5mount", "--help"})).text;
  EXPECT_LE(std::ranges::count(help, '\n'), 50);
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  for (const std::string_view name : mount_option_names())
    EXPECT_TRUE(std::regex_search(help, std::regex(" " + std::string(name) + "[,=[]"))) << name;
}

TEST(CommandLine, HelpTellsTheRestOfEachOption) {
  const std::string help = std::get<TextOutput>(*parse({"h5mount", "--help"})).text;
  const std::regex option("[ ,\\[]--?[A-Za-z][A-Za-z0-9-]*");
  std::set<std::string> names;
  for (std::sregex_iterator found(help.begin(), help.end(), option), end; found != end; ++found)
    names.insert(found->str().substr(1));
  for (const char* part : {"-l", "-R", "-u"}) names.erase(part);  // of --list and fusermount3
  EXPECT_GE(names.size(), 15U);
  for (const std::string_view name : mount_option_names()) names.emplace(name);
  for (const std::string& name : names) {
    const auto about = parse({"h5mount", ("--help=" + name).c_str()});
    ASSERT_TRUE(about) << name << about.error().text();
    EXPECT_GE(std::ranges::count(std::get<TextOutput>(*about).text, '\n'), 2) << name;
  }
  const auto unknown = parse({"h5mount", "--help=cache_sise"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text().find("did you mean cache_size="), std::string::npos)
      << unknown.error().text();
}

TEST(CommandLine, HelpAndVersion) {
  const auto help = parse({"h5mount", "-h"});
  ASSERT_TRUE(help);
  EXPECT_NE(std::get<TextOutput>(*help).text.find("cache_size"), std::string::npos);
  const auto version = parse({"h5mount", "-V"});
  ASSERT_TRUE(version);
  const std::string told = std::get<TextOutput>(*version).text;
  EXPECT_TRUE(told.starts_with("h5mount " H5MOUNT_VERSION "\nlibfuse 3.")) << told;
  EXPECT_NE(told.find("\nfilters: deflate shuffle fletcher32 "), std::string::npos) << told;
  EXPECT_NE(told.find("\ndeflate: " + std::string(deflate_library()) + "\n"), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with('\n') && !told.ends_with("\n\n")) << told;
}

TEST(CommandLine, TheMountHelpersLetters) {
  const MountCommand out =
      command({"/sbin/mount.h5", "/a.h5", "/m", "-n", "-s", "-v", "-o", "ro,nofail,frobnicate", "-t", "h5"});
  EXPECT_FALSE(out.foreground);
  EXPECT_FALSE(out.single_thread);
  EXPECT_EQ(out.sources.paths.front(), "/a.h5");
  EXPECT_EQ(out.options.log_level, LogLevel::Info);
  EXPECT_TRUE(command({"mount.h5", "/a.h5", "/m", "-f"}).check_only);
}

TEST(CommandLine, TheUmountHelpersLetters) {
  const auto out = parse({"/sbin/umount.fuse.h5mount", "/m/", "-l", "-n", "-v", "-r", "-t", "fuse.h5mount"});
  ASSERT_TRUE(out && std::holds_alternative<UnmountCommand>(*out));
  EXPECT_EQ(std::get<UnmountCommand>(*out).mountpoint, "/m");
  EXPECT_TRUE(std::get<UnmountCommand>(*out).lazy);
  EXPECT_FALSE(std::get<UnmountCommand>(*out).force);
  EXPECT_FALSE(parse({"umount.fuse.h5mount"}));
  EXPECT_FALSE(parse({"umount.fuse.h5mount", "/m", "-z"}));
}

FrontCommand front_command(std::vector<const char*> words) {
  const auto out = parse(std::move(words));
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out && std::holds_alternative<FrontCommand>(*out) ? std::get<FrontCommand>(*out) : FrontCommand{};
}

TEST(CommandLine, CommandsWithoutAMount) {
  const FrontCommand list =
      front_command({"h5mount", "/a.h5", "x", "--list", "-lR", "-o", "external=any", "y"});
  EXPECT_EQ(list.kind, FrontCommand::Kind::List);
  EXPECT_EQ(list.sources.paths.front(), "/a.h5");
  EXPECT_TRUE(list.details && list.recursive);
  EXPECT_EQ(list.options.external, object::ExternalPolicy::Any);
  EXPECT_EQ(list.paths, (std::vector<std::string>{"x", "y"}));
  const FrontCommand cat = front_command({"h5mount", "--cat", "--", "/a.h5", "-l", "[a,b]", "--"});
  EXPECT_EQ(cat.paths, (std::vector<std::string>{"-l", "[a,b]", "--"}));
  const FrontCommand copy = front_command({"h5mount", "--copy", "/a.h5", "/x", "/out/"});
  EXPECT_EQ(copy.paths, std::vector<std::string>{"/x"});
  EXPECT_EQ(copy.destination, "/out");
  EXPECT_FALSE(parse({"h5mount", "--cat", "/a.h5"}));
  EXPECT_FALSE(parse({"h5mount", "--cat", "-l", "/a.h5", "x"}));
  EXPECT_FALSE(parse({"h5mount", "--copy", "/a.h5", "x"}));
  EXPECT_FALSE(parse({"h5mount", "--copy", "/a.h5", "x", "y", "z"}));
  EXPECT_TRUE(std::holds_alternative<TextOutput>(*parse({"h5mount", "--tar", "--help"})));
}

}  // namespace
}  // namespace h5mount::cli

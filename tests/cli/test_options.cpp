// Forms in which options are given, for h5mount, its helpers and fsck.h5.
#include <gtest/gtest.h>

#include "words/command_line.h"
#include "words/options.h"

namespace h5mount::cli {
namespace {

using Words = std::vector<const char*>;

Arguments read(std::vector<const char*> words) {
  words.insert(words.begin(), "h5mount");
  auto out = read_words(program_options(), static_cast<int>(words.size()), words.data());
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out ? *std::move(out) : Arguments();
}

std::string refused(std::vector<const char*> words) {
  words.insert(words.begin(), "h5mount");
  const auto out = parse_command_line(static_cast<int>(words.size()), words.data());
  return out ? "" : out.error().text();
}

FsckCommand fsck(std::vector<const char*> words) {
  words.insert(words.begin(), "fsck.h5");
  std::optional<std::string> output;
  auto out = parse_fsck_arguments(static_cast<int>(words.size()), words.data(), output);
  EXPECT_TRUE(out && !output) << (out ? "" : out.error().text());
  return out ? *std::move(out) : FsckCommand();
}

TEST(Options, AValueFollowsInAnyForm) {
  for (const Words& words : {Words{"--cors=*"}, {"--cors", "*"}, {"x", "--cors=*"}, {"--cors", "*", "x"}})
    EXPECT_EQ(read(words).serve.cors_origin, "*");
  for (const Words& words :
       {Words{"-ouid=5"}, {"-o", "uid=5"}, {"-fouid=5"}, {"-fo", "uid=5"}, {"x", "-o", "uid=5"}})
    EXPECT_EQ(read(words).of_mounts, std::vector<std::string>{"uid=5"});
  EXPECT_EQ(read({"-o", "a", "-ob", "-o", "-f"}).of_mounts, (std::vector<std::string>{"a", "b", "-f"}));
  EXPECT_EQ(read({"--cors="}).serve.cors_origin, "");
  EXPECT_EQ(read({"--help=x", "y"}).help_about, "x");
  EXPECT_EQ(read({"--help", "y"}).help_about, "");
}

TEST(Options, LettersStandTogetherAndMayBeRepeated) {
  const Arguments arguments = read({"-fds", "-f", "--foreground"});
  EXPECT_TRUE(arguments.mount.foreground && arguments.mount.debug && arguments.mount.single_thread);
  EXPECT_TRUE(arguments.unknown.empty());
}

TEST(Options, OperandsAreWhatIsLeft) {
  const Arguments arguments = read({"a", "-f", "-", "", "--", "-d", "--", "--cors=*"});
  EXPECT_EQ(arguments.operands, (std::vector<std::string>{"a", "-", "", "-d", "--", "--cors=*"}));
  EXPECT_FALSE(arguments.mount.debug);
}

TEST(Options, WhatIsNoOptionIsNamed) {
  const std::pair<Words, const char*> cases[] = {
      {{"-z", "a"}, "unknown option -z (see h5mount --help)"},
      {{"-fz", "a"}, "unknown option -z"},
      {{"-5"}, "unknown option -5"},
      {{"--", "--nothing", "/m"}, ""},
      {{"--force", "a"}, "options of the mount follow -o: -o force"},
      {{"--fore", "a"}, "unknown option --fore"},  // no abbreviations
      {{"--lst", "a"}, "did you mean --list?"},
      {{"--serv=80", "a"}, "did you mean --serve?"},
      {{"--zzzzzzzz", "a"}, "unknown option --zzzzzzzz (see h5mount --help)"},
      {{"--list=x", "a"}, "--list takes no value"},
      {{"--serve"}, "--serve needs a value"},
      {{"--serve", "80", "--serve", "81", "a"}, "--serve is given twice"},
      {{"--cat", "--list", "a"}, "another command"},
      {{"--cat", "-l", "a", "b"}, "another command"},
      {{"--token", "a"}, "another command"},
      {{"--serve", "80", "--token=secret", "a"}, "--token takes no value"},
  };
  for (const auto& [words, expected] : cases) {
    const std::string told = refused(words);
    EXPECT_NE(told.find(expected), std::string::npos) << expected << ": " << told;
    EXPECT_EQ(told.find("secret"), std::string::npos) << told;
  }
}

TEST(Options, EachIsFoundByItsNamesAlone) {
  for (const ProgramOption& option : program_options()) {
    for (const char letter : option.letters)
      EXPECT_EQ(find_program_option(program_options(), std::string("-") + letter), &option);
    if (!option.name.empty()) EXPECT_EQ(find_program_option(program_options(), option.name), &option);
  }
  EXPECT_EQ(find_program_option(program_options(), ""), nullptr);
  EXPECT_EQ(find_program_option(program_options(), "--"), nullptr);
}

TEST(Options, OfFsckAsFsckPassesThem) {
  EXPECT_EQ(fsck({"-n", "4", "a"}).threads, 4U);
  EXPECT_EQ(fsck({"-n4", "a"}).threads, 4U);
  EXPECT_EQ(fsck({"-n", "a"}).sources, std::vector<std::string>{"a"});
  EXPECT_EQ(fsck({"-fn", "4"}).sources, std::vector<std::string>{"4"});
  EXPECT_EQ(fsck({"-a", "-C", "a"}).progress_descriptor, -1);
  EXPECT_EQ(fsck({"-C0", "a"}).progress_descriptor, -1);
  EXPECT_EQ(fsck({"-C5", "a"}).progress_descriptor, 5);
  EXPECT_EQ(fsck({"-C", "5", "a"}).progress_descriptor, 5);
  EXPECT_TRUE(fsck({"-qC", "a"}).progress);
  EXPECT_FALSE(fsck({"-q", "a"}).progress);
  const FsckCommand salvage = fsck({"--salvage", "a"});
  EXPECT_TRUE(salvage.salvage && !salvage.salvage_far);
  EXPECT_TRUE(fsck({"--salvage=far", "a"}).salvage_far);
  EXPECT_EQ(fsck({"-o", "a=1", "--external", "none", "x"}).options,
            (std::vector<std::string>{"a=1", "external=none"}));
}

TEST(Options, OfFsckAreRefusedWithItsOwnHelp) {
  for (const Words& words : {Words{"fsck.h5"},
                             {"fsck.h5", "-z", "a"},
                             {"fsck.h5", "--salvage=no", "a"},
                             {"fsck.h5", "--checksum", "md5", "a"},
                             {"fsck.h5", "--checksum"},
                             {"fsck.h5", "--jsno", "a"}}) {
    std::optional<std::string> output;
    const auto out = parse_fsck_arguments(static_cast<int>(words.size()), words.data(), output);
    ASSERT_FALSE(out) << words.back();
    EXPECT_EQ(out.error().text().find('\n'), std::string::npos);
    EXPECT_NE(out.error().text().find("fsck.h5 --help") == std::string::npos,
              out.error().text().find("did you mean --json?") == std::string::npos);
  }
}

}  // namespace
}  // namespace h5mount::cli

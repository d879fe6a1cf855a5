// A source that fails once, at each of its reads in turn: afterwards everything is shown as if it had not.
// Whatever a tree makes once of a file is made in one of these walks.
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "followed.h"
#include "h5mount/tree/file_object.h"
#include "support/fails_once.h"

namespace h5mount::test {
namespace {

// What is shown at each path: texts, or errors.
using Shown = std::map<std::string, Result<std::string>>;

class Walk {
 public:
  Walk(tree::Tree& tree, Shown& out) : tree_(tree), out_(out) {}

  void directory(tree::NodeId node, const std::string& path) {
    const auto listing = tree_.open_directory(node);
    if (!listing) return put(path + " names", listing.error());
    std::string names, made;
    for (std::size_t i = 0; i < (*listing)->size(); ++i) names += (*listing)->name_at(i) + "\n";
    if ((*listing)->damage() != nullptr) return put(path + " names", *(*listing)->damage());
    put(path + " names", names);
    for (std::size_t i = 0; i < (*listing)->size(); ++i) {
      const std::string name((*listing)->name_at(i));
      if (path == "/.h5" && (name == "log" || name == "status")) continue;
      const auto found = tree_.lookup(node, name);
      if (!found)
        put(path + "/" + name + " found", found.error());
      else
        entry(*found, path + "/" + name);
    }
    put(path + "/nothing", tree_.lookup(node, "nothing"));
  }

 private:
  void entry(const tree::Entry& found, const std::string& path) {
    put(path + " found", std::to_string(static_cast<int>(found.stat.type)));
    const auto stat = tree_.stat(found.node, tree::StatDepth::Full);
    put(path + " size", stat ? Result<std::string>(std::to_string(stat->size)) : fail(stat.error()));
    attributes(found.node, path);
    if (found.stat.type == tree::NodeType::Symlink)
      put(path + " target", tree_.readlink(found.node));
    else if (found.stat.type == tree::NodeType::Directory && path.size() < kLongest)
      directory(found.node, path);
    else if (found.stat.type == tree::NodeType::File)
      put(path + " bytes", bytes_of(found.node));
  }

  void attributes(tree::NodeId node, const std::string& path) {
    const auto names = tree_.list_xattrs(node);
    if (!names) return put(path + " attributes", names.error());
    for (const std::string& name : *names) put(path + " " + name, tree_.get_xattr(node, name));
  }

  Result<std::string> bytes_of(tree::NodeId node) {
    H5_ASSIGN(const auto open, tree_.open(node));
    dataset::Pieces pieces;
    H5_TRY(open->read(0, 64U << 10, pieces));
    std::string out(static_cast<std::size_t>(pieces.total()), '\0');
    H5_TRY(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(out))));
    return out;
  }

  void put(const std::string& what, const Error& error) { out_.insert_or_assign(what, fail(error)); }
  void put(const std::string& what, Result<std::string> text) {
    out_.insert_or_assign(what, std::move(text));
  }
  void put(const std::string& what, const Result<tree::Entry>& found) {
    put(what, found ? Result<std::string>("there") : fail(found.error()));
  }

  static constexpr std::size_t kLongest = 60;
  tree::Tree& tree_;
  Shown& out_;
};

Shown shown_by(tree::Tree& tree) {
  Shown out;
  Walk(tree, out).directory(tree::kRootNode, "");
  return out;
}

std::string told(const Result<std::string>& one) {
  return one ? *one : "error: " + one.error().text();
}

class MomentaryTree : public testing::TestWithParam<bool> {
 protected:
  // A walk in which the read of that number fails, and one afterwards, of the same tree.
  void fail_at(const std::vector<std::byte>& file, int number, const Error& why, const Shown& sound) {
    const auto source = std::make_shared<FailsOnce>(file, GetParam());
    const auto tree = tree_over(source, metadata::Follow::Never);
    source->why = why;
    source->left = number;
    const Shown during = shown_by(*tree);
    for (const auto& [what, one] : during) {
      const auto known = sound.find(what);
      if (!one || what.ends_with("error") || what.ends_with("lost_attributes")) continue;
      ASSERT_NE(known, sound.end()) << what << " while read " << number << " fails";
      ASSERT_EQ(*one, told(known->second)) << what << " while read " << number << " fails";
    }
    for (const auto& [what, one] : during)
      if (const auto known = sound.find(what); !one && known != sound.end() && known->second)
        ASSERT_TRUE(is_momentary(one.error())) << what << ", read " << number << ": " << one.error().text();
    source->left = 0;
    const Shown after = shown_by(*tree);
    for (const auto& [what, one] : sound) {
      const auto now = after.find(what);
      ASSERT_NE(now, after.end()) << what << " is missing after read " << number << " failed";
      ASSERT_EQ(told(now->second), told(one)) << what << " after read " << number << " failed";
    }
    ASSERT_EQ(after.size(), sound.size()) << "more after read " << number << " failed";
  }
};

TEST_P(MomentaryTree, NothingOfItIsKept) {
  const Error reasons[] = {Error(ErrorCode::Io, "no answer"), Error(ErrorCode::OutOfMemory, "no memory"),
                           io_error(ETIMEDOUT, "reading"), io_error(EMFILE, "opening"),
                           Error(ErrorCode::TimedOut, "not done")};
  for (const char* const version : {"latest", "earliest"}) {
    const auto file = written_with_h5py(
        "sys.dont_write_bytecode = True\n"
        "sys.path.insert(0, '" H5MOUNT_SOURCE_ROOT
        "/tests/tree/fixtures')\n"
        "import everything_once\n"
        "everything_once.write(f)\n",
        version);
    const auto source = std::make_shared<FailsOnce>(file, GetParam());
    const auto tree = tree_over(source, metadata::Follow::Never);
    const int before = source->reads;
    const Shown sound = shown_by(*tree);
    const int reads = source->reads - before;
    ASSERT_GT(reads, 40) << version;
    ASSERT_TRUE(sound.at("/packed bytes"));
    const int step = std::max(1, reads / 120);
    for (int number = 1, turn = 0; number <= reads; number += step, ++turn) {
      fail_at(file, number, reasons[turn % std::size(reasons)], sound);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Near, MomentaryTree, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Far, MomentaryTree, testing::Values(true));

}  // namespace
}  // namespace h5mount::test

// A source that fails for a moment, at each of its reads in turn: afterwards everything is shown as if it had
// not. Whatever a tree makes once of a file is made in one of these walks.
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

Result<std::string> bytes_of(tree::Tree& tree, tree::NodeId node) {
  H5_ASSIGN(const auto open, tree.open(node));
  dataset::Pieces pieces;
  H5_TRY(open->read(0, 64U << 10, pieces));
  std::string out(static_cast<std::size_t>(pieces.total()), '\0');
  H5_TRY(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(out))));
  return out;
}

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
      put(path + " bytes", bytes_of(tree_, found.node));
  }

  void attributes(tree::NodeId node, const std::string& path) {
    const auto names = tree_.list_xattrs(node);
    if (!names) return put(path + " attributes", names.error());
    for (const std::string& name : *names) put(path + " " + name, tree_.get_xattr(node, name));
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

Result<tree::NodeId> node_at(tree::Tree& tree, std::string_view path) {
  tree::NodeId node = tree::kRootNode;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    H5_ASSIGN(const tree::Entry found, tree.lookup(node, path.substr(at, end - at)));
    node = found.node;
    at = end + 1;
  }
  return node;
}

Result<std::string> text_at(tree::Tree& tree, std::string_view path) {
  H5_ASSIGN(const tree::NodeId node, node_at(tree, path));
  return bytes_of(tree, node);
}

// The names in a directory whose listing ends well.
Result<std::string> names_at(tree::Tree& tree, std::string_view path) {
  H5_ASSIGN(const tree::NodeId node, node_at(tree, path));
  H5_ASSIGN(const auto listing, tree.open_directory(node));
  if (listing->damage() != nullptr) return fail(*listing->damage());
  std::string out;
  for (std::size_t i = 0; i < listing->size(); ++i) out += std::string(listing->name_at(i)) + "\n";
  return out;
}

class MomentaryTree : public testing::TestWithParam<bool> {
 protected:
  bool lasts_ = false;
  // A walk in which the read of that number fails, and one afterwards, of the same tree.
  void fail_at(const std::vector<std::byte>& file, int number, const Error& why, const Shown& sound) {
    const auto source = std::make_shared<FailsOnce>(file, GetParam());
    const auto tree = tree_over(source, metadata::Follow::Never);
    source->why = why;
    source->goes_on = lasts_ = !lasts_;
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

// What a store says of an array it finds in other objects: lengths and names of dimensions.
TEST_P(MomentaryTree, AnArrayIsTheSameAfterEachReadOfOthers) {
  const auto file = written_by_program("tree/fixtures/variables.py");
  for (const std::string path : {"part/2", "d/v/.zattrs"}) {
    std::string sound;
    for (int number = 0, reads = 1; number <= reads; ++number) {
      const auto source = std::make_shared<FailsOnce>(file, GetParam());
      const auto tree = tree_over(source, metadata::Follow::Never);
      const int before = source->reads;
      source->goes_on = true;
      source->left = number;
      // The kernel goes on to know the nodes on the way.
      const auto during = text_at(*tree, ".h5/stored.zarr/" + path);
      if (number == 0) {
        reads = source->reads - before;
        ASSERT_TRUE(during) << during.error().text();
        sound = *during;
      }
      if (during)
        EXPECT_EQ(*during, sound) << path << ", read " << number;
      else
        EXPECT_TRUE(is_momentary(during.error())) << path << ": " << during.error().text();
      source->left = 0;
      ASSERT_EQ(told(text_at(*tree, ".h5/stored.zarr/" + path)), sound) << path << " after read " << number;
    }
  }
}

// What cannot be read for a moment is missing from no listing that the kernel would keep.
TEST_P(MomentaryTree, AListingLacksNothing) {
  const auto file = written_by_program("tree/fixtures/variables.py");
  for (const std::string path : {".h5/stored.zarr", ".h5/stored.zarr/d", ".h5/npy"}) {
    std::string sound;
    for (int number = 0, reads = 1; number <= reads; ++number) {
      const auto source = std::make_shared<FailsOnce>(file, GetParam());
      const auto tree = tree_over(source, metadata::Follow::Never);
      const int before = source->reads;
      source->goes_on = true;
      source->left = number;
      const auto during = names_at(*tree, path);
      if (number == 0) {
        reads = source->reads - before;
        ASSERT_TRUE(during) << during.error().text();
        sound = *during;
      } else if (during) {
        EXPECT_EQ(*during, sound) << path << ", read " << number;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Near, MomentaryTree, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Far, MomentaryTree, testing::Values(true));

}  // namespace
}  // namespace h5mount::test

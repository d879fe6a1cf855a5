// Random sequences of requests and changes over the trees that wrap trees, held against a model: what each
// state of a file has, and which state a node is of. A sequence that fails is shrunk and printed with its
// seed. H5MOUNT_MODEL_OPERATIONS is the number of operations for each tree, H5MOUNT_MODEL_SEED the first
// seed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "model_systems.h"

namespace h5mount::test {
namespace {

using tree::NodeId;

// ---- sequences

struct Operation {
  enum Kind : unsigned { Lookup, List, Stat, Open, Read, Close, Forget, Change, kKinds } kind = Lookup;
  unsigned which = 0, what = 0;  // of what there is, whatever the number
};
using Sequence = std::vector<Operation>;

Sequence random_sequence(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Sequence out(200);
  constexpr std::array kOften{Operation::Lookup, Operation::Lookup, Operation::Lookup, Operation::List,
                              Operation::Stat,   Operation::Open,   Operation::Read,   Operation::Read,
                              Operation::Close,  Operation::Forget, Operation::Change};
  for (Operation& one : out)
    one = {kOften[random() % kOften.size()], static_cast<unsigned>(random() >> 40),
           static_cast<unsigned>(random() >> 40)};
  return out;
}

class Run {
 public:
  explicit Run(std::unique_ptr<System> of) : system_(std::move(of)), files_(system_->files.size()) {
    if (system_->files.front().empty()) nodes_.push_back({tree::kRootNode, 0, 0, 0, ""});
  }
  ~Run() {
    handles_.clear();
    for (const Node& node : nodes_)
      if (node.id != tree::kRootNode) system_->tree->forget(node.id, 1);
  }

  // What is wrong; empty: nothing.
  std::string step(const Operation& one) {
    switch (one.kind) {
      case Operation::Lookup:
        return look_up(one);
      case Operation::List:
        return list(one);
      case Operation::Stat:
        return stat(one);
      case Operation::Open:
        return open(one);
      case Operation::Read:
        return read(one);
      case Operation::Close:
        return close(one);
      case Operation::Forget:
        return forget(one);
      default:
        return change(one);
    }
  }

 private:
  struct File {
    unsigned state = 0, changes = 0;
    std::optional<unsigned> next;  // the state that it will have once nothing of it is open
  };
  struct Node {
    NodeId id;
    std::size_t file;
    unsigned state, changes;  // of the file when it was looked up
    std::string path;         // in the file; of a group, and of the file itself, it is empty or ends in '/'
    bool is_directory() const { return path.empty() || path.ends_with('/'); }
  };
  struct Handle {
    Node node;
    std::shared_ptr<void> pin;
    std::shared_ptr<tree::OpenNode> open;
  };

  bool outdated(const Node& node) const {
    return !system_->keeps_nodes && node.id != tree::kRootNode && node.changes != files_[node.file].changes;
  }
  const Contents& contents(const Node& node) const {
    const bool newest = system_->keeps_nodes || node.id == tree::kRootNode;
    return system_->states.contents[newest ? files_[node.file].state : node.state];
  }
  // An error where there should be none, unless the node is of a state that is no more.
  std::string unexpected(const Node& node, const Error& error) const {
    if (outdated(node) && error.code() == ErrorCode::Stale) return {};
    return "'" + node.path + "': " + error.text();
  }
  const Node* some(const std::vector<Node>& from, unsigned which) const {
    return from.empty() ? nullptr : &from[which % from.size()];
  }
  std::vector<Node> chosen(bool directories) const {
    std::vector<Node> out;
    for (const Node& node : nodes_)
      if (node.is_directory() == directories) out.push_back(node);
    return out;
  }

  std::string look_up(const Operation& one) {
    static constexpr std::array kNames{"d", "g", "third", "packed", "odd", "z", "none"};
    const auto directories = chosen(true);
    const bool many = !system_->files.front().empty();
    if (many && (directories.empty() || one.which % 4 == 0)) {
      const std::size_t file = one.what % files_.size();
      const auto found = system_->tree->lookup(tree::kRootNode, system_->files[file]);
      if (!found) return system_->files[file] + ": " + found.error().text();
      nodes_.push_back({found->node, file, files_[file].state, files_[file].changes, ""});
      return {};
    }
    const Node parent = *some(directories, one.which);
    const std::string path = parent.path + kNames[one.what % kNames.size()];
    const bool group = contents(parent).contains(path + "/"),
               there = group || contents(parent).contains(path);
    const auto found = system_->tree->lookup(parent.id, path.substr(parent.path.size()));
    if (!found && !there && found.error().code() == ErrorCode::NotFound) return {};
    if (!found) return unexpected(parent, found.error());
    const File& file = files_[parent.file];
    const bool newest = parent.id == tree::kRootNode || system_->keeps_nodes;
    nodes_.push_back({found->node, parent.file, newest ? file.state : parent.state,
                      newest ? file.changes : parent.changes, path + (group ? "/" : "")});
    return there ? std::string() : path + " is there, and should not be";
  }

  std::string list(const Operation& one) {
    const auto directories = chosen(true);
    const Node* const node = some(directories, one.which);
    if (node == nullptr) return {};
    const auto listed = system_->tree->open_directory(node->id);
    if (!listed) return unexpected(*node, listed.error());
    std::set<std::string> shown, expected;
    for (std::size_t i = 0; i < (*listed)->size(); ++i) shown.insert((*listed)->name_at(i));
    for (const auto& [path, bytes] : contents(*node))
      if (path.starts_with(node->path) && path.size() > node->path.size())
        expected.insert(
            path.substr(node->path.size(), path.find('/', node->path.size()) - node->path.size()));
    return shown == expected ? std::string() : "the listing of '" + node->path + "' is another one";
  }

  std::string stat(const Operation& one) {
    const Node* const node = some(nodes_, one.which);
    if (node == nullptr) return {};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    auto found = system_->tree->stat(node->id, tree::StatDepth::Full);
    const auto right = [&] {
      return node->is_directory() || found->size == contents(*node).at(node->path).size();
    };
    // While a worker publishes a state, the size before it is returned as incomplete.
    while (found && !right() && !found->complete && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
      found = system_->tree->stat(node->id, tree::StatDepth::Full);
    }
    if (!found) return unexpected(*node, found.error());
    return right() ? std::string() : "the size of '" + node->path + "' is " + std::to_string(found->size);
  }

  std::string open(const Operation& one) {
    const auto datasets = chosen(false);
    const Node* const node = some(datasets, one.which);
    if (node == nullptr) return {};
    auto pin = system_->tree->pin();
    auto opened = system_->tree->open(node->id);
    if (!opened) return unexpected(*node, opened.error());
    handles_.push_back({*node, std::move(pin), *std::move(opened)});
    return {};
  }

  std::string read(const Operation& one) {
    if (handles_.empty()) return {};
    Handle& handle = handles_[one.which % handles_.size()];
    const std::string& all = contents(handle.node).at(handle.node.path);
    const std::size_t begin = one.what % all.size();
    dataset::Pieces pieces;
    Status done = handle.open->read(begin, 1000, pieces);
    if (done) done = handle.open->revalidate();
    if (!done) return unexpected(handle.node, done.error());
    std::string bytes(static_cast<std::size_t>(pieces.total()), '\0');
    if (!dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(bytes)))) return "not copied";
    return bytes == all.substr(begin, 1000) ? std::string() : "'" + handle.node.path + "' has other bytes";
  }

  std::string close(const Operation& one) {
    if (handles_.empty()) return {};
    handles_.erase(handles_.begin() + one.which % handles_.size());
    take_up();
    return {};
  }

  std::string forget(const Operation& one) {
    const std::size_t at = nodes_.empty() ? 0 : one.which % nodes_.size();
    if (nodes_.empty() || nodes_[at].id == tree::kRootNode) return {};
    // The kernel keeps the nodes of what is open.
    for (const Handle& handle : handles_)
      if (handle.node.id == nodes_[at].id) return {};
    system_->tree->forget(nodes_[at].id, 1);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(at));
    return {};
  }

  std::string change(const Operation& one) {
    const std::size_t file = one.which % files_.size();
    const unsigned to = one.what % static_cast<unsigned>(system_->states.bytes.size());
    if (system_->reopens)
      for (Handle& handle : handles_) handle.open.reset();
    if (system_->change(file, to)) files_[file].next = system_->keeps_nodes ? files_[file].state + 1 : to;
    take_up();
    if (!system_->reopens) return {};
    for (Handle& handle : handles_) {
      auto again = system_->tree->open(handle.node.id);
      if (!again) return unexpected(handle.node, again.error());
      handle.open = *std::move(again);
    }
    return {};
  }

  void take_up() {
    if (system_->waits_for_handles && !handles_.empty()) return;
    for (File& file : files_)
      if (file.next) {
        file.state = *std::exchange(file.next, std::nullopt);
        ++file.changes;
      }
  }

  std::unique_ptr<System> system_;
  std::vector<File> files_;
  std::vector<Node> nodes_;
  std::vector<Handle> handles_;
};

using Make = std::unique_ptr<System> (*)();

std::string run(Make make, const Sequence& sequence) {
  Run run(make());
  for (std::size_t i = 0; i < sequence.size(); ++i)
    if (std::string wrong = run.step(sequence[i]); !wrong.empty())
      return "operation " + std::to_string(i) + ": " + wrong;
  return {};
}

// Leaves out what is not needed to fail: halves first, single operations last.
Sequence shrunk(Make make, Sequence sequence) {
  for (std::size_t part = sequence.size() / 2; part > 0; part /= 2)
    for (std::size_t at = 0; at + part <= sequence.size();) {
      Sequence fewer = sequence;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                  fewer.begin() + static_cast<std::ptrdiff_t>(at + part));
      if (run(make, fewer).empty())
        at += part;
      else
        sequence = std::move(fewer);
    }
  return sequence;
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

template <class Kind>
std::unique_ptr<System> make_system() {
  return std::make_unique<Kind>();
}

struct Case {
  const char* name;
  Make make;
};

class Model : public testing::TestWithParam<Case> {};

TEST_P(Model, RandomSequencesDoWhatItSays) {
  static constexpr std::array kWords{"lookup", "list", "stat", "open", "read", "close", "forget", "change"};
  const Make make = GetParam().make;
  const std::uint64_t operations = number_of("H5MOUNT_MODEL_OPERATIONS", 20'000);
  std::uint64_t seed = number_of("H5MOUNT_MODEL_SEED", 1);
  for (std::uint64_t done = 0; done < operations; ++seed) {
    const Sequence sequence = random_sequence(seed);
    done += sequence.size();
    if (run(make, sequence).empty()) continue;
    const Sequence fewer = shrunk(make, sequence);
    std::string text;
    for (const Operation& one : fewer)
      text += std::string("\n  ") + kWords[one.kind] + " " + std::to_string(one.which) + " " +
              std::to_string(one.what);
    FAIL() << "seed " << seed << ": " << run(make, fewer) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, Model,
                         testing::Values(Case{"reloading", make_system<Reloading>},
                                         Case{"growing", make_system<Growing>},
                                         Case{"surviving", make_system<Surviving>},
                                         Case{"salvaging", make_system<Salvaging>},
                                         Case{"forest", make_system<ForestOfFiles>}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace h5mount::test

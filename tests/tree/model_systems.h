// The trees of the model test: files whose states are known, and trees over them that these states pass
// through.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "../../src/survive/surviving_mount.h"
#include "../../src/survive/surviving_tree.h"
#include "followed.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"
#include "support/faulty_source.h"

namespace h5mount::test {

namespace fs = std::filesystem;

// ---- the model: the bytes of each file of a state by its path; a group's path ends in '/'

using Contents = std::map<std::string, std::string>;

constexpr unsigned kStates = 4;

inline Contents contents_of(unsigned state) {
  const auto filled = [&](std::size_t size) { return std::string(size, static_cast<char>('a' + state)); };
  Contents out{{"g/", ""}, {"d", filled(100 + 50 * state)}, {"g/packed", filled(4000)}};
  if (state % 2 == 1) out["g/odd"] = filled(10);
  if (state % 3 == 0) out["third"] = filled(20);
  return out;
}

inline std::vector<std::byte> file_of(const Contents& contents) {
  std::string script;
  for (const auto& [path, bytes] : contents) {
    if (path.ends_with('/')) continue;
    script += "f.create_dataset('" + path + "', data=np.full(" + std::to_string(bytes.size()) + ", " +
              std::to_string(static_cast<int>(bytes[0])) + ", 'u1')" +
              (path == "g/packed" ? ", chunks=(100,), compression=1)\n" : ")\n");
  }
  return written_with_h5py(script, "latest");
}

// A file's states, made once.
struct States {
  std::vector<Contents> contents;
  FileStates bytes;
};

inline const States& replaced_states() {
  static const States made = [] {
    States out;
    for (unsigned state = 0; state < kStates; ++state) {
      out.contents.push_back(contents_of(state));
      out.bytes.push_back(file_of(out.contents.back()));
    }
    return out;
  }();
  return made;
}

inline const States& grown_states() {
  static const States made = [] {
    States out;
    out.bytes = states_written_by("rewrites_and_appends");
    for (const auto& state : out.bytes) {
      Contents& contents = out.contents.emplace_back();
      for (const char* name : {"d", "z"}) {
        const auto bytes = bytes_in(state, name);
        contents[name] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
    }
    return out;
  }();
  return made;
}

// ---- the trees

// What a sequence runs over: a tree, and how its files change.
struct System {
  explicit System(const States& of) : states(of) {}
  virtual ~System() = default;
  // The names of the files in the root; one empty name: the root is the file.
  std::vector<std::string> files{""};
  const States& states;
  std::shared_ptr<tree::Tree> tree;
  // Returns false if the change did not happen.
  virtual bool change(std::size_t file, unsigned to) = 0;
  bool waits_for_handles = false;  // a change happens when nothing of the file is open any more
  bool keeps_nodes = false;        // nodes stay those of the newest state
  bool reopens = false;            // open files are opened again after a change
};

inline dataset::ReadEnvironment environment_of(std::shared_ptr<object::FileSet> files) {
  static const auto workers = std::make_shared<cache::WorkerPool>(1);
  return {std::make_shared<cache::BlockCache>(16U << 20), workers, std::move(files)};
}

inline metadata::MetadataOptions model_options() {
  metadata::MetadataOptions out;
  out.revalidate_interval = std::chrono::milliseconds(0);
  out.keep_replaced = true;
  return out;
}

// Files of a directory, each replaced by renaming another one over it.
struct InDirectory : System {
  explicit InDirectory(std::vector<std::string> of) : System(replaced_states()), names(std::move(of)) {
    std::string name = (fs::temp_directory_path() / "h5mount-model-XXXXXX").string();
    place = ::mkdtemp(name.data());
    for (std::size_t file = 0; file < names.size(); ++file) InDirectory::change(file, 0);
  }
  ~InDirectory() override {
    tree.reset();
    fs::remove_all(place);
  }
  bool change(std::size_t file, unsigned to) override {
    const auto& bytes = states.bytes[to];
    std::ofstream(place / "new", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    fs::rename(place / "new", place / names[file]);
    return true;
  }
  const std::vector<std::string> names;
  fs::path place;
};

struct Reloading final : InDirectory {
  Reloading() : InDirectory({"file.h5"}) {
    waits_for_handles = true;
    tree = *tree::Tree::make_reloading(*open(), [this] { return open(); });
  }
  Result<tree::Tree::Parts> open() const {
    const object::ExternalAccess none{object::ExternalPolicy::None};
    H5_ASSIGN(auto opened, object::FileSet::open(place / "file.h5", none, model_options()));
    return tree::Tree::Parts{environment_of(std::move(opened)), {}};
  }
  bool change(std::size_t file, unsigned to) override {
    InDirectory::change(file, to);
    tree->file_changed();
    return true;
  }
};

struct Growing final : System {
  Growing() : System(grown_states()) {
    keeps_nodes = true;
    tree = tree_over(source, metadata::Follow::Always);
  }
  bool change(std::size_t, unsigned) override {
    if (now + 1 == states.bytes.size()) return false;
    source->write(states.bytes[++now]);
    tree->file_changed();
    return true;
  }
  std::size_t now = 0;
  std::shared_ptr<WrittenSource> source = std::make_shared<WrittenSource>(states.bytes[0]);
};

// Another server goes on with the mount.
struct Surviving final : System {
  Surviving() : System(replaced_states()) {
    keeps_nodes = reopens = true;
    memory = *survive::SurvivingMemory::make();
    serve(false);
  }
  void serve(bool goes_on) {
    tree.reset();
    mount.reset();
    mount =
        std::make_unique<survive::SurvivingMount>(*survive::SurvivingMemory::map(memory.get()), UniqueFd(),
                                                  survive::EndCause::Killed, [](int) { return true; });
    tree = std::make_shared<survive::SurvivingTree>(tree_over(io::make_memory_source(states.bytes[0])),
                                                    mount->nodes, goes_on);
  }
  bool change(std::size_t, unsigned) override {
    serve(true);
    return false;  // the file is the same
  }
  UniqueFd memory;
  std::unique_ptr<survive::SurvivingMount> mount;
};

// The index of chunks of a dataset is damaged, and the sound file stands for the salvaged one.
struct Salvaging final : System, std::enable_shared_from_this<Salvaging> {
  struct Opener final : object::SourceOpener {
    Result<object::FoundSource> find_main(const std::string& name) override {
      return object::FoundSource{
          .key = name, .open = [this] {
            auto damaged = *sound;
            const auto at = places_of(damaged, "FAHD").at(0);
            std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at), 16, std::byte{0xA5});
            return Result<std::shared_ptr<io::ByteSource>>(std::make_shared<FaultySource>(damaged));
          }};
    }
    Result<object::FoundSource> find_named(const object::OpenedFile&, std::string_view,
                                           object::NameUse) const override {
      return fail(Error(ErrorCode::NotFound, "there is one file"));
    }
    const object::ExternalAccess& access() const override { return none; }
    bool may_salvage_main() const override { return true; }
    Result<std::shared_ptr<io::ByteSource>> salvage_main(const std::function<bool()>&) const override {
      return io::make_memory_source(*sound);
    }
    const std::vector<std::byte>* sound = &replaced_states().bytes[0];
    object::ExternalAccess none{object::ExternalPolicy::None};
  };
  Salvaging() : System(replaced_states()) {
    tree = *tree::Tree::make(
        environment_of(*object::FileSet::open("damaged", std::make_shared<Opener>(), {})), {});
  }
  bool change(std::size_t, unsigned) override { return false; }
};

struct ForestOfFiles final : InDirectory {
  ForestOfFiles() : InDirectory({"a.h5", "b.h5"}) {
    files = names;
    const auto open = [](const std::shared_ptr<const object::SourceDirectory>& from,
                         const std::string& relative) {
      const object::ExternalAccess none{object::ExternalPolicy::None};
      return object::FileSet::open(relative, object::make_directory_opener(from, none, false),
                                   model_options());
    };
    tree::ForestOptions options;
    options.environment = environment_of;
    tree = tree::Forest::make(
        tree::make_local_directory(*object::SourceDirectory::open(place.string(), {}), {}, open), options);
  }
};

}  // namespace h5mount::test

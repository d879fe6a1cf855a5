// /.h5/references.icechunk: references as a repository of Icechunk (icechunk_files.h).
#include <fmt/format.h>

#include <algorithm>

#include "../core/name_list.h"
#include "../core/states.h"
#include "../views/virtual_directories.h"
#include "h5mount/base/hash.h"
#include "icechunk_files.h"

namespace h5mount::tree {

namespace {

// What the manifests of a plan's arrays have, counted while the plan is made.
class ManifestCounter final : public ReferenceSink {
 public:
  ManifestCounter(const MountContext& context, IcechunkPlan& plan)
      : context_(context), plan_(plan), text_(context, TreeText::Bytes::Counted) {}

  Status begin_array(std::span<const std::string> paths, const view::ZarrArray& array) override {
    names_ = paths.size();
    array_ = {array.shape(), array.grid(), plan_.pieces.size(), 0, next_node_};
    for (const std::uint32_t extent : array.type().dims) {
      array_.shape.push_back(extent);
      array_.grid.push_back(1);
    }
    return {};
  }
  Status begin_part(std::uint64_t chunks) override {
    H5_TRY(end_piece());
    constexpr std::size_t kOfPiece = sizeof(IcechunkPiece) + sizeof(IcechunkManifest);
    H5_TRY(plan_.charge.resize(plan_.charge.bytes() + kOfPiece));
    plan_.pieces.push_back({plan_.arrays.size(), array_.pieces++, 0, chunks * names_});
    text_.cut(0);
    piece_.emplace(text_, std::string(kIdBytes, '\0'), names_);
    before_ = piece_->size();
    return piece_->begin_piece(array_.first_node, names_, array_.grid, chunks);
  }
  Status add_range(std::uint64_t chunk, const ReferencedRange& range) override {
    return piece_->add_range(chunk, range);
  }
  Status add_bytes(std::uint64_t chunk, std::string_view bytes) override {
    return piece_->add_bytes(chunk, bytes);
  }
  Status end_array(bool kept) override {
    constexpr std::size_t kOfArray = sizeof(IcechunkArray) + 2 * sizeof(IcechunkPlan::Node);
    Status done = end_piece();
    if (done)
      done = plan_.charge.resize(plan_.charge.bytes() + kOfArray * names_ +
                                 2 * sizeof(std::uint64_t) * array_.grid.size());
    if (kept && done) {
      next_node_ += names_;
      plan_.arrays.push_back(std::move(array_));
    } else {
      piece_.reset();
      plan_.pieces.resize(array_.first_piece);
    }
    return done;
  }

  // Puts the pieces into manifests, as one file holds references of many small arrays, and names the nodes.
  void end() {
    constexpr std::uint64_t kMostBytes = 8U << 20, kMostChunks = ReferencePlan::kPartChunks;
    std::uint64_t arrays = 0, bytes = 0;
    const auto close = [&] {
      if (!plan_.manifests.empty()) plan_.manifests.back().size = manifest_size(context_, arrays, bytes);
    };
    for (std::size_t i = 0; i < plan_.pieces.size(); ++i) {
      IcechunkPiece& piece = plan_.pieces[i];
      const bool again = i > 0 && plan_.pieces[i - 1].array == piece.array;
      if (i == 0 || again || bytes + piece.bytes > kMostBytes ||
          plan_.manifests.back().chunks + piece.chunks > kMostChunks) {
        close();
        plan_.manifests.push_back({.first_piece = i});
        arrays = bytes = 0;
      }
      IcechunkManifest& manifest = plan_.manifests.back();
      piece.manifest = static_cast<std::uint32_t>(plan_.manifests.size() - 1);
      ++manifest.pieces;
      manifest.chunks += piece.chunks;
      arrays += plan_.references.arrays[piece.array].paths.size();
      bytes += piece.bytes;
    }
    close();
    for (std::size_t i = 0; i < plan_.arrays.size(); ++i)
      for (const std::string& path : plan_.references.arrays[i].paths)
        plan_.nodes.push_back({path, i, plan_.arrays[i].first_node + node_of(i, path)});
    for (const std::string& path : plan_.references.groups)
      plan_.nodes.push_back({path, std::nullopt, next_node_++});
    std::ranges::sort(plan_.nodes, {}, &IcechunkPlan::Node::path);
  }

 private:
  static constexpr std::size_t kIdBytes = 12;

  Status end_piece() {
    if (!piece_) return {};
    H5_TRY(piece_->end_piece());
    plan_.pieces.back().bytes = piece_->size() - before_;
    piece_.reset();
    return {};
  }
  // The place of a path among the names of an array.
  std::uint64_t node_of(std::size_t array, const std::string& path) const {
    return static_cast<std::uint64_t>(&path - plan_.references.arrays[array].paths.data());
  }

  const MountContext& context_;
  IcechunkPlan& plan_;
  TreeText text_;
  std::optional<ManifestWriter> piece_;
  std::uint64_t before_ = 0;
  IcechunkArray array_;
  std::size_t names_ = 0;
  std::uint64_t next_node_ = 1;
};

using IcechunkPlanPtr = std::shared_ptr<const IcechunkPlan>;

// That of the newest snapshot, made once.
Result<IcechunkPlanPtr> icechunk_plan(const ServedFilePtr& file, RequestBudget& budget) {
  const auto make = [&]() -> Result<IcechunkPlanPtr> {
    const MountContext& context = file->context();
    auto out = std::make_shared<IcechunkPlan>();
    out->charge = context.environment.cache->no_charge();
    ManifestCounter counter(context, *out);
    H5_ASSIGN(out->references, plan_references(file, ReferencesForm::Icechunk, counter, budget));
    counter.end();
    const ReferenceSummary& summary = out->references.summary;
    if (summary.served > 0) out->server = context.options.references.server;
    out->digest = mix_bits(
        fnv1a(fmt::format("{} {} {} {}", summary.files_text(), summary.direct, summary.held, out->server)));
    H5_TRY(file->followed().confirm_unchanged());
    context.references->listed = true;
    return out;
  };
  return file->kept<SnapshotValue<IcechunkPlanPtr>>().get_once(file->metadata()->number(), make, budget);
}

// Writes one of the files of a plan.
using WritePlanned = std::function<Status(const ServedFilePtr& file, const IcechunkPlan& plan, TreeText& out,
                                          RequestBudget& budget)>;

constexpr std::string_view kDirectory = "references.icechunk", kRepository = "repo";
constexpr std::string_view kManifests = "manifests", kSnapshots = "snapshots", kTransactions = "transactions";

// The root, or one of the directories in it.
class IcechunkDirectory final : public DirectoryOfFile {
 public:
  IcechunkDirectory(const VirtualDirectorySetup& setup, std::string name)
      : DirectoryOfFile(setup, path_of(name)), name_(std::move(name)) {}

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    const Error none(ErrorCode::NotFound, "no such file of the references");
    if (name_.empty()) {
      if (shown == kRepository) return file("", shown, write_repository);
      if (shown == kManifests || shown == kSnapshots || shown == kTransactions)
        return std::make_shared<IcechunkDirectory>(setup(), std::string(shown));
      return fail(none);
    }
    H5_ASSIGN(const IcechunkPlanPtr plan, icechunk_plan(setup().main, budget));
    if (name_ != kManifests) {
      if (shown != snapshot_name(*plan)) return fail(none);
      return name_ == kSnapshots ? file(name_, shown, write_snapshot) : file(name_, shown, write_transaction);
    }
    for (std::uint32_t i = 0; i < plan->manifests.size(); ++i)
      if (shown == manifest_name(*plan, i))
        return file(name_, shown,
                    [i, digest = plan->digest](const ServedFilePtr& of, const IcechunkPlan& now,
                                               TreeText& out, RequestBudget& of_request) -> Status {
                      if (now.digest != digest || i >= now.manifests.size())
                        return fail({ErrorCode::Stale, "a manifest of an earlier state of the file"});
                      return write_manifest(of, now, i, out, of_request);
                    });
    return fail(none);
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    auto out = std::make_shared<NameList>();
    if (name_.empty()) {
      for (const std::string_view directory : {kManifests, kSnapshots, kTransactions})
        out->add(std::string(directory), NodeType::Directory);
      out->add(std::string(kRepository), NodeType::File);
      return out;
    }
    H5_ASSIGN(const IcechunkPlanPtr plan, icechunk_plan(setup().main, budget));
    if (name_ != kManifests) {
      out->add(snapshot_name(*plan), NodeType::File);
      return out;
    }
    for (std::uint32_t i = 0; i < plan->manifests.size(); ++i)
      out->add(manifest_name(*plan, i), NodeType::File);
    return out;
  }

 private:
  static std::string path_of(std::string_view name) {
    return name.empty() ? std::string(kDirectory) : fmt::format("{}/{}", kDirectory, name);
  }
  NodePtr file(std::string_view directory, std::string_view name, WritePlanned write) {
    const auto make = [write = std::move(write)](const ServedFilePtr& of, TreeText& out,
                                                 RequestBudget& budget) -> Status {
      H5_ASSIGN(const IcechunkPlanPtr plan, icechunk_plan(of, budget));
      return write(of, *plan, out, budget);
    };
    return make_tree_text_file(setup(), fmt::format("{}/{}", path_of(directory), name),
                               "application/octet-stream", make);
  }

  const std::string name_;  // of a directory; empty: the root
};

}  // namespace

NodePtr make_icechunk_references(const VirtualDirectorySetup& setup) {
  if (!shows_references(*setup.context)) return nullptr;
  return std::make_shared<IcechunkDirectory>(setup, "");
}

}  // namespace h5mount::tree

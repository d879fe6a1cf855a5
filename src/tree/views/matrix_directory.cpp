// /.h5/decoded/mtx: the sparse matrices of the tree (meaning/matrices.h), each a directory with what programs
// for single cells read:
//
//   matrix.mtx     the entries in Matrix Market's format
//   barcodes.tsv   the names of its columns, a line each
//   features.tsv   of its rows: identifier, name, type
//   genes.tsv      of its rows: identifier, name
//
// The last three are there where the matrix has such names. A link with one of these names is shown with its
// first character escaped.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../core/states.h"
#include "../objects/decoded.h"
#include "../objects/followed_dataset.h"
#include "h5mount/dataset/dataset_columns.h"
#include "h5mount/dataset/matrix_entries.h"
#include "h5mount/tree/names.h"
#include "h5mount/view/matrix.h"
#include "mirror.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

using meaning::DatasetPlace;
using meaning::MatrixDecoding;

constexpr std::string_view kMatrixFile = "matrix.mtx", kBarcodesFile = "barcodes.tsv",
                           kFeaturesFile = "features.tsv", kGenesFile = "genes.tsv";
constexpr std::array kMatrixFiles = {kMatrixFile, kBarcodesFile, kFeaturesFile, kGenesFile};

view::DerivationPtr member_of(const DatasetPlace& names) {
  return names.member.empty() ? nullptr : view::derive_member({names.member});
}

// Several datasets that are shown as one. `address`: of the matrix.
class CombinedData : public FollowedData {
 public:
  CombinedData(ServedFilePtr file, std::uint64_t address, const LinkPlace& place,
               const std::vector<DatasetPlace>& datasets)
      : FollowedData(std::move(file), address, place) {
    for (const DatasetPlace& one : datasets)
      parts_.push_back({std::make_unique<FollowedDataset>(this->file(), one.address, place), member_of(one)});
  }

  Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) final {
    std::vector<DatasetDescriptionPtr> of;
    for (const Part& part : parts_) {
      H5_ASSIGN(DatasetDescriptionPtr described, part.dataset->newest_description(budget, measured));
      if (part.dataset->is_virtual()) set_virtual();
      if (part.derivation) {
        H5_ASSIGN(object::DatasetDescription derived, part.derivation->describe(*described));
        described = std::make_shared<const object::DatasetDescription>(std::move(derived));
      }
      of.push_back(std::move(described));
    }
    H5_ASSIGN(auto combined, describe(of, budget));
    return std::make_shared<const object::DatasetDescription>(std::move(combined));
  }

  Result<DataStatePtr> newest(RequestBudget& budget) final {
    std::vector<DataStatePtr> now;
    for (const Part& part : parts_) {
      H5_ASSIGN(DataStatePtr newest, part.dataset->newest(budget));
      now.push_back(std::move(newest));
      if (part.dataset->is_virtual()) set_virtual();
    }
    const auto state = states_.advance(std::move(now), [](const States::State& newest, auto& of) {
      bool later = false;
      for (std::size_t i = 0; i < of.size(); ++i) {
        later = later || of[i]->number > newest.of[i]->number;
        if (of[i]->number < newest.of[i]->number) of[i] = newest.of[i];
      }
      return later;
    });
    H5_ASSIGN(DataStatePtr made, state->value.get([&] { return make(*state, budget); }, budget));
    return made;
  }

  std::uint64_t newest_number() const final {
    std::uint64_t number = 0;
    for (const Part& part : parts_) number += part.dataset->newest_number();
    return number;
  }

  Result<std::vector<NodeSource>> sources(RequestBudget& budget) final {
    std::vector<NodeSource> out;
    for (const Part& part : parts_) {
      H5_ASSIGN(std::vector<NodeSource> more, part.dataset->sources(budget));
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }

  bool repeats_attempts() const final { return false; }

 private:
  struct Part {
    std::unique_ptr<FollowedDataset> dataset;
    view::DerivationPtr derivation;
  };
  struct Combined : DataState {
    std::vector<DataStatePtr> of;
  };
  using States = tree::States<std::vector<DataStatePtr>, Combined>;

  virtual Result<object::DatasetDescription> describe(std::span<const DatasetDescriptionPtr> of,
                                                      RequestBudget& budget) const = 0;
  virtual Result<DatasetReaderPtr> combine(object::DatasetDescription described,
                                           std::vector<DatasetReaderPtr> readers) const = 0;

  Result<States::ValuePtr> make(const States::State& state, RequestBudget& budget) const {
    auto made = std::make_shared<Combined>();
    made->of = state.of;
    std::vector<DatasetReaderPtr> readers;
    std::vector<DatasetDescriptionPtr> described;
    const Combined* const before = state.before.get();
    bool same = before != nullptr;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      DatasetReaderPtr reader = state.of[i]->reader;
      same = same && state.of[i]->stale.since(before->of[i]->number).empty() &&
             reader->size() == before->of[i]->reader->size();
      if (parts_[i].derivation) {
        H5_ASSIGN(reader, parts_[i].derivation->open(reader));
      }
      described.emplace_back(reader, &reader->description());
      readers.push_back(std::move(reader));
      made->number += state.of[i]->number;
    }
    if (before != nullptr) made->stale = before->stale;
    if (!same && state.number > 1) made->stale.add(made->number, {{dataset::kWholeImage}});
    H5_ASSIGN(auto combined, describe(described, budget));
    H5_ASSIGN(made->reader, combine(std::move(combined), std::move(readers)));
    return made;
  }

  void note_missing() final {
    for (const Part& part : parts_) part.dataset->note_missing_sources();
  }

  std::vector<Part> parts_;
  States states_;
};

// The entries of a matrix. Its shape may change as its datasets grow.
class EntriesData final : public CombinedData {
 public:
  EntriesData(ServedFilePtr file, std::uint64_t address, const LinkPlace& place, const MatrixDecoding& matrix)
      : CombinedData(std::move(file), address, place, matrix.parts), by_rows_(matrix.shape.by_rows) {}

 private:
  Result<object::DatasetDescription> describe(std::span<const DatasetDescriptionPtr> of,
                                              RequestBudget& budget) const override {
    H5_ASSIGN(const OpenedObjectPtr group, file()->object(address(), budget));
    H5_ASSIGN(const auto matrix, matrix_of_object(*file(), *group, budget));
    if (!matrix) return fail({ErrorCode::NotFound, "the group is no sparse matrix"});
    return dataset::describe_entries(address(), {matrix->shape.rows, matrix->shape.columns, by_rows_}, of);
  }

  Result<DatasetReaderPtr> combine(object::DatasetDescription described,
                                   std::vector<DatasetReaderPtr> readers) const override {
    return dataset::open_entries(std::move(described), by_rows_, context().environment.cache,
                                 std::move(readers));
  }

  const bool by_rows_;
};

// Names side by side.
class NamesData final : public CombinedData {
 public:
  using CombinedData::CombinedData;

 private:
  Result<object::DatasetDescription> describe(std::span<const DatasetDescriptionPtr> of,
                                              RequestBudget&) const override {
    std::vector<dataset::DatasetColumn> members;
    for (const DatasetDescriptionPtr& names : of) {
      if (names->space.rank() != 1) return fail({ErrorCode::NotFound, "names of more than one dimension"});
      members.push_back({fmt::format("{}", members.size()), names});
    }
    return dataset::describe_columns(address(), members);
  }

  Result<DatasetReaderPtr> combine(object::DatasetDescription described,
                                   std::vector<DatasetReaderPtr> readers) const override {
    return dataset::open_columns(std::move(described), std::move(readers));
  }
};

class MatrixMirror final : public Mirror {
 public:
  std::string_view name() const override { return "decoded/mtx"; }
  NodeType entry_type() const override { return NodeType::File; }
  bool parts_inside_groups() const override { return true; }
  bool decodes() const override { return true; }

  std::string encode(const MirrorEntry& entry) const override {
    return entry.link ? encode_link(*entry.link) : entry.part;
  }
  std::optional<MirrorEntry> decode(std::string_view shown) const override {
    for (const std::string_view file : kMatrixFiles) {
      if (shown == file) return MirrorEntry{.link = {}, .part = std::string(file)};
      if (shown == encode_link(file)) return MirrorEntry{.link = std::string(file), .part = {}};
    }
    return Mirror::decode(shown);
  }
  std::string (*link_encoding() const)(std::string_view) override { return encode_link; }

  Result<std::string> decoded_group(ServedFile& file, const OpenedObject& object,
                                    RequestBudget& budget) const override {
    H5_ASSIGN(const auto matrix, matrix_of_object(file, object, budget));
    return matrix ? matrix->text : std::string();
  }

  Status for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget& budget,
                       const std::function<void(std::string)>& each) const override {
    H5_ASSIGN(const auto matrix, matrix_of_object(file, object, budget));
    if (!matrix) return {};
    each(std::string(kMatrixFile));
    if (matrix->barcodes) each(std::string(kBarcodesFile));
    if (matrix->features.empty()) return {};
    each(std::string(kFeaturesFile));
    each(std::string(kGenesFile));
    return {};
  }
  std::string part_for_damage(const OpenedObject&) const override { return std::string(kMatrixFile); }

  Result<NodePtr> make_node(const GroupContents& group, const format::Link& link, const std::string& part,
                            RequestBudget& budget) const override {
    const ServedFilePtr& file = group.file();
    H5_ASSIGN(const OpenedObjectPtr object, file->object(link.address, budget));
    H5_ASSIGN(auto matrix, matrix_of_object(*file, *object, budget));
    if (!matrix) return fail({ErrorCode::NotFound, "the group is no sparse matrix"});
    const LinkPlace place{link.address, part};
    ViewOf of{&view::matrix_market_view(), nullptr, std::move(matrix->text)};
    std::shared_ptr<FollowedData> data;
    if (part == kMatrixFile) {
      data = std::make_shared<EntriesData>(file, link.address, place, *matrix);
    } else if (part == kBarcodesFile && matrix->barcodes) {
      of.view = &view::text_view();
      of.derivation = member_of(*matrix->barcodes);
      data = std::make_shared<FollowedDataset>(file, matrix->barcodes->address, place);
    } else if (!matrix->features.empty()) {
      of.view = part == kGenesFile ? &view::genes_view() : &view::features_view();
      data = std::make_shared<NamesData>(file, link.address, place, matrix->features);
    } else {
      return fail({ErrorCode::NotFound, "the matrix has no such names"});
    }
    // Matrices may have the same barcodes.
    return make_view_file(std::move(data), fmt::format("{}/{:x}/{}", name(), link.address, part),
                          std::move(of));
  }

 private:
  static std::string encode_link(std::string_view name) {
    if (std::ranges::find(kMatrixFiles, name) == kMatrixFiles.end()) return encode_name(name);
    return fmt::format("%{:02X}{}", static_cast<unsigned>(name[0]), name.substr(1));
  }
};

}  // namespace

NodePtr make_matrix_directory(const VirtualDirectorySetup& setup) {
  return make_mirror(setup, std::make_shared<MatrixMirror>());
}

}  // namespace h5mount::tree

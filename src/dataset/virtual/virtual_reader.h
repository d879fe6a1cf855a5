// VirtualReader: a virtual dataset ("view"), assembled from parts of other datasets, of this file or of
// others.
//
// Sources are opened when a read first touches them (virtual_sources.h), through the mount's FileSet and its
// policy. A missing source reads as the fill value, as in libhdf5; one that the policy forbids or that is
// damaged is an error for the reads that touch it, because fill values would be wrong data.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../convert/type_conversion.h"
#include "../core/element_selection.h"
#include "../core/fill_pattern.h"
#include "../core/unit_readahead.h"
#include "h5mount/dataset/open_dataset.h"
#include "h5mount/format/virtual_mapping.h"
#include "virtual_sources.h"

namespace h5mount::dataset {

class VirtualReader final : public DatasetReader,
                            public ReadaheadUnits,
                            public std::enable_shared_from_this<VirtualReader> {
 public:
  // `previous` is the reader of the previous state, or null.
  static Result<std::shared_ptr<const VirtualReader>> open(const ReadEnvironment& environment,
                                                           object::OpenedFilePtr file,
                                                           object::DatasetDescription description,
                                                           const VirtualReader* previous,
                                                           RequestBudget& budget);

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override;
  // The view itself holds no raw data.
  std::optional<std::uint64_t> storage_bytes_known() const override { return 0; }
  Result<WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const override;
  // The error of a source that cannot be opened although it determines the extent of an unlimited view: the
  // extent is then the header's.
  std::optional<Error> problem() const override { return problem_; }
  bool sources_changed() const override { return sources_->changed(); }
  NamedSources named_sources(std::size_t most, RequestBudget& budget) const override;
  std::size_t memory_bytes() const override { return mappings_.memory_bytes(); }
  MissingSources missing_sources() const override { return sources_->missing(); }

  // For those who look at each source (virtual_chunks.h). A source stands for one part of the view.
  using VisitPiece =
      std::function<Status(const std::string& file, const std::string& dataset, const ElementSelection& view,
                           const format::Selection& source, std::optional<ElementSelection::Clip> clip)>;
  Status for_each_piece(const VisitPiece& visit, RequestBudget& budget) const;
  VirtualSources::SourcePtr source(const std::string& file, const std::string& dataset,
                                   RequestBudget& budget) const {
    auto found = sources_->get(file, dataset, budget);
    if (found->absent) sources_->note_missing(*found);
    return found;
  }
  // Whether its elements need no conversion.
  Result<bool> same_elements(const VirtualSources::Source& source) const;
  // Calls `use` as VirtualSources::use does, with the source's reader.
  Status use_source(const std::string& file, const std::string& dataset, RequestBudget& budget,
                    const std::function<Status(const DatasetReader&)>& use) const;
  const std::shared_ptr<cache::BlockCache>& cache() const { return cache_; }

  // Read-ahead decodes the sources' chunks into the cache. The view's own bytes are not cached, as every read
  // checks whether the sources are unchanged.
  std::uint64_t unit_end(std::uint64_t unit) const override {
    return std::min(size(), (unit + 1) * kUnitBytes);
  }
  bool unit_cached(std::uint64_t) const override { return false; }
  void make_unit(std::uint64_t unit) const override;

 private:
  // One mapping. With %b in its names it stands for as many sources as the view's selection has blocks.
  struct Part {
    format::VirtualMapping mapping;
    bool numbered = false;  // %b is in its names
    std::optional<std::size_t> view_unlimited, source_unlimited;
    std::uint64_t slices = 0;      // of unlimited mappings: number of positions that the source has
    std::uint64_t blocks = 0;      // of numbered mappings: number of sources that the view's extent contains
    std::uint64_t found = 0;       // of numbered mappings: number of existing sources from 0 on
    std::optional<Error> problem;  // of unlimited mappings: why the size of the source is unknown
    std::optional<ElementSelection> view;      // nullopt for numbered mappings
    std::uint64_t row_begin = 0, row_end = 0;  // linear range that the view's selection lies in
  };

  // All mappings, in order. Most are of fixed size and regular, and there may be hundreds of thousands: of
  // these only the place in the file's bytes is held, and a part is made of it when it is needed.
  class Mappings {
   public:
    static Result<Mappings> load(const metadata::FileMetadata& snapshot, const format::DataLayout& layout);
    Status settle(const object::DatasetDescription& d);

    struct Entry {
      std::uint64_t at = 0;    // the position of its selections; of a kept part its number
      std::uint32_t name = 0;  // kKept: it is a kept part
      std::uint64_t row_begin = 0, row_end = 0;
    };
    const std::vector<Entry>& entries() const { return entries_; }
    std::vector<Part>& kept() { return kept_; }
    const std::vector<Part>& kept() const { return kept_; }
    const Part* kept_part(const Entry& entry) const {
      return entry.name == kKept ? &kept_[static_cast<std::size_t>(entry.at)] : nullptr;
    }
    const std::string& file(const Entry& entry) const;
    const std::string& dataset(const Entry& entry) const;
    // The part of an entry that is none of the kept ones; its view is over the extent `dims`.
    Result<Part> unpack(const Entry& entry, std::span<const std::uint64_t> dims) const;
    // The least extent that the entries which are no kept parts need in a dimension.
    std::uint64_t least_extent(std::size_t dimension) const {
      return dimension < least_.size() ? least_[dimension] : 0;
    }
    std::size_t memory_bytes() const {
      return bytes_.size() + entries_.size() * sizeof(Entry) + names_.size() * kNameBytes +
             kept_.size() * kPartBytes;
    }

   private:
    static constexpr std::uint32_t kKept = UINT32_MAX;
    // The measured sizes of a part with the arrays of its selections, and of two names.
    static constexpr std::size_t kPartBytes = 1200, kNameBytes = 160;
    void add(format::VirtualMapping mapping, std::size_t selections);

    std::vector<std::byte> bytes_;
    std::uint64_t offset_ = 0;  // of the bytes in the file
    format::FileSizes sizes_{};
    std::vector<std::pair<std::string, std::string>> names_;
    std::map<std::pair<std::string, std::string>, std::uint32_t> known_;  // empty once all are loaded
    std::vector<Entry> entries_;
    std::vector<Part> kept_;
    std::vector<std::uint64_t> least_;
  };

  static constexpr std::uint64_t kUnitBytes = 1U << 20;

  VirtualReader(const ReadEnvironment& environment, object::OpenedFilePtr file,
                object::DatasetDescription description, std::unique_ptr<VirtualSources> sources,
                Mappings mappings, cache::BlockCache::Charge charge);

  static void measure(VirtualSources& sources, const format::Dataspace& space, Part& part,
                      RequestBudget& budget);
  static Status settle_extent(object::DatasetDescription& description, const Mappings& mappings);

  std::vector<ByteRange> stale_since(const VirtualReader& before,
                                     const std::vector<VirtualSources::SourcePtr>& renewed) const;
  ByteRange stale_by(const Part& part, const VirtualSources::Source& source) const;
  Result<NextReader> continued(const ReadEnvironment& environment, const object::OpenedFilePtr& file,
                               const object::DatasetDescription& next, RequestBudget& budget) const override;

  Status read_elements(std::uint64_t first, std::uint64_t count, MutableByteSpan out,
                       RequestBudget& budget) const;
  Status read_part(const Part& part, std::uint64_t first, std::uint64_t count, MutableByteSpan out,
                   RequestBudget& budget) const;
  Result<ElementSelection> block_of(const Part& part, std::uint64_t number) const;
  Status read_numbered(const Part& part, std::uint64_t first, std::uint64_t count, MutableByteSpan out,
                       RequestBudget& budget) const;
  template <class Read>
  Status read_source(const std::string& file, const std::string& dataset, RequestBudget& budget,
                     Read&& read) const;
  HeapMove heap_move(const VirtualSources::Source& source) const;
  NamedFile named_source(const Mappings::Entry& entry, RequestBudget& budget) const;
  bool is_of(const Mappings::Entry& entry, const VirtualSources::Source& source) const;
  Status copy_from(const VirtualSources::Source& source, const format::Selection& selection,
                   std::optional<ElementSelection::Clip> clip, const ElementSelection& view,
                   std::uint64_t first, std::uint64_t count, MutableByteSpan out,
                   RequestBudget& budget) const;

  object::OpenedFilePtr file_;
  FillPattern fill_;
  std::unique_ptr<VirtualSources> sources_;
  Mappings mappings_;
  const cache::BlockCache::Charge charge_;  // for the mappings
  std::optional<Error> problem_;
  const std::shared_ptr<cache::BlockCache> cache_;
  Readahead readahead_;
  std::vector<ByteRange> stale_;  // ranges of the image, since the previous state
};

}  // namespace h5mount::dataset

// DatasetImage: the bytes of one dataset's file: its row-major image, or its text
// (h5mount/view/text_lines.h). A version is what was made of the dataset on demand; in a growing file there
// is a new one for each snapshot that the dataset is read in. Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include "../core/node.h"
#include "../core/size_publisher.h"
#include "h5mount/base/shared_slot.h"
#include "h5mount/view/text_lines.h"
#include "object_facts.h"
#include "viewed_data.h"

namespace h5mount::tree {

using view::ComputedFilePtr, view::DatasetReaderPtr, view::is_shown_as_text;

Result<DatasetReaderPtr> open_reader(const ServedFile& file, const object::DatasetDescription& description,
                                     RequestBudget* budget);

class DatasetImage final : public ViewedData {
 public:
  // `place` names it in messages.
  DatasetImage(ServedFilePtr file, std::uint64_t address, LinkPlace place)
      : file_(std::move(file)), address_(address), place_(std::move(place)) {}

  // Another image of the same dataset, of which nothing was read yet.
  std::shared_ptr<DatasetImage> copy() const;

  // Adds size and blocks to `stat`. Damage is no error here: the size is then that of an unreadable file,
  // where none is known. `node`: its id for the kernel.
  void measure(StatDepth depth, NodeStat& stat, NodeId node, RequestBudget& budget);

  // Invalidates the kernel's pages that the file's growth made stale.
  void catch_up(NodeId node);

  // Exactly one of the two is set; immutable.
  struct Bytes {
    DatasetReaderPtr raw;
    ComputedFilePtr text;
    std::uint64_t size() const { return raw ? raw->size() : text->size(); }
    Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
                dataset::Pieces& out) const {
      return raw ? raw->read(offset, length, access, out) : text->read(offset, length, access, out);
    }
  };
  Result<Bytes> bytes(RequestBudget& budget);
  // A reader of the elements in the newest snapshot, for views, whatever the dataset's own file shows. A
  // later reader has a higher number.
  struct NumberedReader {
    DatasetReaderPtr reader;
    std::uint64_t number = 0;
  };
  Result<NumberedReader> newest_numbered_reader(RequestBudget& budget);
  Result<DatasetReaderPtr> newest_reader(RequestBudget& budget) override;
  Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) override;

  // Records the result of a read for user.hdf5.error; failures are logged too.
  void note_read(std::uint64_t offset, std::uint64_t length, const Status& done) {
    if (done && !file_->failures().any()) return;
    if (done)
      file_->failures().note_success(address_, offset, offset + length);
    else
      note_failure(offset, done.error());
  }
  void note_failure(std::uint64_t offset, const Error& error) override;
  void note_missing_sources(const DatasetReaderPtr& reader) override;

  bool grows() const override { return followed().following() || is_virtual(); }
  bool is_virtual() const override { return is_virtual_.load(std::memory_order_relaxed); }
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override {
    H5_ASSIGN(NodeSource source, dataset_source(*file_, address_, place_, budget));
    return std::vector{std::move(source)};
  }
  bool repeats_attempts() const override { return is_virtual(); }
  metadata::FollowedFile& followed() const override { return file_->followed(); }
  const ViewContext& context() const override { return file_->context(); }

 private:
  // The readers and texts of one snapshot's object, and those of earlier versions that they continue.
  // Immutable except for what is made on demand.
  struct Version {
    Version(OpenedObjectPtr opened, const Version* before);
    bool continued(const Version* before) const { return before != nullptr && !begins; }
    bool outgrown() const {
      const auto made = reader.peek();
      return made && (*made)->sources_changed();
    }
    const OpenedObjectPtr object;
    const std::uint64_t number;  // from 1 on; a later one is of a later snapshot
    // The first one since the file is followed: it continues nothing, as the file may have changed anywhere.
    const bool begins;
    std::atomic<bool> all_stale;  // of what the kernel has; until it was published
    OnceValue<DatasetReaderPtr> reader;
    OnceValue<ComputedFilePtr> text;
    // Made by earlier versions, to continue from; null in a file that does not grow.
    const DatasetReaderPtr reader_before;
    const ComputedFilePtr text_before;
    // The text of earlier versions is valid for the elements below this byte.
    std::atomic<std::uint64_t> same;
    const std::shared_ptr<SizePublisher> publisher;  // of all versions
  };
  using VersionPtr = std::shared_ptr<Version>;
  Result<VersionPtr> version(RequestBudget& budget);
  Result<DatasetDescriptionPtr> describe(const OpenedObject& object, RequestBudget* budget);
  Result<DatasetReaderPtr> reader(Version& version, RequestBudget& budget);
  Result<ComputedFilePtr> text(Version& version, RequestBudget& budget);
  bool continues(const Version& before, const OpenedObjectPtr& object) const;
  void publish(Version& version, NodeId node, NodeStat& stat, RequestBudget& budget);
  SizePublisher::Ranges stale_ranges(Version& version, RequestBudget& budget);
  void measure_text(StatDepth depth, NodeStat& stat, RequestBudget& budget);
  void measure_blocks(StatDepth depth, const object::DatasetDescription& description, NodeStat& stat,
                      RequestBudget& budget);

  ServedFilePtr file_;
  std::uint64_t address_;
  LinkPlace place_;
  SharedSlot<Version> version_;           // the newest; null until bytes are needed
  std::atomic<bool> is_virtual_ = false;  // set once it was described
};

}  // namespace h5mount::tree

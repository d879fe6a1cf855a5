// DatasetImage: the bytes of one dataset's file: its row-major image, or its text
// (h5mount/view/text_image.h). What is made of a dataset on demand is kept here, and in a growing file made
// anew when the object is.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "h5mount/view/text_image.h"
#include "node.h"
#include "object_facts.h"

namespace h5mount::tree {

using view::DatasetReaderPtr, view::TextImage, view::TextImagePtr, view::is_shown_as_text;

Result<DatasetReaderPtr> open_reader(const ServedFile& file, const object::DatasetDescription& description);

class DatasetImage {
 public:
  // `place` names it in messages.
  DatasetImage(ServedFilePtr file, std::uint64_t address, LinkPlace place)
      : file_(std::move(file)), address_(address), place_(std::move(place)) {}

  // Adds size and blocks to `stat`. Damage is no error here: the size is then 0. `node`: as the kernel knows
  // it.
  void measure(StatDepth depth, NodeStat& stat, NodeId node);

  // Has the kernel drop what the file's growth made wrong of what it keeps.
  void catch_up(NodeId node);

  // Exactly one of the two is set, and stays as it is while it is held.
  struct Bytes {
    DatasetReaderPtr raw;
    TextImagePtr text;
    std::uint64_t size() const { return raw ? raw->size() : text->size(); }
    Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadPattern* pattern,
                dataset::Pieces& out) const {
      return raw ? raw->read(offset, length, pattern, out) : text->read(offset, length, out);
    }
  };
  Result<Bytes> bytes();
  // The elements of the newest state, whatever their file shows of them: for views.
  Result<DatasetReaderPtr> newest_reader();

  // How a read went, for user.hdf5.error. What fails goes to the log as well.
  void note_read(std::uint64_t offset, std::uint64_t length, const Status& done) {
    if (done && !file_->failures().any()) return;
    if (done)
      file_->failures().note_success(address_, offset, offset + length);
    else
      note_failure(offset, done.error());
  }
  void note_failure(std::uint64_t offset, const Error& error);
  // Sources of a virtual dataset that were not there when they were needed.
  void note_missing_sources(const DatasetReaderPtr& reader);

  // Its file is followed, or its sources' files may be.
  bool grows() const { return metadata().following() || is_virtual_.load(std::memory_order_relaxed); }
  Status look() const { return metadata().look(); }
  Status revalidate() const { return metadata().revalidate(); }
  const metadata::FileMetadata& metadata() const { return *file_->metadata(); }
  const ViewContext& context() const { return file_->context(); }

 private:
  // All that one state of the object gave.
  struct Version {
    Version(OpenedObjectPtr opened, std::uint64_t which) : object(std::move(opened)), number(which) {}
    bool outgrown() const {
      const auto made = reader.peek();
      return made && (*made)->sources_changed();
    }
    OpenedObjectPtr object;
    const std::uint64_t number;  // a later one is of a later state
    OnceValue<DatasetReaderPtr> reader;
    OnceValue<TextImagePtr> text;
    // What the states before have made, to go on from; null in a file that does not grow.
    DatasetReaderPtr reader_before;
    TextImagePtr text_before;
    std::atomic<std::uint64_t> same =
        format::kUnlimited;  // bytes of elements up to which that text still stands
  };
  Result<std::shared_ptr<Version>> version();
  Result<DatasetDescriptionPtr> describe(const OpenedObject& object);
  Result<DatasetReaderPtr> reader(Version& version);
  Result<TextImagePtr> text(Version& version);
  bool is_next(const OpenedObjectPtr& object, bool outgrown) const;
  void note_successor(Version& next, const Version& before) const;
  void publish(const std::shared_ptr<Version>& version, NodeId node, NodeStat& stat);
  std::optional<bool> begin_invalidating(const Version& version, NodeStat& stat);
  class Invalidating;
  std::vector<dataset::ByteRange> outdated(Version& version);
  void measure_text(StatDepth depth, NodeStat& stat);
  void measure_blocks(StatDepth depth, const object::DatasetDescription& description, NodeStat& stat);

  ServedFilePtr file_;
  std::uint64_t address_;
  LinkPlace place_;
  std::mutex mutex_;
  std::shared_ptr<Version> version_;
  std::uint64_t versions_ = 0;
  std::atomic<bool> is_virtual_ = false;  // known once it was described
  std::mutex kernel_mutex_;               // of what follows; never held while reading or waiting
  std::uint64_t published_size_ = 0;      // what stat gives until a later one is published
  std::uint64_t published_version_ = 0;
  std::uint64_t invalidated_version_ = 0;  // up to which the kernel was asked to drop what became wrong
  bool invalidating_ = false;              // somebody is finding out what that is
  KernelPages::Ticket ticket_ = 0;         // of all that the kernel was asked to drop
};

}  // namespace h5mount::tree

#include <algorithm>
#include <cstring>

#include "../http/answer_memory.h"
#include "../http/gradual_body.h"
#include "numbers.h"
#include "reduce.h"

namespace h5mount::serve {
namespace {

constexpr std::size_t kElementBytes = 256U << 10;  // bytes of elements that are made into text at once
// The same if their text may be many times as long.
constexpr std::size_t kVariableBytes = 16U << 10;
// The copies of what is read, at most, while it is converted and copied.
constexpr std::size_t kCopies = 3;

struct Format {
  std::string_view name, type, disposition;
};
constexpr Format kFormats[] = {{"json", "application/json", ""},
                               {"bin", "application/octet-stream", ""},
                               {"npy", "application/octet-stream", "attachment; filename=\"data.npy\""},
                               {"csv", "text/csv", "attachment; filename=\"data.csv\""},
                               {"tiff", "image/tiff", "attachment; filename=\"data.tiff\""}};

// The data that an answer is made from.
struct Data {
  tree::FileObjectPtr object;
  std::string path;
  view::ViewInput source;
  const object::DatasetDescription& description() const { return source.reader->description(); }
};

Status noted(const Data& data, std::uint64_t offset, Status done) {
  if (!done && !is_passing(done.error())) data.object->note_failure(data.path, offset, done.error());
  return done;
}

// A body of elements as text.
class ElementsBody final : public GradualBody {
 public:
  ElementsBody(Data data, ElementText text) : data_(std::move(data)), text_(std::move(text)) {}

 private:
  Status add_next(std::string& out, RequestWork& work) override {
    const std::uint64_t item = text_.type().size, all = text_.elements() * item;
    const std::size_t most = text_.type().has_variable_part ? kVariableBytes : kElementBytes;
    // Most elements have two characters or more: what is read beyond those wanted is read again.
    const std::uint64_t count =
        std::clamp<std::uint64_t>(wanted() / 2, 1, std::max<std::uint64_t>(most / item, 1));
    const std::uint64_t length = std::min(all - offset_, count * item);
    const auto bytes = static_cast<std::size_t>(length);
    H5_ASSIGN(const MemoryCharge charge,
              take_memory(data_.source.environment.cache, kCopies * bytes + wanted(), work));
    dataset::Pieces pieces;
    H5_TRY(noted(data_, offset_,
                 data_.source.reader->read(offset_, length, {&pattern_, work.budget()}, pieces)));
    if (pieces.total() != length) return fail({ErrorCode::Stale, "the dataset became shorter"});
    std::vector<std::byte> block(bytes);
    H5_TRY(dataset::copy_pieces(pieces.list(), block));
    H5_ASSIGN(const std::size_t added, text_.add(block, {data_.source.values, work.budget()},
                                                 std::max<std::size_t>(wanted(), 1), out));
    offset_ += added;
    if (offset_ == all) end();
    return {};
  }
  Status confirm() override { return confirm_unchanged(*data_.object); }

  const Data data_;
  ElementText text_;
  dataset::ReadPattern pattern_;
  std::uint64_t offset_ = 0;
};

// A body of a computed file from `begin` on.
class ComputedBody final : public Body {
 public:
  ComputedBody(Data data, view::ComputedFilePtr file, std::uint64_t begin)
      : data_(std::move(data)), file_(std::move(file)), begin_(begin), offset_(begin) {}

  std::optional<std::uint64_t> size() const override { return file_->size() - begin_; }
  Result<std::size_t> read(MutableByteSpan out, RequestWork& work) override {
    if (given_ == first_.size()) return read_on(out, work);
    const std::size_t count = std::min(out.size(), first_.size() - given_);
    std::memcpy(out.data(), first_.data() + given_, count);
    given_ += count;
    return count;
  }

  // Copies bytes that are decoded already, on the connection's own thread. If some are not decoded yet, the
  // read fails before it waits for them, and nothing is consumed.
  Result<std::size_t> read_at_once(MutableByteSpan out, RequestWork& work) override {
    return read(out, work);
  }

  // Reads the first bytes, so that an error of data that cannot be read at all becomes the answer.
  Status begin(RequestWork& work) {
    constexpr std::size_t kFirst = 16U << 10;
    first_.resize(kFirst);
    H5_ASSIGN(const std::size_t count, read_on(first_, work));
    first_.resize(count);
    return {};
  }

 private:
  Result<std::size_t> read_on(MutableByteSpan out, RequestWork& work) {
    const std::uint64_t length = std::min<std::uint64_t>(out.size(), file_->size() - offset_);
    if (length == 0) return 0;
    H5_ASSIGN(const MemoryCharge charge,
              take_memory(data_.source.environment.cache, kCopies * static_cast<std::size_t>(length), work));
    dataset::Pieces pieces;
    H5_TRY(noted(data_, offset_, file_->read(offset_, length, {&pattern_, work.budget()}, pieces)));
    if (pieces.total() != length) return fail({ErrorCode::Stale, "the dataset became shorter"});
    H5_TRY(dataset::copy_pieces(pieces.list(), out.first(static_cast<std::size_t>(length))));
    H5_TRY(confirm_unchanged(*data_.object));
    offset_ += length;
    return static_cast<std::size_t>(length);
  }

  const Data data_;
  const view::ComputedFilePtr file_;
  const std::uint64_t begin_;
  std::uint64_t offset_;
  dataset::ReadPattern pattern_;
  std::vector<std::byte> first_;
  std::size_t given_ = 0;  // number of the first bytes that were returned
};

Result<BodyPtr> text_body(Data data, ElementText::Form form, FlatType array, RequestWork& work) {
  if (data.description().space.element_count() == 0 ||
      std::ranges::find(array.dims, std::uint64_t{0}) != array.dims.end()) {
    if (form == ElementText::Form::Csv) return make_text_body("");
    H5_ASSIGN(std::string empty, ElementText::empty(array));
    return make_text_body(std::move(empty));
  }
  auto body = std::make_unique<ElementsBody>(std::move(data), ElementText(form, std::move(array)));
  H5_TRY(body->begin(work));
  return body;
}

Result<BodyPtr> json_body(Data data, bool flatten, RequestWork& work) {
  const auto& description = data.description();
  if (description.space.kind == format::DataspaceKind::Null) return make_text_body("null");
  FlatType array = flat_type(description.type, description.space.dims);
  if (flatten && !array.dims.empty()) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : array.dims) count *= dim;
    array.dims = {count};
  }
  return text_body(std::move(data), ElementText::Form::Json, std::move(array), work);
}

Result<BodyPtr> csv_body(Data data, RequestWork& work) {
  FlatType array = flat_type(data.description().type, data.description().space.dims);
  if (array.dims.empty()) return fail(refused("Unsupported encoding csv for empty and scalar datasets"));
  if (array.dims.size() > 2) return fail(refused("Unsupported encoding csv for more than 2 dimensions"));
  H5_ASSIGN(data.source.reader, open_numbers(data.source.reader, NumberForm::Safe));
  array.type = flat_type(data.description().type, {}).type;
  while (array.type->cls == format::DatatypeClass::Enum) array.type = array.type->base;
  return text_body(std::move(data), ElementText::Form::Csv, std::move(array), work);
}

// A view of the data; `elements_only`: without what stands before the elements.
Result<BodyPtr> view_body(Data data, std::string_view suffix, std::string_view format, bool elements_only,
                          RequestWork& work) {
  const view::View& view = view::view_by_suffix(suffix);
  H5_ASSIGN(const auto unfit, view.unfit(data.description(), work.budget()));
  if (unfit) return fail(refused(std::string("Unsupported encoding ") + std::string(format) + ": " + *unfit));
  H5_ASSIGN(view::ComputedFilePtr file, view.make(data.source, {}, work.budget()));
  if (const Error* const damage = file->damage()) data.object->report(data.path, *damage);
  const std::uint64_t begin = elements_only ? file->size() - data.description().image_bytes : 0;
  auto body = std::make_unique<ComputedBody>(std::move(data), std::move(file), begin);
  H5_TRY(body->begin(work));
  return body;
}

// The formats other than JSON. `numeric`: whether the elements are numbers.
Result<BodyPtr> bytes_body(Data data, std::string_view format, bool numeric, RequestWork& work) {
  if (format == "bin") {
    if (data.description().space.kind == format::DataspaceKind::Null) return make_text_body("");
    return view_body(std::move(data), ".npy", format, true, work);
  }
  if (!numeric)
    return fail(refused("Unsupported encoding " + std::string(format) + " for non-numeric content"));
  if (format == "npy") return view_body(std::move(data), ".npy", format, false, work);
  if (format == "csv") return csv_body(std::move(data), work);
  if (data.description().space.dims.empty())
    return fail(refused("Unsupported encoding " + std::string(format) + " for empty and scalar datasets"));
  return view_body(std::move(data), ".tif", format, false, work);
}

// Converts the data as the parameter `dtype` and NumPy's own formats require: numbers become NumPy's numbers.
Status convert(const ApiRequest& request, std::string_view format, bool numeric, Data& data) {
  const std::string dtype = request.query.get("dtype").value_or("origin");
  if (dtype != "origin" && dtype != "safe") return fail(refused("Unsupported dtype " + dtype));
  const bool safe = dtype == "safe";
  if (safe && !numeric) return fail(refused("Unsupported dtype safe for non-numeric data"));
  if (!safe && (format == "json" || !numeric)) return {};
  const NumberForm form = safe ? NumberForm::Safe : NumberForm::Origin;
  // JSON has booleans, so they are not converted.
  if (format == "json" && text::is_boolean(*data.description().type)) return {};
  H5_ASSIGN(data.source.reader, open_numbers(data.source.reader, form));
  return {};
}

}  // namespace

Result<Answer> answer_data(const ApiRequest& request) {
  const std::string name = request.query.get("format").value_or("json");
  const auto* const format = std::ranges::find(kFormats, name, &Format::name);
  if (format == std::end(kFormats)) return fail(refused("Unsupported encoding " + name));
  H5_ASSIGN(const Entity dataset, find_dataset(request));
  const bool own = is_own(*dataset.object, OwnPart::Data, request.budget());
  if (own)
    if (auto instead = not_modified(request, own)) return *std::move(instead);
  H5_ASSIGN(view::ViewInput source, selected_data(request, dataset));
  Data data{dataset.object, dataset.path, std::move(source)};
  const bool null = data.description().space.kind == format::DataspaceKind::Null;
  const bool numeric = !null && is_numeric(*data.description().type);
  H5_TRY(convert(request, name, numeric, data));
  if (const auto reduction = request.query.get("reduce")) {
    H5_ASSIGN(data.source.reader, reduced(request, *reduction, data.source));
  }
  Result<BodyPtr> body = name == "json"
                             ? json_body(std::move(data), request.query.is_true("flatten"), request.work)
                             : bytes_body(std::move(data), name, numeric, request.work);
  if (!body) return fail(body.error());
  Answer out = described(request, *std::move(body), format->type, own);
  if (!format->disposition.empty()) out.add("Content-Disposition", std::string(format->disposition));
  return out;
}

}  // namespace h5mount::serve

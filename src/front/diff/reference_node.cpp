// References, by the path that they lead to.
#include <algorithm>
#include <tuple>

#include "element_node.h"
#include "h5mount/base/row_major.h"
#include "h5mount/text/reference.h"

namespace h5mount::front {
namespace {

using format::ReferenceKind;
using format::Selection;

// A selection of blocks that repeat, as the list of its blocks, if these are as many as there.
void list_blocks(Selection& selection, std::size_t numbers) {
  const std::size_t rank = selection.rank;
  std::uint64_t blocks = 1;
  for (const std::uint64_t count : selection.count)
    blocks = checked_mul(blocks, count).value_or(format::kUnlimited);
  if (!selection.regular || rank == 0 || blocks == 0 || blocks > numbers / (2 * rank) ||
      std::ranges::find(selection.block, format::kUnlimited) != selection.block.end())
    return;
  std::vector<std::uint64_t> at(rank);
  do {
    for (const std::uint64_t last : {std::uint64_t{0}, std::uint64_t{1}})
      for (std::size_t i = 0; i < rank; ++i)
        selection.blocks.push_back(selection.start[i] + at[i] * selection.stride[i] +
                                   last * (selection.block[i] - 1));
  } while (next_row_major(at, std::span<const std::uint64_t>(selection.count)));
  selection.regular = false;
}

bool same_selection(Selection a, Selection b) {
  if (a.kind != b.kind || a.rank != b.rank) return false;
  if (a.kind == Selection::Kind::Hyperslab && a.regular != b.regular) {
    list_blocks(a, b.blocks.size());
    list_blocks(b, a.blocks.size());
  }
  if (a.regular && b.regular) {
    for (std::size_t i = 0; i < a.count.size(); ++i)
      if (a.count[i] == 1 && b.count[i] == 1) a.stride[i] = b.stride[i];  // no block follows
    return std::tie(a.start, a.stride, a.count, a.block) == std::tie(b.start, b.stride, b.count, b.block);
  }
  return a.regular == b.regular && a.points == b.points && a.blocks == b.blocks;
}

using Target = std::optional<text::ReferenceTarget>;

// The path of an object in the file that has the reference; nullopt: none leads to it.
std::optional<std::string> path_to(const text::ReferenceTarget& target, const text::ValueContext& context) {
  return context.path_of ? context.path_of(target.address) : std::nullopt;
}

bool same_target(const text::ReferenceTarget& a, const text::ReferenceTarget& b,
                 const ElementComparison::Work& work) {
  if (a.file != b.file || a.attribute != b.attribute || a.selection.has_value() != b.selection.has_value())
    return false;
  if (a.selection && !same_selection(*a.selection, *b.selection)) return false;
  // Paths in another file are not known here.
  return a.file ? a.address == b.address : path_to(a, work.a) == path_to(b, work.b);
}

class ReferenceNode final : public ElementNode {
 public:
  ReferenceNode(const format::Datatype& a, const format::Datatype& b) : ElementNode(false), a_(a), b_(b) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    constexpr std::uint64_t kSteps = 256;
    return mark_each(marks, work, [&](std::size_t i) -> Result<bool> {
      H5_TRY(work.a.budget.spend(kSteps));
      H5_ASSIGN(const Target of_a, text::decode_reference(a_, a.element(i, a_.size), work.a));
      work.reading = Which::B;
      H5_ASSIGN(const Target of_b, text::decode_reference(b_, b.element(i, b_.size), work.b));
      if (!of_a || !of_b) return of_a.has_value() == of_b.has_value();
      return same_target(*of_a, *of_b, work);
    });
  }

 private:
  const format::Datatype &a_, &b_;
};

// The references of HDF5 1.12 state in each element what they refer to.
ReferenceKind shown_kind(const format::Datatype& type) {
  const bool old = type.reference == ReferenceKind::Object1 || type.reference == ReferenceKind::Region1;
  return old ? type.reference : ReferenceKind::Object2;
}

}  // namespace

ElementNodePtr make_reference_node(const format::Datatype& a, const format::Datatype& b) {
  if (shown_kind(a) != shown_kind(b)) return nullptr;
  return std::make_unique<ReferenceNode>(a, b);
}

}  // namespace h5mount::front

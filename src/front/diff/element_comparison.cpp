#include <algorithm>
#include <cstring>

#include "element_node.h"
#include "h5mount/text/variable_part.h"

namespace h5mount::front {
namespace {

using format::Datatype;
using format::DatatypeClass;
using format::DatatypePtr;

ElementNodePtr make_node(const Datatype& a, const Datatype& b, const Tolerance& tolerance);

bool all_equal(std::span<const std::uint8_t> marks) {
  return std::ranges::find(marks, std::uint8_t{1}) == marks.end();
}

// Whether `count` items that lie one behind the other are equal.
Result<bool> items_equal(const ElementNode& node, Strided a, Strided b, std::size_t count,
                         ElementComparison::Work& work) {
  std::uint8_t marks[kBlockElements];
  for (std::size_t done = 0; done < count;) {
    const std::span part(marks, std::min(kBlockElements, count - done));
    std::ranges::fill(part, std::uint8_t{0});
    H5_TRY(node.mark(a.from(done * a.step), b.from(done * b.step), part, work));
    if (!all_equal(part)) return false;
    done += part.size();
  }
  return true;
}

class OpaqueNode final : public ElementNode {
 public:
  explicit OpaqueNode(std::size_t bytes) : ElementNode(true), bytes_(bytes) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    H5_TRY(work.a.budget.spend(marks.size()));
    for (std::size_t i = 0; i < marks.size(); ++i)
      marks[i] |=
          static_cast<std::uint8_t>(std::memcmp(a.at + i * a.step, b.at + i * b.step, bytes_) != 0 ? 1 : 0);
    return {};
  }

 private:
  const std::size_t bytes_;
};

class TextNode final : public ElementNode {
 public:
  TextNode(const Datatype& a, const Datatype& b) : ElementNode(false), a_(a), b_(b) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    std::string of_a, of_b;
    return mark_each(marks, work, [&](std::size_t i) -> Result<bool> {
      of_a.clear();
      of_b.clear();
      H5_TRY(text::append_json(a_, a.element(i, a_.size), work.a, of_a));
      work.reading = Which::B;
      H5_TRY(text::append_json(b_, b.element(i, b_.size), work.b, of_b));
      H5_TRY(work.a.budget.spend(kSteps + of_a.size() + of_b.size()));
      return of_a == of_b;
    });
  }

 private:
  static constexpr std::uint64_t kSteps = 128;
  const Datatype &a_, &b_;
};

// A string's own bytes, for as long as this lives.
class StringBytes {
 public:
  Status load(const Datatype& type, ByteSpan element, const text::ValueContext& context) {
    if (type.cls == DatatypeClass::String) return text_ = text::fixed_string(type, element), Status();
    H5_ASSIGN(part_, text::load_variable_part(element, 1, context));
    const std::string_view all = part_.object ? as_text(part_.object->bytes().first(part_.length)) : "";
    text_ = all.substr(0, all.find('\0'));  // as in every C program
    return context.budget.spend(kSteps + text_.size());
  }
  std::string_view text() const { return text_; }

 private:
  static constexpr std::uint64_t kSteps = 64;
  text::VariablePart part_;
  std::string_view text_;
};

class StringNode final : public ElementNode {
 public:
  StringNode(const Datatype& a, const Datatype& b)
      : ElementNode(a.cls == DatatypeClass::String && b.cls == DatatypeClass::String && a.size == b.size &&
                    a.padding == b.padding),
        a_(a),
        b_(b) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    H5_TRY(work.a.budget.spend(marks.size()));
    const bool variable = a_.cls != DatatypeClass::String && b_.cls != DatatypeClass::String;
    StringBytes of_a, of_b;
    return mark_each(marks, work, [&](std::size_t i) -> Result<bool> {
      if (variable) {
        H5_ASSIGN(const bool same,
                  work.heaps.are_equal(a.element(i, a_.size), b.element(i, b_.size), work.a, work.b));
        if (same) return true;
      }
      H5_TRY(of_a.load(a_, a.element(i, a_.size), work.a));
      work.reading = Which::B;
      H5_TRY(of_b.load(b_, b.element(i, b_.size), work.b));
      return of_a.text() == of_b.text();
    });
  }

 private:
  const Datatype &a_, &b_;
};

class SequenceNode final : public ElementNode {
 public:
  SequenceNode(const Datatype& a, const Datatype& b, ElementNodePtr items)
      : ElementNode(false), a_(a), b_(b), items_(std::move(items)) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    return mark_each(marks, work, [&](std::size_t i) -> Result<bool> {
      H5_TRY(work.a.budget.spend(kSteps));
      if (items_->bytes_decide()) {
        H5_ASSIGN(const bool same,
                  work.heaps.are_equal(a.element(i, a_.size), b.element(i, b_.size), work.a, work.b));
        if (same) return true;
      }
      const std::size_t bytes_a = a_.base->size, bytes_b = b_.base->size;
      H5_ASSIGN(const auto of_a, text::load_variable_part(a.element(i, a_.size), bytes_a, work.a));
      work.reading = Which::B;
      H5_ASSIGN(const auto of_b, text::load_variable_part(b.element(i, b_.size), bytes_b, work.b));
      if (of_a.length != of_b.length) return false;
      if (of_a.length == 0) return true;
      return items_equal(*items_, {of_a.object->bytes().data(), bytes_a},
                         {of_b.object->bytes().data(), bytes_b}, of_a.length, work);
    });
  }

 private:
  static constexpr std::uint64_t kSteps = 128;
  const Datatype &a_, &b_;
  const ElementNodePtr items_;
};

class CompoundNode final : public ElementNode {
 public:
  struct Member {
    std::size_t at_a, at_b;
    ElementNodePtr node;
  };
  CompoundNode(std::vector<Member> members, bool bytes_decide)
      : ElementNode(bytes_decide), members_(std::move(members)) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    for (const Member& member : members_)
      H5_TRY(member.node->mark(a.from(member.at_a), b.from(member.at_b), marks, work));
    return {};
  }

 private:
  const std::vector<Member> members_;
};

// Items one behind the other: of an array, or the parts of a complex number.
class ArrayNode final : public ElementNode {
 public:
  ArrayNode(std::size_t count, std::size_t item_a, std::size_t item_b, ElementNodePtr items)
      : ElementNode(items->bytes_decide()),
        count_(count),
        item_a_(item_a),
        item_b_(item_b),
        items_(std::move(items)) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    const bool dense = a.step == count_ * item_a_ && b.step == count_ * item_b_;
    if (dense && 2 * count_ <= kBlockElements) return mark_dense(a, b, marks, work);
    return mark_each(marks, work, [&](std::size_t i) {
      return items_equal(*items_, {a.at + i * a.step, item_a_}, {b.at + i * b.step, item_b_}, count_, work);
    });
  }

 private:
  // Several elements at once, as items.
  Status mark_dense(Strided a, Strided b, std::span<std::uint8_t> marks,
                    ElementComparison::Work& work) const {
    std::uint8_t of_items[kBlockElements];
    for (std::size_t done = 0; done < marks.size();) {
      const std::size_t elements = std::min(kBlockElements / count_, marks.size() - done);
      const std::span items(of_items, elements * count_);
      std::ranges::fill(items, std::uint8_t{0});
      H5_TRY(items_->mark({a.at + done * a.step, item_a_}, {b.at + done * b.step, item_b_}, items, work));
      for (std::size_t i = 0; i < elements; ++i, ++done)
        if (!all_equal(items.subspan(i * count_, count_))) marks[done] = 1;
    }
    return {};
  }

  const std::size_t count_, item_a_, item_b_;
  const ElementNodePtr items_;
};

ElementNodePtr make_compound_node(const Datatype& a, const Datatype& b, const Tolerance& tolerance) {
  if (a.members.size() != b.members.size()) return nullptr;
  std::vector<CompoundNode::Member> members;
  bool bytes_decide = a.size == b.size;
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    const auto& of_a = a.members[i];
    const auto& of_b = b.members[i];
    if (of_a.name != of_b.name) return nullptr;
    ElementNodePtr node = make_node(*of_a.type, *of_b.type, tolerance);
    if (!node) return nullptr;
    bytes_decide = bytes_decide && of_a.offset == of_b.offset && node->bytes_decide();
    members.push_back({of_a.offset, of_b.offset, std::move(node)});
  }
  return std::make_unique<CompoundNode>(std::move(members), bytes_decide);
}

// `count` items of `a` and as many of `b`.
ElementNodePtr make_items_node(std::size_t count, const Datatype& a, const Datatype& b,
                               const Tolerance& tolerance) {
  ElementNodePtr items = make_node(a, b, tolerance);
  if (!items) return nullptr;
  return std::make_unique<ArrayNode>(count, a.size, b.size, std::move(items));
}

// Enumerations in which each number has the same name are compared as their numbers.
ElementNodePtr make_enum_node(const Datatype& a, const Datatype& b) {
  ElementNodePtr numbers = make_number_node(*a.base, *b.base, Tolerance());
  if (!numbers) return nullptr;
  const bool same_names =
      numbers->bytes_decide() &&
      std::ranges::equal(a.enum_members, b.enum_members,
                         [](const auto& x, const auto& y) { return x.name == y.name && x.value == y.value; });
  return same_names ? std::move(numbers) : make_text_node(a, b);
}

ElementNodePtr make_variable_node(const Datatype& a, const Datatype& b, const Tolerance& tolerance) {
  if (b.cls != DatatypeClass::VariableLength || b.variable_string) return nullptr;
  ElementNodePtr items = make_node(*a.base, *b.base, tolerance);
  if (!items) return nullptr;
  return std::make_unique<SequenceNode>(a, b, std::move(items));
}

ElementNodePtr make_node(const Datatype& a, const Datatype& b, const Tolerance& tolerance) {
  if (text::is_string(a) || text::is_string(b))
    return text::is_string(a) && text::is_string(b) ? std::make_unique<StringNode>(a, b) : nullptr;
  if (a.cls != b.cls) return nullptr;
  switch (a.cls) {
    case DatatypeClass::Integer:
    case DatatypeClass::Float:
    case DatatypeClass::Time:
    case DatatypeClass::Bitfield:
      return make_number_node(a, b, tolerance);
    case DatatypeClass::Opaque:
      return a.size == b.size && a.tag == b.tag ? std::make_unique<OpaqueNode>(a.size) : nullptr;
    case DatatypeClass::Compound:
      return make_compound_node(a, b, tolerance);
    case DatatypeClass::Reference:
      return make_reference_node(a, b);
    case DatatypeClass::Enum:
      return make_enum_node(a, b);
    case DatatypeClass::VariableLength:
      return make_variable_node(a, b, tolerance);
    case DatatypeClass::Array:
      if (a.dims != b.dims) return nullptr;
      return make_items_node(a.size / a.base->size, *a.base, *b.base, tolerance);
    case DatatypeClass::Complex:
      return make_items_node(2, *a.base, *b.base, tolerance);
    case DatatypeClass::String:
      break;  // above
  }
  return nullptr;
}

}  // namespace

ElementNodePtr make_text_node(const Datatype& a, const Datatype& b) {
  return std::make_unique<TextNode>(a, b);
}

Status note_failure(const Error& error, ElementComparison::Work& work) {
  if (concerns_one_request(error)) return fail(error);
  auto& failure = work.reading == Which::A ? work.failure_a : work.failure_b;
  if (!failure) failure = error;
  return {};
}

std::unique_ptr<const ElementComparison> ElementComparison::make(DatatypePtr a, DatatypePtr b,
                                                                 const Tolerance& tolerance) {
  auto node = make_node(*a, *b, tolerance);
  if (!node) return nullptr;
  return std::unique_ptr<const ElementComparison>(
      new ElementComparison(std::move(a), std::move(b), std::move(node)));
}

ElementComparison::ElementComparison(DatatypePtr a, DatatypePtr b, std::unique_ptr<const ElementNode> node)
    : a_(std::move(a)), b_(std::move(b)), node_(std::move(node)) {}
ElementComparison::~ElementComparison() = default;

bool ElementComparison::bytes_decide() const {
  return node_->bytes_decide();
}

Status ElementComparison::compare(ByteSpan a, ByteSpan b, std::uint64_t first, Work& work,
                                  Differing& out) const {
  const std::size_t size_a = a_->size, size_b = b_->size;
  const std::size_t count = std::min(a.size() / size_a, b.size() / size_b);
  // Types of which bytes decide have one size.
  const auto same_bytes = [&](std::size_t from, std::size_t elements) {
    return bytes_decide() &&
           std::memcmp(a.data() + from * size_a, b.data() + from * size_a, elements * size_a) == 0;
  };
  H5_TRY(work.a.budget.spend(steps_of_bytes(count * std::max(size_a, size_b))));
  if (same_bytes(0, count)) return {};
  std::uint8_t marks[kBlockElements];
  for (std::size_t done = 0; done < count;) {
    const std::span block(marks, std::min(kBlockElements, count - done));
    if (!same_bytes(done, block.size())) {
      std::ranges::fill(block, std::uint8_t{0});
      H5_TRY(
          node_->mark({a.data() + done * size_a, size_a}, {b.data() + done * size_b, size_b}, block, work));
      std::size_t differing = 0;
      for (const std::uint8_t mark : block) differing += mark;
      out.count += differing;
      for (std::size_t i = 0; differing > 0 && out.numbers.size() < out.most; ++i)
        if (block[i] != 0) --differing, out.numbers.push_back(first + done + i);
    }
    done += block.size();
  }
  return {};
}

}  // namespace h5mount::front

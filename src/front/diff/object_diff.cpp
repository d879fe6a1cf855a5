#include "object_diff.h"

#include <set>
#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/object/walk_ahead.h"
#include "h5mount/tree/names.h"
#include "name_pairs.h"

namespace h5mount::front {
namespace {

constexpr std::uint64_t kStepsPerPlace = 500;  // and for each byte of its path
// For the elements of all datasets: a number, and one for each byte of both files. Chunks that hold one value
// are thousands of times larger than what is stored.
constexpr std::uint64_t kValueSteps = 1ULL << 32, kValueStepsPerFileByte = 1ULL << 14;
constexpr std::size_t kBytesPerName = 64;  // in memory, beside the name
constexpr std::size_t kBytesPerPair = 80;  // of objects, remembered

constexpr std::string_view kComment = "hdf5.comment";  // its attribute in the mount

std::string_view word_of(const format::Link& link) {
  return link.is(format::LinkType::Soft)       ? "soft link"
         : link.is(format::LinkType::External) ? "external link"
                                               : "user-defined link";
}

bool same_target(const format::Link& a, const format::Link& b) {
  return a.type == b.type && a.target == b.target && a.file == b.file;
}

bool same_shape(const format::Dataspace& a, const format::Dataspace& b) {
  return a.kind == b.kind && a.dims == b.dims;
}

NamePairs::Names names_of(const tree::LinkList& links) {
  NamePairs::Names out;
  out.reserve(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) out.push_back({links.at(i).name, i});
  return out;
}

NamePairs::Names names_of(const tree::NamedAttributes& attributes) {
  NamePairs::Names out;
  for (std::size_t i = 0; i < attributes.list.size(); ++i) out.push_back({attributes.list[i].name, i});
  return out;
}

std::size_t bytes_of(const NamePairs::Names& names) {
  std::size_t out = 0;
  for (const NamePairs::Name& one : names) out += kBytesPerName + one.name.size();
  return out;
}

// Of the file that an object is in. A sum of two of them, times the steps for a byte, fits 64 bits.
std::uint64_t stored(const tree::FileObject& object) {
  constexpr std::uint64_t kMost = 1ULL << 44;
  return std::min(object.snapshot()->source()->stored_bytes(), kMost);
}

class ObjectDiff {
 public:
  ObjectDiff(DiffContext& context, const tree::FileObject& a, const tree::FileObject& b)
      : context_(context),
        values_budget_({kValueSteps + kValueStepsPerFileByte * (stored(a) + stored(b)),
                        RequestBudget::unbounded().time}),
        ahead_a_(a.snapshot()),
        ahead_b_(b.snapshot()),
        remembered_(a.environment().cache->no_charge()) {
    budget_.allow_for(stored(a));
    budget_.allow_more(stored(b));
  }

  Status run(const tree::FileObjectPtr& a, const tree::FileObjectPtr& b) {
    const std::size_t begin = context_.length();
    H5_TRY(compare(a, b));
    while (!levels_.empty() && !ended_) {
      Level& level = levels_.back();
      context_.cut(level.path_bytes);
      if (!budget_.spend(kStepsPerPlace + level.path_bytes)) break;
      if (const auto pair = level.names.next())
        H5_TRY(visit(level, *pair));
      else
        leave();
    }
    if (const Status left = budget_.check(); !left) context_.failed(Which::A, left.error());
    context_.cut(begin);
    confirm(Which::A, *a);
    confirm(Which::B, *b);
    return {};
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // the addresses of two objects

  // Two groups whose links are being compared.
  struct Level {
    tree::FileObjectPtr a, b;
    tree::LinkListPtr links_a, links_b;
    NamePairs names;
    std::size_t path_bytes;
    Key key;
    cache::BlockCache::Charge charge;  // for the names
    std::size_t visited = 0;
  };

  // ---- groups

  // False, which was told, if that cannot be done.
  bool enter(const tree::FileObjectPtr& a, const tree::FileObjectPtr& b, const Key& key) {
    const std::size_t path_bytes = context_.length();
    if (path_bytes > limits::kMaxWalkedPathBytes - path_bytes_) {
      context_.failed(Which::A, {ErrorCode::LimitExceeded, "groups are nested too deep to be compared"});
      return false;
    }
    const auto links_a = listed(Which::A, *a), links_b = listed(Which::B, *b);
    if (!links_a || !links_b) return false;
    NamePairs::Names names_a = names_of(*links_a), names_b = names_of(*links_b);
    Level level{a, b, links_a, links_b, {}, path_bytes, key, a->environment().cache->no_charge()};
    if (const Status charged = level.charge.resize(bytes_of(names_a) + bytes_of(names_b)); !charged) {
      context_.failed(Which::A, charged.error());
      return false;
    }
    level.names = NamePairs(std::move(names_a), std::move(names_b));
    path_bytes_ += path_bytes;
    levels_.push_back(std::move(level));
    return true;
  }

  // Null, which was told, if the links cannot be read; some may be missing.
  tree::LinkListPtr listed(Which side, const tree::FileObject& group) {
    auto links = group.links(budget_);
    if (!links) {
      context_.failed(side, links.error());
      return nullptr;
    }
    if (const Error* const damage = (*links)->damage()) context_.failed(side, *damage);
    return *std::move(links);
  }

  void leave() {
    path_bytes_ -= levels_.back().path_bytes;
    const Key key = levels_.back().key;
    levels_.pop_back();
    if (partial_.erase(key) != 0) forget(key);
  }

  // What was left out of an object at one path may not be ignored at another one.
  void forget(const Key& key) {
    compared_.erase(key);
    if (!levels_.empty()) partial_.insert(levels_.back().key);
  }

  // Of the next links in the order of the list, which that of the names mostly is.
  void ask_ahead(object::WalkAhead& ahead, const tree::LinkList& links, std::size_t position) {
    if (!ahead.is_of_use() || position % object::WalkAhead::kPage != 0) return;
    std::vector<std::uint64_t> page;
    for (std::size_t i = position; i < std::min(position + object::WalkAhead::kPage, links.size()); ++i)
      if (const format::Link link = links.at(i); link.is(format::LinkType::Hard))
        page.push_back(link.address);
    ahead.will_visit(page, budget_);
  }

  // May enter another group, after which `level` is no longer valid.
  Status visit(Level& level, const NamePairs::Pair& pair) {
    ask_ahead(ahead_a_, *level.links_a, level.visited);
    ask_ahead(ahead_b_, *level.links_b, level.visited++);
    context_.enter(tree::encode_name(pair.name));
    if (context_.ignored.has(context_.path())) {
      partial_.insert(level.key);
      return {};
    }
    if (!pair.a || !pair.b)
      return context_.report.add(context_.place(), pair.a ? DiffKind::OnlyA : DiffKind::OnlyB);
    const bool hard_a = level.links_a->at(*pair.a).is(format::LinkType::Hard);
    const bool hard_b = level.links_b->at(*pair.b).is(format::LinkType::Hard);
    if (!hard_a && !hard_b) return compare_links(level, pair.name);
    const auto a = target(Which::A, *level.a, level.links_a->at(*pair.a));
    const auto b = target(Which::B, *level.b, level.links_b->at(*pair.b));
    if (!a || !b) return {};
    if (a->object && b->object) return compare(a->object, b->object);
    return context_.report.add(context_.place(), DiffKind::Kind, shown_word(a->word), shown_word(b->word));
  }

  // What a link leads to where it is a hard one, and the word for it.
  struct Target {
    tree::FileObjectPtr object;
    std::string_view word;
  };
  std::optional<Target> target(Which side, const tree::FileObject& group, const format::Link& link) {
    if (!link.is(format::LinkType::Hard)) return Target{nullptr, word_of(link)};
    auto object = group.follow(link, budget_);
    if (object) return Target{*object, object::kind_name((*object)->object().kind)};
    context_.failed(side, object.error());
    return std::nullopt;
  }

  Status compare_links(const Level& level, const std::string& name) {
    const auto a = level.a->find_link(name, budget_), b = level.b->find_link(name, budget_);
    if (!a) context_.failed(Which::A, a.error());
    if (!b) context_.failed(Which::B, b.error());
    if (!a || !b || same_target(*a, *b)) return {};
    return context_.report.add(context_.place(), DiffKind::Link, shown_link(*a), shown_link(*b));
  }

  // ---- objects

  Status compare(const tree::FileObjectPtr& a, const tree::FileObjectPtr& b) {
    const object::ObjectKind kind = a->object().kind;
    if (kind != b->object().kind)
      return context_.report.add(context_.place(), DiffKind::Kind, shown_word(object::kind_name(kind)),
                                 shown_word(object::kind_name(b->object().kind)));
    const Key key{a->object().address, b->object().address};
    if (!compared_.insert(key).second) return {};  // or they are being compared
    if (const Status charged = remembered_.resize(compared_.size() * kBytesPerPair); !charged) {
      context_.failed(Which::A, charged.error());
      ended_ = true;
      return {};
    }
    H5_TRY(compare_attributes_of(*a, *b, key));
    if (kind == object::ObjectKind::Group && enter(a, b, key)) return {};
    if (kind == object::ObjectKind::Dataset) H5_TRY(compare_datasets(*a, *b));
    if (kind == object::ObjectKind::Datatype) H5_TRY(compare_datatypes(*a, *b));
    if (partial_.erase(key) != 0) forget(key);
    return {};
  }

  Status compare_datasets(const tree::FileObject& a, const tree::FileObject& b) {
    const auto in_a = a.description(budget_), in_b = b.description(budget_);
    if (!in_a) context_.failed(Which::A, in_a.error());
    if (!in_b) context_.failed(Which::B, in_b.error());
    if (!in_a || !in_b) return {};
    H5_ASSIGN(const auto comparison, compare_descriptions(context_.place(), {(*in_a)->type, (*in_a)->space},
                                                          {(*in_b)->type, (*in_b)->space}));
    if (!comparison) return {};
    if (values_spent_) return {};
    H5_TRY(context_.report.flush());
    auto values = compare_elements(*comparison, a, b, context_.options.first, context_.workers,
                                   values_budget_, context_.options.compared_bytes);
    values_spent_ = !values && concerns_one_request(values.error());
    if (values_spent_)
      values = fail({values.error().code(),
                     values.error().text() + "; nor are the values of further datasets compared"});
    return told(values, {});
  }

  Status compare_datatypes(const tree::FileObject& a, const tree::FileObject& b) {
    const auto type_a = object::committed_datatype(*a.snapshot(), a.object());
    const auto type_b = object::committed_datatype(*b.snapshot(), b.object());
    if (!type_a) context_.failed(Which::A, type_a.error());
    if (!type_b) context_.failed(Which::B, type_b.error());
    if (!type_a || !type_b || ElementComparison::make(*type_a, *type_b, context_.options.tolerance))
      return {};
    return context_.report.add(context_.place(), DiffKind::Type, shown_type(**type_a, budget_),
                               shown_type(**type_b, budget_));
  }

  struct Described {
    const format::DatatypePtr& type;
    const format::Dataspace& space;
  };
  // Tells differences of shape and type. Null if there are any, or if there are no values.
  Result<std::unique_ptr<const ElementComparison>> compare_descriptions(const DiffPlace& place,
                                                                        const Described& a,
                                                                        const Described& b) {
    auto comparison = ElementComparison::make(a.type, b.type, context_.options.tolerance);
    const bool shapes = same_shape(a.space, b.space);
    if (!shapes)
      H5_TRY(context_.report.add(place, DiffKind::Shape, shown_shape(a.space), shown_shape(b.space)));
    if (!comparison)
      H5_TRY(context_.report.add(place, DiffKind::Type, shown_type(*a.type, budget_),
                                 shown_type(*b.type, budget_)));
    if (!shapes || a.space.element_count() == 0) comparison = nullptr;
    return comparison;
  }

  Status told(const Result<DifferentValues>& values, std::optional<std::string_view> attribute) {
    if (!values) context_.failed(Which::A, values.error(), attribute.value_or(""));
    if (values && values->failure_a) context_.failed(Which::A, *values->failure_a, attribute.value_or(""));
    if (values && values->failure_b) context_.failed(Which::B, *values->failure_b, attribute.value_or(""));
    if (!values || values->count == 0) return {};
    return context_.report.add_values(context_.place(attribute), *values);
  }

  // ---- attributes

  Status compare_attributes_of(const tree::FileObject& a, const tree::FileObject& b, const Key& key) {
    const auto list_a = attributes(Which::A, a), list_b = attributes(Which::B, b);
    if (!list_a || !list_b) return {};
    NamePairs pairs(names_of(*list_a), names_of(*list_b));
    const text::ValueContext context_a = a.values(budget_), context_b = b.values(budget_);
    while (const auto pair = pairs.next()) {
      if (!budget_.spend(kStepsPerPlace + context_.length())) return {};  // `run` tells it
      const std::string shown = tree::encode_attribute_name(pair->name);
      if (ignores(shown, key)) continue;
      if (!pair->a || !pair->b)
        H5_TRY(context_.report.add(context_.place(shown), pair->a ? DiffKind::OnlyA : DiffKind::OnlyB));
      else
        H5_TRY(compare_attribute(shown, {context_a, list_a->list[*pair->a]},
                                 {context_b, list_b->list[*pair->b]}));
    }
    return compare_comments(a, b, key);
  }

  bool ignores(std::string_view attribute, const Key& key) {
    const Ignored::Attribute ignored = context_.ignored.attribute(context_.path(), attribute);
    if (ignored == Ignored::Attribute::IgnoredHere) partial_.insert(key);
    return ignored != Ignored::Attribute::Counts;
  }

  // Nullopt, which was told, if they cannot be read; some may be missing.
  std::optional<tree::NamedAttributes> attributes(Which side, const tree::FileObject& object) {
    auto list = tree::attributes_of(object, tree::WithValues::Yes, budget_);
    if (!list) {
      context_.failed(side, list.error());
      return std::nullopt;
    }
    if (list->damage) context_.failed(side, *list->damage);
    return *std::move(list);
  }

  Status compare_attribute(const std::string& shown, const ComparedValues& a, const ComparedValues& b) {
    for (const auto& [side, value] : {std::pair(Which::A, &a.attribute), std::pair(Which::B, &b.attribute)})
      if (value->damage) context_.failed(side, *value->damage, shown);
    if (a.attribute.damage || b.attribute.damage) return {};
    H5_ASSIGN(const auto comparison,
              compare_descriptions(context_.place(shown), {a.attribute.type, a.attribute.space},
                                   {b.attribute.type, b.attribute.space}));
    if (!comparison) return {};
    return told(compare_attributes(*comparison, a, b, context_.options.first), shown);
  }

  // The comment of an object, which libhdf5 tells readers too: in the mount it is an attribute.
  Status compare_comments(const tree::FileObject& a, const tree::FileObject& b, const Key& key) {
    const auto in_a = object::object_comment(*a.snapshot(), a.object());
    const auto in_b = object::object_comment(*b.snapshot(), b.object());
    if (in_a == in_b) return {};
    if (ignores(kComment, key)) return {};
    const DiffPlace place = context_.place(kComment);
    if (!in_a || !in_b) return context_.report.add(place, in_a ? DiffKind::OnlyA : DiffKind::OnlyB);
    return context_.report.add_values(place, {1, {{{}, shown_word(*in_a).json, shown_word(*in_b).json}}});
  }

  // What was read counts only if the file is still the same.
  void confirm(Which side, const tree::FileObject& root) {
    tree::FilesRead read;
    root.add_to(read);
    if (const Status unchanged = read.confirm_unchanged(); !unchanged)
      context_.failed(side, unchanged.error());
  }

  DiffContext& context_;
  // For the structure of both files, attributes, and what is told of them; they may take any time.
  RequestBudget budget_{{limits::kRequestSteps, RequestBudget::unbounded().time}};
  RequestBudget values_budget_;  // for the elements of all datasets
  bool values_spent_ = false;    // and that was told
  object::WalkAhead ahead_a_, ahead_b_;
  std::vector<Level> levels_;
  std::size_t path_bytes_ = 0;            // the lengths of the paths of levels_ together
  std::set<Key> compared_;                // and those that are being compared
  std::set<Key> partial_;                 // of the groups of levels_: those of which something was ignored
  cache::BlockCache::Charge remembered_;  // for compared_
  bool ended_ = false;                    // there is no memory for the rest
};

}  // namespace

Status diff_objects(DiffContext& context, const tree::FileObjectPtr& a, const tree::FileObjectPtr& b) {
  return ObjectDiff(context, *a, *b).run(a, b);
}

}  // namespace h5mount::front

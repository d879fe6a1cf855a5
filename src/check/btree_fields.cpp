// B-trees of both versions.
#include "fields.h"
#include "h5mount/format/btree2_node.h"

namespace h5mount::check {

namespace {

class Tree2Fields {
 public:
  Tree2Fields(const Subject& subject, const Tree2& tree, const std::function<void(Fields& record)>& record)
      : subject_(subject), tree_(tree), record_(record) {}

  void run() {
    auto fields = subject_.take(tree_.address, format::btree2_header_bytes(subject_.file().sizes()),
                                format::kBTree2Header);
    if (!fields) return;
    const auto header =
        fields->decoded(format::decode_btree2_header, format::BTree2Records{.type = tree_.type});
    if (!header) return;
    header_ = *header;
    fields->begin({"version", "type"});
    fields->u32("node_size");
    const Field record = fields->u16("record_size");
    if (tree_.record_bytes > 0) record.want_equal(tree_.record_bytes, "is not the size of such records");
    fields->u16("depth");
    check_split_and_merge_fields(*fields);
    const Field root = fields->address("root_address");
    fields->u16("root_record_count");
    const Field total = fields->length("total_record_count");
    fields->checksum();
    root.want((root != format::kUndefinedAddress) == (total > 0),
              "there is a root if, and only if, there are records");
    if (root == format::kUndefinedAddress) return;
    root.want_stored();
    const std::uint64_t found = check_node(format::btree2_root(header_), header_.depth);
    if (whole_) total.want_equal(found, "is not the number of records in all nodes");
  }

 private:
  // Returns the number of records in the node and below it.
  std::uint64_t check_node(const format::BTree2Child& child, unsigned level) {  // NOLINT(misc-no-recursion)
    auto node = format::check_btree2_child(header_, child, level)
                    ? subject_.take(child.address,
                                    format::btree2_node_bytes(header_, subject_.file().sizes(), level,
                                                              child.record_count),
                                    level == 0 ? format::kBTree2LeafNode : format::kBTree2InternalNode)
                    : std::nullopt;
    whole_ = whole_ && node;
    if (!node) return 0;
    node->begin({"version", "type"});
    std::vector<Fields> records;
    for (std::uint64_t i = 0; i < child.record_count; ++i)
      records.push_back(node->part(header_.record_size, tree_.record_name));
    if (level > 0) return check_children(*node, records, level);
    node->checksum();
    for (Fields& record : records) take_record(record);
    return records.size();
  }

  std::uint64_t check_children(Fields& node, std::vector<Fields>& records,  // NOLINT(misc-no-recursion)
                               unsigned level) {
    const std::uint8_t total_width = header_.total_count_width(level);
    std::vector<std::pair<format::BTree2Child, Field>> children;
    for (std::size_t i = 0; i <= records.size() && node.ok(); ++i) {
      const Field address = node.address("child_address");
      address.want_defined();
      const Field count = node.uint(header_.record_count_width, "child_record_count");
      const Field total = total_width > 0 ? node.uint(total_width, "child_total_record_count") : Field();
      children.push_back({{address, count, count.offset}, total});
    }
    node.checksum();
    std::uint64_t sum = records.size();
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool before = whole_;
      const std::uint64_t found = check_node(children[i].first, level - 1);
      if (before && whole_)
        children[i].second.want_equal(found, "is not the number of records below the child");
      sum += found;
      if (i < records.size()) take_record(records[i]);
    }
    return sum;
  }

  void take_record(Fields& record) {
    record_(record);
    if (record.ok()) record.rest("unused");
  }

  const Subject& subject_;
  const Tree2& tree_;
  const std::function<void(Fields& record)>& record_;
  format::BTree2Header header_;
  bool whole_ = true;  // whether all nodes could be read
};

}  // namespace

std::vector<Tree1Child> check_btree1_fields(const Subject& subject, const Tree1& tree,
                                            const Tree1Check& check) {
  std::vector<Tree1Child> nodes{{.address = tree.root}}, below;
  std::optional<std::uint64_t> height;
  for (bool root = true; !nodes.empty() && subject.go_on(); root = false, nodes = std::move(below)) {
    below.clear();
    const auto address_of = [&](std::size_t i) {
      return i < nodes.size() ? nodes[i].address : format::kUndefinedAddress;
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      auto fields = subject.take(nodes[i].address, tree.node_bytes, tree.structure);
      if (!fields || as_text(fields->next(4)) != "TREE") continue;  // readers tell it
      fields->begin({"node_type"});
      const Field level = fields->u8("node_level"), children = fields->u16("entries_used");
      if (!height) height = level;
      if (level != *height || children > tree.most_children) continue;
      const Field left = fields->address("left_sibling_address");
      const Field right = fields->address("right_sibling_address");
      left.want_equal(address_of(i - 1), "is not the node before this one");
      right.want_equal(address_of(i + 1), "is not the node behind this one");
      check(*fields, {nodes[i], level, children, root, i + 1 == nodes.size()}, below);
      fields->rest("unused");
    }
    if (!height || (*height)-- == 0) return below;
  }
  return {};
}

void check_btree2_fields(const Subject& subject, const Tree2& tree,
                         const std::function<void(Fields& record)>& record) {
  Tree2Fields(subject, tree, record).run();
}

void check_split_and_merge_fields(Fields& fields) {
  const Field split = fields.u8("split_percent"), merge = fields.u8("merge_percent");
  split.want_range(1, 100);
  merge.want(merge >= 1 && merge <= split / 2, "is not 1 to half of the split percent");
}

}  // namespace h5mount::check

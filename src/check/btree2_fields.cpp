// Version 2 B-trees: header and nodes.
#include "fields.h"
#include "h5mount/format/btree2_node.h"

namespace h5mount::check {

namespace {

class Tree2Fields {
 public:
  Tree2Fields(const Context& context, PlaceId place, const Tree2& tree,
              const std::function<void(Fields& record)>& record)
      : context_(context), place_(place), tree_(tree), record_(record) {}

  void run() {
    const std::uint64_t bytes = format::btree2_header_bytes(context_.metadata->sizes());
    const auto block = take_structure(context_, tree_.address, bytes, format::kBTree2Header);
    if (!block) return;
    format::Cursor cursor = block->cursor(format::kBTree2Header);
    const auto header = format::decode_btree2_header(cursor, {.type = tree_.type});
    if (!header) return;
    header_ = *header;
    Fields fields(context_, place_, block->cursor(format::kBTree2Header));
    check_header(fields);
  }

 private:
  void check_header(Fields& fields) {
    fields.signature();
    fields.u8("version");
    fields.u8("type");
    fields.u32("node_size");
    fields.u16("record_size");
    if (tree_.record_bytes > 0) fields.want_equal(tree_.record_bytes, "is not the size of such records");
    fields.u16("depth");
    const std::uint8_t split = fields.u8("split_percent");
    fields.want(split >= 1 && split <= 100, "is not 1 to 100");
    fields.u8("merge_percent");
    fields.want(fields.last().value >= 1 && fields.last().value <= split / 2,
                "is not 1 to half of the split percent");
    fields.address("root_address");
    const format::Field root = fields.last();
    fields.u16("root_record_count");
    fields.length("total_record_count");
    const format::Field total = fields.last();
    fields.checksum();
    fields.want((root.value != format::kUndefinedAddress) == (total.value > 0), root,
                "there is a root if, and only if, there are records");
    if (root.value == format::kUndefinedAddress) return;
    fields.want_stored(root, 1, kBehindEnd);
    const std::uint64_t found = check_node(format::btree2_root(header_), header_.depth);
    if (whole_) fields.want_equal(found, total, "is not the number of records in all nodes");
  }

  // Returns the number of records in the node and below it.
  std::uint64_t check_node(const format::BTree2Child& child, unsigned level) {  // NOLINT(misc-no-recursion)
    const std::string_view name = level == 0 ? format::kBTree2LeafNode : format::kBTree2InternalNode;
    const format::FileSizes sizes = context_.metadata->sizes();
    const bool sound = format::check_btree2_child(header_, child, level).has_value();
    const auto block =
        sound ? take_structure(context_, child.address,
                               format::btree2_node_bytes(header_, sizes, level, child.record_count), name)
              : std::nullopt;
    whole_ = whole_ && block;
    if (!block) return 0;
    Fields node(context_, place_, block->cursor(name));
    node.signature();
    node.u8("version");
    node.u8("type");
    std::vector<Fields> records;
    for (std::uint64_t i = 0; i < child.record_count; ++i)
      records.push_back(node.part(header_.record_size, tree_.record_name));
    if (level == 0) {
      node.checksum();
      for (Fields& record : records) take_record(record);
      return records.size();
    }
    return check_children(node, records, level);
  }

  std::uint64_t check_children(Fields& node, std::vector<Fields>& records,  // NOLINT(misc-no-recursion)
                               unsigned level) {
    struct Child {
      format::BTree2Child child;
      format::Field total;
    };
    const std::uint8_t total_width = header_.total_count_width(level);
    std::vector<Child> children;
    for (std::size_t i = 0; i <= records.size() && node.ok(); ++i) {
      Child one;
      one.child.address = node.address("child_address");
      node.want(node.last().value < context_.stored_end, kBehindEnd);
      one.child.record_count = node.uint(header_.record_count_width, "child_record_count");
      one.child.record_count_offset = node.last().offset;
      if (total_width > 0) {
        node.uint(total_width, "child_total_record_count");
        one.total = node.last();
      }
      children.push_back(one);
    }
    node.checksum();
    std::uint64_t sum = records.size();
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool before = whole_;
      const std::uint64_t found = check_node(children[i].child, level - 1);
      if (total_width > 0 && before && whole_)
        node.want_equal(found, children[i].total, "is not the number of records below the child");
      sum += found;
      if (i < records.size()) take_record(records[i]);
    }
    return sum;
  }

  void take_record(Fields& record) {
    record_(record);
    if (record.ok() && record.remaining() > 0) record.bytes(record.remaining(), "unused");
  }

  const Context& context_;
  const PlaceId place_;
  const Tree2& tree_;
  const std::function<void(Fields& record)>& record_;
  format::BTree2Header header_;
  bool whole_ = true;  // whether all nodes could be read
};

}  // namespace

void check_btree2_fields(const Context& context, PlaceId place, const Tree2& tree,
                         const std::function<void(Fields& record)>& record) {
  Tree2Fields(context, place, tree, record).run();
}

}  // namespace h5mount::check

#include "claiming_file.h"

#include <algorithm>
#include <bit>
#include <string>

#include "support/byte_builder.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};  // an undefined address
constexpr std::size_t kMaxMessage = 60'000;         // a message's size has 16 bits
constexpr std::size_t kMaxFile = 600'000;

class Choices {
 public:
  explicit Choices(ByteSpan bytes) : bytes_(bytes) {}
  // Below `bound`, 0 where there are no choices left.
  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t value = 0;
    for (int i = 0; i < 3 && at_ < bytes_.size(); ++i)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at_++]);
    return bound == 0 ? 0 : value % bound;
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  // From 1 to `most`, of any magnitude alike.
  std::uint64_t magnitude(std::uint64_t most) {
    const std::uint64_t power = std::uint64_t{1} << below(static_cast<std::uint64_t>(std::bit_width(most)));
    return std::min(most, power + below(power));
  }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
};

struct Type {
  ByteBuilder bytes;
  std::uint64_t size;
};

Type integer(std::uint64_t size) {
  Type type{{}, size};
  type.bytes.u8(0x30).u8(0).u16(0).u32(size).u16(0).u16(8 * size);
  return type;
}

Type fixed_string(std::uint64_t size) {
  Type type{{}, size};
  type.bytes.u8(0x33).u8(0).u16(0).u32(size);
  return type;
}

Type variable_string() {
  Type type{{}, 16};
  type.bytes.u8(0x39).u8(1).u16(0).u32(16).add(integer(1).bytes);
  return type;
}

Type array_of(const Type& base, std::uint64_t items) {
  Type type{{}, base.size * items};
  type.bytes.u8(0x3A).u8(0).u16(0).u32(type.size).u8(1).u32(items).add(base.bytes);
  return type;
}

std::string name_of(Choices& choices, std::uint64_t number, std::uint64_t most) {
  constexpr std::string_view kFillers = "a.\"\x01\n,\xFF";
  std::string name = std::to_string(number);
  name.append(choices.magnitude(most), kFillers[choices.below(kFillers.size())]);
  return name;
}

Type enumeration(Choices& choices, std::size_t room) {
  const std::uint64_t size = choices.one_in(2) ? 1 : 2;
  const std::uint64_t most = size == 1 ? 256 : 4000, length = choices.magnitude(2000);
  std::vector<std::string> names;
  std::size_t bytes = 64;
  for (std::uint64_t i = 0, count = choices.magnitude(most); i < count; ++i) {
    std::string name = name_of(choices, i, length);
    if (bytes + name.size() + 1 + size > room) break;
    bytes += name.size() + 1 + size;
    names.push_back(std::move(name));
  }
  Type type{{}, size};
  type.bytes.u8(0x38).u16(names.size()).u8(0).u32(size).add(integer(size).bytes);
  for (const std::string& name : names) type.bytes.text(name).u8(0);
  for (std::uint64_t i = 0; i < names.size(); ++i) type.bytes.uint(i, size);
  return type;
}

Type any_type(Choices& choices, std::size_t room, unsigned depth);

Type compound(Choices& choices, std::size_t room, unsigned depth) {
  const std::uint64_t length = choices.magnitude(room / 2), count = choices.magnitude(2000);
  std::vector<std::pair<std::string, Type>> members;
  std::size_t bytes = 16;
  std::uint64_t size = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name = name_of(choices, i, length);
    if (bytes + name.size() + 200 > room) break;
    Type type = any_type(choices, room - bytes - name.size() - 100, depth + 1);
    bytes += name.size() + 5 + type.bytes.size();
    if (bytes > room || size + type.size > (64U << 20)) break;
    size += type.size;
    members.emplace_back(std::move(name), std::move(type));
  }
  if (members.empty()) return integer(4);
  Type out{{}, size};
  out.bytes.u8(0x36).u16(members.size()).u8(0).u32(size);
  const auto width = static_cast<std::size_t>((std::bit_width(size) + 7) / 8);
  std::uint64_t offset = 0;
  for (const auto& [name, type] : members) {
    out.bytes.text(name).u8(0).uint(offset, width).add(type.bytes);
    offset += type.size;
  }
  return out;
}

Type any_type(Choices& choices, std::size_t room, unsigned depth) {
  switch (choices.below(depth > 3 || room < 300 ? 4 : 8)) {
    case 0:
      return integer(std::uint64_t{1} << choices.below(4));
    case 1:
      return fixed_string(choices.magnitude(2000));
    case 2:
      return variable_string();
    case 3:
      return integer(1);
    case 4:
    case 5: {
      Type base = any_type(choices, room - 20, depth + 1);
      const std::uint64_t items = choices.magnitude(std::max<std::uint64_t>(1, (16U << 20) / base.size));
      return array_of(base, items);
    }
    case 6:
      return enumeration(choices, room);
    default:
      return compound(choices, room, depth);
  }
}

// Object headers of version 2 one after another, and a heap collection with one object.
class File {
 public:
  File() { out_.zeros(kSuperblockBytes); }

  bool full() const { return out_.size() > kMaxFile; }

  std::uint64_t add_heap(std::size_t bytes) {
    const std::uint64_t address = out_.size();
    const std::size_t padded = (bytes + 7) / 8 * 8;
    out_.text("GCOL").u8(1).zeros(3).u64(16 + 16 + padded + 16);
    out_.u16(1).u16(1).u32(0).u64(bytes).text(std::string(padded, 's'));
    out_.u16(0).u16(0).u32(0).u64(16);
    return address;
  }

  std::uint64_t add_object(const ByteBuilder& messages) {
    const std::uint64_t address = out_.size();
    out_.text("OHDR").u8(2).u8(2).u32(messages.size()).add(messages);
    out_.checksum_from(static_cast<std::size_t>(address));
    return address;
  }

  std::vector<std::byte> finish(std::uint64_t root) {
    ByteBuilder superblock;
    superblock.text("\x89HDF\r\n\x1A\n").u8(2).u8(8).u8(8).u8(0).u64(0).u64(kNone).u64(out_.size()).u64(root);
    superblock.checksum_from(0);
    std::vector<std::byte> bytes = out_.bytes();
    std::ranges::copy(superblock.bytes(), bytes.begin());
    return bytes;
  }

 private:
  static constexpr std::size_t kSuperblockBytes = 48;
  ByteBuilder out_;
};

void add_message(ByteBuilder& messages, unsigned type, const ByteBuilder& body) {
  messages.u8(type).u16(body.size()).u8(0).add(body);
}

ByteBuilder dataspace(const std::vector<std::uint64_t>& dims) {
  ByteBuilder out;
  out.u8(2).u8(dims.size()).u8(0).u8(dims.empty() ? 0 : 1);
  for (const std::uint64_t dim : dims) out.u64(dim);
  return out;
}

void add_link(ByteBuilder& messages, const std::string& name, std::uint64_t address) {
  ByteBuilder link;
  link.u8(1).u8(0x01).u16(name.size()).text(name).u64(address);
  add_message(messages, 0x06, link);
}

void add_soft_link(ByteBuilder& messages, const std::string& name, const std::string& target) {
  ByteBuilder link;
  link.u8(1).u8(0x09).u8(1).u16(name.size()).text(name).u16(target.size()).text(target);
  add_message(messages, 0x06, link);
}

ByteBuilder group_begin() {
  ByteBuilder messages, info;
  info.u8(0).u8(0).u64(kNone).u64(kNone);
  add_message(messages, 0x02, info);
  return messages;
}

class Generator {
 public:
  explicit Generator(ByteSpan choices) : choices_(choices) {}

  std::vector<std::byte> file() {
    heap_bytes_ = choices_.magnitude(100'000);
    heap_ = file_.add_heap(static_cast<std::size_t>(heap_bytes_));
    ByteBuilder root = group_begin();
    const std::uint64_t features = 1 + choices_.below(6);
    for (std::uint64_t i = 0; i < features && !file_.full(); ++i) add_feature(root, i);
    return file_.finish(file_.add_object(root));
  }

 private:
  void add_feature(ByteBuilder& root, std::uint64_t number) {
    const std::string name = name_of(choices_, number, choices_.one_in(3) ? 2000 : 8);
    switch (choices_.below(6)) {
      case 0:
        return add_link(root, name, nested_groups());
      case 1:
        return add_link(root, name, many_links());
      case 2:
        return add_link(root, name, groups_of_links(name));
      case 3:
        return add_link(root, name, group_of_datasets());
      default:
        return add_link(root, name, dataset(any_type(choices_, kMaxMessage, 0), any_dims()));
    }
  }

  std::vector<std::uint64_t> any_dims() {
    std::vector<std::uint64_t> dims(choices_.below(4));
    for (std::uint64_t& dim : dims)
      dim = choices_.magnitude(choices_.one_in(8) ? std::uint64_t{1} << 62 : std::uint64_t{1} << 18);
    return dims;
  }

  std::uint64_t dataset(const Type& type, const std::vector<std::uint64_t>& dims) {
    ByteBuilder messages, fill, layout;
    add_message(messages, 0x01, dataspace(dims));
    add_message(messages, 0x03, type.bytes);
    add_message(messages, 0x05, fill.u8(3).u8(0x0A));
    std::uint64_t bytes = type.size;
    for (const std::uint64_t dim : dims)
      if (__builtin_mul_overflow(bytes, dim, &bytes)) bytes = kNone;
    if (dims.empty() || choices_.one_in(2)) {
      layout.u8(3).u8(1).u64(kNone).u64(bytes);
    } else {
      layout.u8(3).u8(2).u8(dims.size() + 1).u64(kNone);
      for (const std::uint64_t dim : dims) layout.u32(std::min<std::uint64_t>(dim, choices_.magnitude(4096)));
      layout.u32(type.size);
    }
    add_message(messages, 0x08, layout);
    const std::uint64_t attributes = choices_.one_in(4) ? choices_.magnitude(200) : choices_.below(3);
    for (std::uint64_t i = 0; i < attributes && messages.size() < kMaxFile / 4; ++i)
      add_attribute(messages, i);
    return file_.add_object(messages);
  }

  // Strings of variable length that share their bytes, or elements that are all zero.
  void add_attribute(ByteBuilder& messages, std::uint64_t number) {
    const Type type = choices_.one_in(2) ? variable_string() : any_type(choices_, 2000, 2);
    const std::string name = name_of(choices_, number, 100);
    const std::uint64_t count = choices_.magnitude(std::max<std::uint64_t>(1, 4000 / type.size));
    if (type.size * count > 20'000) return;
    const ByteBuilder space = dataspace({count});
    ByteBuilder body;
    body.u8(3).u8(0).u16(name.size() + 1).u16(type.bytes.size()).u16(space.size()).u8(0).text(name).u8(0);
    body.add(type.bytes).add(space);
    const bool shares = type.size == 16 && type.bytes.size() == variable_string().bytes.size();
    for (std::uint64_t i = 0; i < count; ++i)
      if (shares)
        body.u32(heap_bytes_).u64(heap_).u32(1);
      else
        body.zeros(static_cast<std::size_t>(type.size));
    add_message(messages, 0x0C, body);
  }

  std::uint64_t nested_groups() {
    const std::uint64_t levels = choices_.magnitude(6000), jump = 1 + choices_.below(2000);
    const std::string name = name_of(choices_, 0, choices_.one_in(4) ? 250 : 2);
    std::string down;
    for (std::uint64_t i = 0; i < jump && down.size() + name.size() < 4000; ++i) down += name + "/";
    std::uint64_t below = dataset(integer(4), {choices_.magnitude(1000)});
    for (std::uint64_t i = 0; i < levels && !file_.full(); ++i) {
      ByteBuilder group = group_begin();
      add_link(group, name, below);
      if (i % jump == 0) add_soft_link(group, "l", down);
      below = file_.add_object(group);
    }
    return below;
  }

  std::uint64_t many_links() {
    ByteBuilder group = group_begin();
    const std::uint64_t target = dataset(any_type(choices_, 10'000, 1), any_dims());
    const std::uint64_t count = choices_.magnitude(8000), length = choices_.magnitude(200);
    for (std::uint64_t i = 0; i < count && group.size() < kMaxFile / 2; ++i) {
      const std::string name = name_of(choices_, i, length);
      if (choices_.one_in(2))
        add_link(group, name, target);
      else
        add_soft_link(group, name, std::to_string(choices_.below(count)));
    }
    return file_.add_object(group);
  }

  // Groups of soft links, each of which leads to one of the next group.
  std::uint64_t groups_of_links(const std::string& own) {
    const std::uint64_t groups = choices_.magnitude(60), links = choices_.magnitude(500);
    ByteBuilder above = group_begin();
    for (std::uint64_t i = 0; i < groups && above.size() < kMaxFile / 4 && !file_.full(); ++i) {
      ByteBuilder group = group_begin();
      for (std::uint64_t k = 0; k < links; ++k)
        add_soft_link(group, "x" + std::to_string(k),
                      "/" + own + "/q" + std::to_string((i + 1) % groups) + "/x" + std::to_string(k));
      add_link(above, "q" + std::to_string(i), file_.add_object(group));
    }
    return file_.add_object(above);
  }

  // A group that is a table: columns of equal length.
  std::uint64_t group_of_datasets() {
    const std::uint64_t columns = choices_.magnitude(400), rows = choices_.magnitude(std::uint64_t{1} << 33);
    const Type type = any_type(choices_, 3000, 1);
    ByteBuilder group = group_begin();
    for (std::uint64_t i = 0; i < columns && !file_.full(); ++i)
      add_link(group, name_of(choices_, i, 300), dataset(choices_.one_in(3) ? integer(8) : type, {rows}));
    return file_.add_object(group);
  }

  Choices choices_;
  File file_;
  std::uint64_t heap_ = 0, heap_bytes_ = 0;
};

}  // namespace

std::vector<std::byte> make_claiming_file(ByteSpan choices) {
  return Generator(choices).file();
}

std::vector<std::byte> random_choices(std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  std::vector<std::byte> out(4096);
  for (std::byte& byte : out) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    byte = static_cast<std::byte>(state >> 24);
  }
  return out;
}

}  // namespace h5mount::test

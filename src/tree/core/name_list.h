// NameList: a listing of known names, in the order in which they were added. Threads: one adds, then any.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

class NameList final : public DirectoryListing {
 public:
  void add(std::string name, NodeType type, std::uint64_t ino = 0) {
    names_.push_back({std::move(name), type, ino});
  }
  // Why names may be missing; nullopt: none is missing.
  void set_damage(std::optional<Error> damage) { damage_ = std::move(damage); }
  void set_left_out(std::vector<LeftOut> left_out) { left_out_ = std::move(left_out); }

  std::size_t size() const override { return names_.size(); }
  Item at(std::size_t position, std::string&) const override {
    const Name& name = names_[position];
    return {.name = name.shown, .type = name.type, .ino = name.ino};
  }
  const Error* damage() const override { return damage_ ? &*damage_ : nullptr; }
  std::span<const LeftOut> left_out() const override { return left_out_; }

 private:
  struct Name {
    std::string shown;
    NodeType type;
    std::uint64_t ino;
  };
  std::vector<Name> names_;
  std::optional<Error> damage_;
  std::vector<LeftOut> left_out_;
};

}  // namespace h5mount::tree

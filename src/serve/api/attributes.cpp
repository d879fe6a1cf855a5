#include <algorithm>

#include "../http/gradual_body.h"
#include "element_text.h"
#include "entity_json.h"

namespace h5mount::serve {
namespace {

constexpr std::size_t kValueBytes = 64U << 10;  // bytes of a value that is made at once

// The values of attributes, as an object. If a value cannot be read, it is null.
class AttributesBody final : public GradualBody {
 public:
  AttributesBody(tree::FileObjectPtr object, tree::NamedAttributes attributes)
      : object_(std::move(object)),
        attributes_(std::move(attributes.list)),
        charge_(std::move(attributes.charge)) {}

 private:
  Status add_next(std::string& out, RequestWork& work) override {
    if (value_) return add_value(out, work);
    if (next_ == attributes_.size()) {
      out += next_ == 0 ? "{}" : "}";
      end();
      return {};
    }
    out += next_ == 0 ? '{' : ',';
    const object::Attribute& attribute = attributes_[next_++];
    text::append_json_string(attribute.name, out);
    out += ':';
    if (attribute.damage || !attribute.type || attribute.space.kind == format::DataspaceKind::Null) {
      out += "null";
      return {};
    }
    FlatType array = flat_type(attribute.type, attribute.space.dims);
    if (attribute.space.element_count() == 0) {
      H5_ASSIGN(const std::string empty, ElementText::empty(array));
      out += empty;
      return {};
    }
    value_.emplace(ElementText::Form::Json, std::move(array));
    rest_ = attribute.data;
    // A value may refer to something damaged (the heap of its texts).
    const std::size_t before = out.size();
    const Status added = add_value(out, work);
    if (added || is_passing(added.error())) return added;
    out.resize(before);
    out += "null";
    value_.reset();
    return {};
  }

  Status add_value(std::string& out, RequestWork& work) {
    const std::size_t item = value_->type().size;
    const std::size_t count = std::max<std::size_t>(kValueBytes / item, 1) * item;
    text::ValueContext values = object_->values(work.budget());
    values.form = text::JsonForm::NumPy;
    const std::size_t most = std::max<std::size_t>(wanted(), 1);
    H5_ASSIGN(const std::size_t added,
              value_->add(rest_.first(std::min(count, rest_.size())), values, most, out));
    rest_ = rest_.subspan(added);
    if (rest_.size() < item) value_.reset();
    return {};
  }

  Status confirm() override { return confirm_unchanged(*object_); }

  const tree::FileObjectPtr object_;
  const std::vector<object::Attribute> attributes_;
  const MemoryCharge charge_;  // for their values
  std::size_t next_ = 0;
  std::optional<ElementText> value_;  // of the attribute that is being written
  ByteSpan rest_;                     // data of the value that are not yet written
};

}  // namespace

Result<Answer> answer_attributes(const ApiRequest& request) {
  H5_ASSIGN(const Entity entity, find_object(request));
  const bool own = is_own(*entity.object, OwnPart::Description, request.budget());
  H5_ASSIGN(tree::NamedAttributes attributes,
            attributes_of(*entity.object, tree::WithValues::Yes, request.budget()));
  const std::vector<std::string> keys = request.query.all("attr_keys");
  for (const std::string& key : keys) {
    if (std::ranges::find(attributes.list, key, &object::Attribute::name) != attributes.list.end()) continue;
    if (attributes.damage) return fail(*attributes.damage);
    return fail({ErrorCode::NotFound, key + " is no attribute of " + entity.path});
  }
  if (!keys.empty())
    std::erase_if(attributes.list, [&](const object::Attribute& attribute) {
      return std::ranges::find(keys, attribute.name) == keys.end();
    });
  auto body = std::make_unique<AttributesBody>(entity.object, std::move(attributes));
  H5_TRY(body->begin(request.work));
  return described(request, std::move(body), "application/json", own);
}

}  // namespace h5mount::serve

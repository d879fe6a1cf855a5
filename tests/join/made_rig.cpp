#include "made_rig.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "h5mount/join/plan.h"
#include "support/corpus.h"

namespace h5mount::join {

namespace {

std::string output_of(const std::string& command, const std::filesystem::path& said) {
  if (std::system((command + " >'" + said.string() + "' 2>&1").c_str()) == 0) return {};
  std::ifstream in(said);
  return "failed: " + std::string(std::istreambuf_iterator<char>(in), {});
}

void make_float(format::Datatype& type) {
  const bool is_double = type.size == 8;
  type.cls = format::DatatypeClass::Float;
  type.normalization = format::MantissaNormalization::Implied;
  type.sign_location = is_double ? 63 : 31;
  type.exponent_location = is_double ? 52 : 23;
  type.exponent_size = is_double ? 11 : 8;
  type.mantissa_size = is_double ? 52 : 23;
  type.exponent_bias = is_double ? 1023 : 127;
}

}  // namespace

format::DatatypePtr made_type(const std::string& name) {
  auto type = std::make_shared<format::Datatype>();
  if (name == "vlen") {
    type->cls = format::DatatypeClass::VariableLength;
    type->size = 16;
    type->variable_string = true;
    type->charset = format::CharacterSet::Utf8;
    type->has_variable_part = true;
    auto base = std::make_shared<format::Datatype>();
    base->cls = format::DatatypeClass::String;
    base->size = 1;
    base->charset = format::CharacterSet::Utf8;
    type->base = base;
    return type;
  }
  if (name == "ref") {
    type->cls = format::DatatypeClass::Reference;
    type->size = 8;
    type->has_reference = true;
    return type;
  }
  if (name.front() == 'S') {
    type->cls = format::DatatypeClass::String;
    type->size = static_cast<std::uint32_t>(std::stoul(name.substr(1)));
    type->padding = format::StringPadding::NullPad;
    return type;
  }
  type->size = static_cast<std::uint32_t>(std::stoul(name.substr(2)));
  type->order = name.front() == '>' ? format::ByteOrder::Big : format::ByteOrder::Little;
  type->bit_precision = static_cast<std::uint16_t>(8 * type->size);
  type->is_signed = name[1] == 'i';
  if (name[1] == 'f') make_float(*type);
  return type;
}

format::DatatypePtr compound_of(std::vector<format::CompoundMember> members, std::uint32_t size) {
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Compound;
  type->size = size;
  type->members = std::move(members);
  return type;
}

MadeObject made_group(std::string path) {
  MadeObject out;
  out.path = std::move(path);
  return out;
}

MadeObject made_dataset(std::string path, format::DatatypePtr type, std::vector<std::uint64_t> dims) {
  MadeObject out;
  out.path = std::move(path);
  out.kind = MadeObject::Kind::Dataset;
  out.type = std::move(type);
  if (!dims.empty()) out.space.kind = format::DataspaceKind::Simple;
  out.space.max_dims = dims;
  out.space.dims = std::move(dims);
  return out;
}

MadeValue text_of(std::string_view text) {
  const ByteSpan bytes = as_bytes(text);
  return {{bytes.begin(), bytes.end()}, {}, {}};
}

MadeValue strings_of(const std::vector<std::string>& texts) {
  MadeValue out;
  out.bytes.resize(16 * texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    out.sequences.push_back({16 * i, static_cast<std::uint32_t>(texts[i].size()), {text_of(texts[i])}});
  return out;
}

MadeValue references_to(const std::vector<std::string>& paths) {
  MadeValue out;
  out.bytes.resize(8 * paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) out.references.push_back({8 * i, paths[i]});
  return out;
}

MadeAttribute made_attribute(std::string name, format::DatatypePtr type, std::vector<std::uint64_t> dims,
                             MadeValue value) {
  MadeAttribute out;
  out.name = std::move(name);
  out.type = std::move(type);
  if (!dims.empty()) out.space.kind = format::DataspaceKind::Simple;
  out.space.max_dims = dims;
  out.space.dims = std::move(dims);
  out.value = std::move(value);
  return out;
}

std::string import_made_files() {
  return "import sys; sys.path.insert(0, '" + (test::source_root() / "tests/join").string() +
         "'); sys.dont_write_bytecode = True; import made_files\n";
}

std::string said_by_python(const std::map<std::string, std::vector<std::byte>>& files,
                           const std::string& script) {
  namespace fs = std::filesystem;
  std::string place = (fs::temp_directory_path() / "h5mount-made-XXXXXX").string();
  if (::mkdtemp(place.data()) == nullptr) return "no directory";
  const fs::path directory = place;
  for (const auto& [name, bytes] : files)
    std::ofstream(directory / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::ofstream(directory / "check.py") << "import h5py, numpy as np, subprocess\n"
                                        << import_made_files() << script << "\n";
  const std::string command = "cd '" + place + "' && " + std::string(test::kPython) + " check.py";
  std::string out = output_of(command, directory / "said");
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  return out;
}

bool has_netcdf4() {
  return std::system((std::string(test::kPython) + " -c 'import netCDF4' 2>/dev/null").c_str()) == 0;
}

}  // namespace h5mount::join

#include <algorithm>

#include "card_files.h"
#include "h5mount/base/limits.h"
#include "support/fails_once.h"

namespace h5mount::join {
namespace {

using test::written_with_h5py;

const std::string kClimate = R"(
d.createDimension('time', None); d.createDimension('lat', 3); d.createDimension('bnds', 2)
t = d.createVariable('time', 'i4', ('time',)); t.units = 'days since 2000-01-01'; t.calendar = 'noleap'
t.bounds = 'time_bnds'; t[:] = [31, 59, 90]
b = d.createVariable('time_bnds', 'f8', ('time', 'bnds')); b[:] = np.zeros((3, 2))
la = d.createVariable('lat', 'f4', ('lat',)); la.units = 'degrees_north'; la[:] = [1.5, 2.5, 3.5]
h = d.createVariable('height', 'f8', ()); h[...] = 2.0
p = d.createVariable('tas', 'i2', ('time', 'lat'), zlib=True, fill_value=-1)
p.scale_factor = np.float32(0.5); p.add_offset = np.float32(10); p.coordinates = 'height'
p.set_auto_maskandscale(False); p[:] = np.arange(9).reshape(3, 3)
d.title = 'one'
)";

std::vector<std::string> paths_of(const FileCardPtr& card) {
  std::vector<std::string> out;
  for (const MemberCardPtr& one : card->members) out.push_back(one->path);
  return out;
}

std::vector<std::string> names_of(const MemberCard& card) {
  std::vector<std::string> out;
  for (const CardAttribute& one : card.attributes) out.push_back(one.name);
  return out;
}

Digest attribute(const MemberCard& card, std::string_view name) {
  const auto found = std::ranges::find(card.attributes, name, &CardAttribute::name);
  if (found == card.attributes.end()) throw std::runtime_error("no attribute " + std::string(name));
  return found->value;
}

TEST(Cards, SayWhatAFileOfNetcdfHas) {
  CardMaker maker(axis_named("time"));
  const FileCardPtr card = card_of(maker, netcdf_file(kClimate));
  ASSERT_FALSE(card->error);
  EXPECT_EQ(paths_of(card),
            (std::vector<std::string>{"", "bnds", "height", "lat", "tas", "time", "time_bnds"}));
  const MemberCard& tas = member(card, "tas");
  EXPECT_EQ(tas.scales, (std::vector<std::string>{"time", "lat"}));
  EXPECT_EQ(tas.space.dims, (std::vector<std::uint64_t>{3, 3}));
  ASSERT_TRUE(tas.packing);
  EXPECT_EQ(tas.packing->scale, 0.5);
  EXPECT_EQ(tas.packing->shown, meaning::NumberKind::F32);
  EXPECT_TRUE(tas.packing_sound);
  EXPECT_FALSE(tas.values) << "it has the axis";
  EXPECT_FALSE(tas.is_coordinate);
  EXPECT_EQ(tas.chunk.size(), 2U);
  EXPECT_EQ(names_of(tas),
            (std::vector<std::string>{"_FillValue", "add_offset", "coordinates", "scale_factor"}));
  const MemberCard& height = member(card, "height");
  EXPECT_TRUE(height.is_coordinate);
  EXPECT_FALSE(height.is_scale);
  ASSERT_EQ(height.numbers.size(), 1U);
  EXPECT_EQ(height.numbers[0], (Number{false, 0, 2.0}));
  const MemberCard& bounds = member(card, "time_bnds");
  EXPECT_TRUE(bounds.bounds_time && bounds.is_coordinate);
  EXPECT_EQ(bounds.units, "days since 2000-01-01");
  EXPECT_EQ(bounds.calendar, "noleap");
  EXPECT_TRUE(member(card, "bnds").without_values);
  EXPECT_FALSE(member(card, "bnds").values);
  EXPECT_TRUE(member(card, "lat").values && member(card, "lat").decoded);
  ASSERT_EQ(card->axes.size(), 1U);
  const AxisValues& time = card->axes[0];
  EXPECT_EQ(card->members[time.member]->path, "time");
  EXPECT_EQ(time.first.whole, 31);
  EXPECT_EQ(time.last.whole, 90);
  EXPECT_EQ(time.decoded_last, 90);
  EXPECT_TRUE(time.readable && time.ascending && !time.descending && !time.has_missing && time.all_whole);
  EXPECT_EQ(time.common_step, 1U) << "of 28 and 59";
  EXPECT_EQ(card->path, "a.nc");
  EXPECT_EQ(card->identity, 7U);
}

TEST(Cards, EqualMembersAreOneObject) {
  CardMaker maker(axis_named("time"));
  const FileCardPtr a = card_of(maker, netcdf_file(kClimate));
  const FileCardPtr b = card_of(maker, netcdf_file(kClimate + "t[:] = [120, 151, 181]; d.title = 'two'"));
  for (const std::string& path : paths_of(a))
    EXPECT_EQ(*a->find(path) == *b->find(path), !path.empty()) << path;
  EXPECT_NE(a->axes[0].values, b->axes[0].values);
}

// Coordinates along the axis.
TEST(Cards, SayHowACoordinateRuns) {
  CardMaker maker(axis_named("x"));
  const auto scan = [&](const std::string& values) {
    const FileCardPtr card = card_of(maker, written_with_h5py("x = f.create_dataset('x', data=np.array(" +
                                                              values + "))\nx.make_scale('x')\n"));
    return card->axes.at(0);
  };
  EXPECT_TRUE(scan("[3.5]").ascending && scan("[3.5]").descending);
  EXPECT_FALSE(scan("[3.5]").all_whole);
  EXPECT_TRUE(scan("[3., 2., 1.]").descending && !scan("[3., 2., 1.]").ascending);
  EXPECT_EQ(scan("[7., 3., -5.]").common_step, 4U);
  EXPECT_FALSE(scan("[1, 1]").ascending || scan("[1, 1]").descending);
  EXPECT_TRUE(scan("[1, np.nan, 3]").has_missing);
  EXPECT_FALSE(scan("[1, np.nan, 3]").ascending);
  // Doubles would not tell these from one another.
  EXPECT_TRUE(scan("[2**62, 2**62 + 1], 'i8'").ascending);
  EXPECT_EQ(scan("[2**62, 2**62 + 2], 'i8'").last.whole, (std::int64_t{1} << 62) + 2);
  EXPECT_EQ(scan("[2**63 + 2048], 'u8'").first, (Number{false, 0, 0x1p63 + 2048}));
  EXPECT_EQ(scan("[-2**63, 2**63 - 1], 'i8'").common_step, ~std::uint64_t{0});
  EXPECT_FALSE(scan("[b'a', b'b']").readable);
  EXPECT_TRUE(scan("[], 'f4'").readable);
  EXPECT_EQ(scan("range(100000), '>i2'").values, scan("range(100000), 'i2'").values);
  EXPECT_EQ(scan("range(100000), 'i4'").values, scan("range(100000), 'u8'").values);
  EXPECT_TRUE(scan("range(100000), 'i4'").ascending);
}

TEST(Cards, ScaledCoordinatesRunAsTheyAreDecoded) {
  CardMaker maker(axis_named("x"));
  const FileCardPtr card = card_of(maker, written_with_h5py(R"(
x = f.create_dataset('x', data=np.array([1, 2, 3], 'i2')); x.make_scale('x')
x.attrs['scale_factor'] = -0.5; x.attrs['_FillValue'] = np.int16(9))"));
  const AxisValues& values = card->axes.at(0);
  EXPECT_TRUE(values.descending && !values.ascending && !values.has_missing);
  EXPECT_EQ(values.decoded_last, -1.5);
  EXPECT_EQ(values.last.whole, 3);
}

// What rule 1 compares is equal whatever it is stored in.
TEST(Cards, DigestsAreOfWhatElementsMean) {
  CardMaker maker(axis_named("time"));
  const auto values = [&](const std::string& data) {
    return member(card_of(maker, written_with_h5py("f.create_dataset('v', " + data + ")")), "v");
  };
  const auto same = [&](const std::string& a, const std::string& b) {
    const auto one = values(a), other = values(b);
    EXPECT_TRUE(one.values && other.values) << a << " " << b;
    return one.values == other.values;
  };
  EXPECT_TRUE(same("data=np.array([1, -2], '<i2')", "data=np.array([1, -2], '>i8')"));
  EXPECT_TRUE(same("data=np.array([1, 2], '<f4')", "data=np.array([1, 2], '>f8')"));
  EXPECT_FALSE(same("data=np.array([1, 2])", "data=np.array([1., 2.])"));
  EXPECT_EQ(values("data=np.array([1, 2])").decoded, values("data=np.array([1., 2.])").decoded);
  EXPECT_FALSE(same("data=np.array([0.])", "data=np.array([-0.])"));
  EXPECT_FALSE(same("data=np.array([-1], 'i8')", "data=np.array([2**64 - 1], 'u8')"));
  EXPECT_TRUE(
      same("data=np.array([b'a', b'bc'], 'S9')", "data=['a', 'bc'], dtype=h5py.string_dtype('utf-8')"));
  EXPECT_TRUE(same("data=np.array([b'a'], 'S1')", "data=np.array([b'a'], 'S7')"));
  EXPECT_FALSE(same("data=np.array([b'ab', b'c'])", "data=np.array([b'a', b'bc'])"));
  EXPECT_TRUE(same("data=[1, 0], dtype=h5py.enum_dtype({'A': 1, 'B': 0}, 'i1')",
                   "data=[5, 6], dtype=h5py.enum_dtype({'A': 5, 'B': 6}, 'i4')"));
  EXPECT_TRUE(
      same("data=np.zeros(3, [('a', 'i4'), ('b', 'f8')])", "data=np.zeros(3, [('a', '>i2'), ('b', 'f4')])"));
  EXPECT_TRUE(
      same("data=np.zeros((200, 40))", "data=np.zeros((200, 40)), chunks=(7, 7), compression='gzip'"));
  EXPECT_FALSE(values("data=np.zeros(8193)").values) << "too large to be compared";
  EXPECT_TRUE(values("data=np.zeros(8192)").values);
  EXPECT_TRUE(values("shape=(4,), dtype='f4', fillvalue=2.5").values ==
              values("data=np.full(4, 2.5)").values);
  EXPECT_EQ(values("data=np.arange(16)").numbers.size(), 16U);
  EXPECT_TRUE(values("data=np.arange(17)").numbers.empty());
  EXPECT_TRUE(values("data=h5py.Empty('f8')").values);
}

TEST(Cards, DecodedDigestsKnowThePacking) {
  CardMaker maker(axis_named("time"));
  const auto decoded = [&](const std::string& data, const std::string& more) {
    return member(
        card_of(maker, written_with_h5py("v = f.create_dataset('v', data=np.array(" + data + "))\n" + more)),
        "v");
  };
  const std::string scale = "v.attrs['scale_factor'] = 0.5\n";
  const auto plain = decoded("[1., 2.]", ""), packed = decoded("[2, 4], 'i2'", scale);
  EXPECT_EQ(plain.decoded, packed.decoded);
  EXPECT_NE(plain.values, packed.values);
  const std::string fill = "v.attrs['_FillValue'] = np.int16(7)\n";
  EXPECT_EQ(decoded("[1., np.nan]", "").decoded, decoded("[2, 7], 'i2'", scale + fill).decoded);
  EXPECT_FALSE(decoded("[1]", "v.attrs['scale_factor'] = 0.").packing_sound);
  EXPECT_FALSE(decoded("[1]", "v.attrs['scale_factor'] = np.nan").packing_sound);
  EXPECT_FALSE(decoded("[1]", "v.attrs['add_offset'] = [1., 2.]").packing_sound);
  EXPECT_FALSE(decoded("[1]", "v.attrs['add_offset'] = 'one'").packing_sound);
  EXPECT_TRUE(decoded("[1]", "v.attrs['add_offset'] = 0").packing_sound);
}

TEST(Cards, AttributesAreComparedAsRule6Says) {
  CardMaker maker(axis_named("time"));
  const auto digest = [&](const std::string& value, const std::string& name = "a") {
    return attribute(*card_of(maker, written_with_h5py("f.attrs['" + name + "'] = " + value))->members[0],
                     name);
  };
  EXPECT_EQ(digest("np.bytes_('abc')"), digest("'abc'"));
  EXPECT_EQ(digest("np.bytes_('abc')"), digest("np.array([b'abc'], 'S9')"));
  EXPECT_NE(digest("'abc'"), digest("'abd'"));
  EXPECT_NE(digest("'1'"), digest("1"));
  EXPECT_EQ(digest("np.array(5, '<i4')"), digest("np.array([5], '>i4')"));
  EXPECT_NE(digest("np.int32(5)"), digest("np.int64(5)"));
  EXPECT_NE(digest("np.int32(5)"), digest("np.uint32(5)"));
  EXPECT_NE(digest("np.float32(5)"), digest("np.float64(5)"));
  EXPECT_NE(digest("np.zeros((2, 3))"), digest("np.zeros((3, 2))"));
  EXPECT_EQ(digest("np.float32(5)", "valid_min"), digest("np.int64(5)", "valid_min"));
  EXPECT_NE(digest("np.float32(0.1)", "valid_min"), digest("np.float64(0.1)", "valid_min"));
  EXPECT_NE(digest("h5py.Empty('f4')"), digest("np.float32(0)"));
  // A megabyte is digested and not held.
  const auto large = written_with_h5py("f.attrs['a'] = np.arange(2**17)");
  const FileCardPtr card = card_of(maker, large);
  EXPECT_LT(maker.encode(*card).size(), 1000U);
  EXPECT_NE(attribute(*card->members[0], "a"), digest("np.arange(1, 2**17 + 1)"));
}

TEST(Cards, LinksAndCyclesAreMembersOnce) {
  CardMaker maker(axis_named("time"));
  const FileCardPtr card = card_of(maker, written_with_h5py(R"(
g = f.create_group('g'); g['v'] = [1, 2]; f['w'] = g['v']; g['up'] = f['/']; g['again'] = g
f['s'] = h5py.SoftLink('/nowhere'); f['e'] = h5py.ExternalLink('o.h5', '/x'); f['t'] = np.dtype('f4')
f.create_dataset('r', data=g.ref, dtype=h5py.ref_dtype))"));
  EXPECT_EQ(paths_of(card),
            (std::vector<std::string>{"", "e", "g", "g/again", "g/up", "g/v", "r", "s", "t", "w"}));
  using enum MemberCard::Kind;
  EXPECT_EQ(member(card, "g/up").kind, SoftLink);
  EXPECT_EQ(member(card, "g/up").target, "/");
  EXPECT_EQ(member(card, "g/again").target, "/g");
  EXPECT_EQ(member(card, "w").kind, Dataset);
  EXPECT_EQ(member(card, "w").values, member(card, "g/v").values);
  EXPECT_EQ(member(card, "s").target, "/nowhere");
  EXPECT_EQ(member(card, "e").kind, ExternalLink);
  EXPECT_EQ(member(card, "e").target, "o.h5:/x");
  EXPECT_EQ(member(card, "t").kind, Datatype);
  EXPECT_TRUE(member(card, "t").type);
}

TEST(Cards, NamesOfCoordinatesAreFoundInTheGroupsAround) {
  CardMaker maker(axis_named("time"));
  const FileCardPtr card = card_of(maker, netcdf_file(R"(
d.createDimension('time', 2); d.createDimension('x', 4)
t = d.createVariable('time', 'f8', ('time',)); t.units = 'Hours Since 2000-01-01'; t.climatology = 'tb'
d.createVariable('tb', 'f8', ('time',)); d.createVariable('lon', 'f4', ('x',))
d.createVariable('other', 'f4', ('x',))
g = d.createGroup('g'); g.createVariable('lat', 'f4', ('x',)); d.createVariable('lat', 'f4', ('x',))
v = g.createVariable('v', 'f4', ('time', 'x')); v.coordinates = 'lon lat  nowhere /other'
gt = g.createVariable('time', 'f8', ('time',)); gt.units = 'days since 2000-01-01'; gt[:] = [1, 2]
)"));
  EXPECT_TRUE(member(card, "lon").is_coordinate && member(card, "g/lat").is_coordinate);
  EXPECT_TRUE(member(card, "other").is_coordinate);
  EXPECT_FALSE(member(card, "lat").is_coordinate) << "another one is nearer";
  EXPECT_FALSE(member(card, "g/v").is_coordinate);
  EXPECT_EQ(member(card, "tb").units, "Hours Since 2000-01-01");
  ASSERT_EQ(card->axes.size(), 2U) << "a variable of the name with the dimension of the root, too";
  EXPECT_EQ(card->members[card->axes[0].member]->path, "g/time");
  EXPECT_EQ(card->axes[0].last.real, 2.0);
}

// With a new axis only scales are compared; along the first dimension only what does not have it.
TEST(Cards, ReadNoMoreThanTheAxisAsksFor) {
  const auto file = netcdf_file(kClimate);
  const auto digested = [&](std::string_view axis) {
    CardMaker maker(axis_named(axis));
    std::vector<std::string> out;
    const FileCardPtr card = card_of(maker, file);
    for (const MemberCardPtr& one : card->members)
      if (one->values) out.push_back(one->path);
    return out;
  };
  EXPECT_EQ(digested("+run"), (std::vector<std::string>{"lat", "time"}));
  EXPECT_EQ(digested(":0"), (std::vector<std::string>{"height"}));
  EXPECT_EQ(digested("time"), (std::vector<std::string>{"height", "lat"}));
  EXPECT_EQ(digested("union"), (std::vector<std::string>{"height", "lat", "tas", "time", "time_bnds"}));
}

TEST(Cards, HaveLabels) {
  const auto file = written_with_h5py(R"(
f.attrs['member'] = 'r1i1p1'; f.attrs['number'] = np.int16(-3); f.attrs['list'] = [1, 2]
g = f.create_group('scan'); g.attrs['angle'] = 0.1; g.attrs['name'] = np.bytes_('12'))");
  const auto label = [&](std::string_view axis, std::string path) {
    CardMaker maker(axis_named(axis));
    return card_of(maker, file, std::move(path))->label;
  };
  EXPECT_EQ(label("+run:'run_(\\d+)'", "run_007.h5")->number, (Number{true, 7, 0}));
  EXPECT_EQ(label("+run:'run_(\\d+)'", "run_007.h5")->text, "007");
  EXPECT_EQ(label("+run:'run_(.+)\\.h5'", "run_0.5.h5")->number, (Number{false, 0, 0.5}));
  EXPECT_EQ(label("+run:'run_(.+)\\.h5'", "run_nan.h5")->kind, Label::Kind::Text);
  EXPECT_FALSE(label("+run:'run_(\\d+)'", "walk_7.h5"));
  EXPECT_EQ(label("+run", "a.b/c.d.h5")->text, "a.b/c.d");
  EXPECT_EQ(label("+run", "a.b/c")->text, "a.b/c");
  EXPECT_EQ(label("+run", "12.h5")->kind, Label::Kind::Text);
  EXPECT_EQ(label("+time:%Y%m%d", "x_19700102.h5")->number.whole, 86400);
  EXPECT_EQ(label("time:%Y%m%d", "x_19700102.h5")->kind, Label::Kind::Time);
  EXPECT_FALSE(label("time", "x_19700102.h5"));
  EXPECT_EQ(label("+run:@member", "x")->text, "r1i1p1");
  EXPECT_EQ(label("+run:@number", "x")->number, (Number{true, -3, 0}));
  EXPECT_EQ(label("+run:@scan@angle", "x")->number, (Number{false, 0, 0.1}));
  EXPECT_EQ(label("+run:@/scan@name", "x")->number, (Number{true, 12, 0}));
  EXPECT_FALSE(label("+run:@list", "x"));
  EXPECT_FALSE(label("+run:@nothing", "x"));
}

// ---- damaged and hostile files

TEST(Cards, DamageIsOfItsMember) {
  CardMaker maker(axis_named("time"));
  auto bytes = written_with_h5py("f['a'] = [1, 2]\nf['b'] = [3, 4]\nf['b'].attrs['x'] = 5\n");
  const auto headers = test::places_of(bytes, "OHDR");
  ASSERT_EQ(headers.size(), 3U);
  auto one = bytes;
  test::flip(one, headers[1], 20);
  const FileCardPtr card = card_of(maker, one);
  EXPECT_FALSE(card->error);
  EXPECT_EQ(member(card, "a").error.has_value(), !member(card, "b").error.has_value());
  test::flip(bytes, headers[0], 20);
  const FileCardPtr root = card_of(maker, bytes);
  EXPECT_TRUE(root->error);
  EXPECT_TRUE(root->members.empty());
}

TEST(Cards, HostileFilesAreErrorsOfTheirOwn) {
  CardMaker maker(axis_named("time"));
  const FileCardPtr many = card_of(
      maker, written_with_h5py("d = f.create_dataset('d', data=1)\nfor i in range(66000): f['n%d' % i] = d"));
  ASSERT_TRUE(many->error);
  EXPECT_EQ(many->error->code(), ErrorCode::LimitExceeded);
  const FileCardPtr long_axis = card_of(maker, written_with_h5py(R"(
t = f.create_dataset('time', shape=(2**50,), chunks=(2**16,), dtype='i4'); t.make_scale('time')
v = f.create_dataset('v', shape=(2**50, 4), chunks=(2**16, 4), dtype='f8'); v.dims[0].attach_scale(t)
c = f.create_dataset('c', shape=(2**40,), chunks=(2**16,), dtype='f8'); v.attrs['coordinates'] = 'c')"));
  ASSERT_FALSE(long_axis->error);
  EXPECT_FALSE(long_axis->axes.at(0).readable);
  EXPECT_TRUE(member(long_axis, "c").is_coordinate);
  EXPECT_FALSE(member(long_axis, "c").values);
}

// What fails for a moment is no card.
TEST(Cards, AMomentIsKeptByNobody) {
  const auto bytes = netcdf_file(kClimate);
  CardMaker maker(axis_named("time"));
  unsigned failed = 0;
  for (int at = 1;; ++at) {
    const auto source = std::make_shared<test::FailsOnce>(bytes, true);
    source->why = Error(ErrorCode::TimedOut, "no answer");
    source->left = at;
    const auto card = try_card(maker, source);
    if (source->left > 0) break;
    if (card) {
      EXPECT_FALSE((*card)->error) << at;
      EXPECT_EQ((*card)->members.size(), 7U) << at;
      for (const MemberCardPtr& one : (*card)->members) EXPECT_FALSE(one->error) << at << one->path;
      EXPECT_EQ((*card)->find("lat")->get()->values.has_value(), true) << at;
    }
    failed += card ? 0 : 1;
  }
  EXPECT_GT(failed, 1U);
}

}  // namespace
}  // namespace h5mount::join

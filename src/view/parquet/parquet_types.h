// Constants of parquet.thrift. Threads: any.
#pragma once

#include <cstdint>

namespace h5mount::view::parquet {

// Type
inline constexpr std::int32_t kBoolean = 0, kInt32 = 1, kInt64 = 2, kFloat = 4, kDouble = 5, kByteArray = 6,
                              kFixedBytes = 7;
// ConvertedType: kUint8 and kInt8 are followed by the types of 16, 32 and 64 bits
inline constexpr std::int32_t kUtf8 = 0, kListOf = 3, kUint8 = 11, kInt8 = 15;
// FieldRepetitionType, Encoding, CompressionCodec, PageType
inline constexpr std::int32_t kRequired = 0, kOptional = 1, kRepeated = 2, kPlain = 0, kRle = 3,
                              kRleDictionary = 8, kUncompressed = 0, kDataPage = 0, kDictionaryPage = 2;

}  // namespace h5mount::view::parquet

// Numbers as the server sends them for `dtype=safe`.
const ARRAYS = {
  i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, i8: BigInt64Array, u8: BigUint64Array,
  f2: Float32Array, f4: Float32Array, f8: Float64Array, f12: Float64Array, f16: Float64Array,
};

function arrayOf(type) {
  return ARRAYS[String(type?.dtype).slice(1)];
}

// Whether a plot has elements of that type.
export function isNumber(type) {
  return arrayOf(type) !== undefined;
}

export function numbersOf(type, buffer) {
  return Float64Array.from(new (arrayOf(type))(buffer), Number);
}

// A series or an image that has more numbers is drawn from fewer.
export const MOST_POINTS = 1_000_000;

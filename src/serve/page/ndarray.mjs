// Arrays of several dimensions over one of JavaScript's, as far as H5Web uses them: in place of the packages `ndarray` and
// `ndarray-ops`, which make code at run time and so need a Content-Security-Policy that lets a page do that.

const dtypes = new Map([
  [Int8Array, 'int8'], [Int16Array, 'int16'], [Int32Array, 'int32'], [Uint8Array, 'uint8'], [Uint16Array, 'uint16'],
  [Uint32Array, 'uint32'], [Uint8ClampedArray, 'uint8_clamped'], [Float32Array, 'float32'], [Float64Array, 'float64'],
  [BigInt64Array, 'bigint64'], [BigUint64Array, 'biguint64'],
]);

class View {
  constructor(data, shape, stride, offset) {
    Object.assign(this, { data, shape, stride, offset });
    this.dtype = dtypes.get(data.constructor) ?? (Array.isArray(data) ? 'array' : 'generic');
  }

  get size() {
    return this.shape.reduce((size, extent) => size * extent, 1);
  }

  get dimension() {
    return this.shape.length;
  }

  // More indices than dimensions have no meaning.
  index(...place) {
    return this.stride.reduce((index, step, axis) => index + step * place[axis], this.offset);
  }

  get(...place) {
    return this.data[this.index(...place)];
  }

  set(...place) {
    const value = place[this.shape.length];
    this.data[this.index(...place)] = value;
    return value;
  }

  transpose(...order) {
    const axes = order.length > 0 ? order : this.shape.map((_, axis) => this.shape.length - 1 - axis);
    return new View(this.data, axes.map((axis) => this.shape[axis]), axes.map((axis) => this.stride[axis]), this.offset);
  }

  // An index drops its dimension; null and negative numbers keep it.
  pick(...place) {
    const kept = this.shape.map((_, axis) => axis).filter((axis) => typeof place[axis] !== 'number' || place[axis] < 0);
    const offset = this.stride.reduce(
      (at, step, axis) => (kept.includes(axis) ? at : at + step * Math.trunc(place[axis])), this.offset);
    return new View(this.data, kept.map((axis) => this.shape[axis]), kept.map((axis) => this.stride[axis]), offset);
  }
}

export default function ndarray(data, shape = [data.length], stride = undefined, offset = 0) {
  let step = 1;
  const rowMajor = shape.map(() => 0);
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    rowMajor[axis] = step;
    step *= shape[axis];
  }
  return new View(data, shape, stride ?? rowMajor, offset);
}

// Copies one view to another of the same shape.
export function assign(to, from) {
  const rank = to.shape.length;
  const walk = (axis, toIndex, fromIndex) => {
    if (axis === rank) {
      to.data[toIndex] = from.data[fromIndex];
      return;
    }
    for (let i = 0; i < to.shape[axis]; i += 1) {
      walk(axis + 1, toIndex + i * to.stride[axis], fromIndex + i * from.stride[axis]);
    }
  };
  walk(0, to.offset, from.offset);
  return true;
}

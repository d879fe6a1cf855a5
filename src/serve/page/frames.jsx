// The frames of a stack: H5Web's sliders, which build.mjs extends by what is here. The slider of a dimension that grows
// follows its end where it stood there, keeps its frame elsewhere, and can play.
import { useEffect, useState } from 'react';

const FRAME_MS = 400;

// The last values of the sliders of the object that is shown, for each way to show it.
let shownPath;
const last = new Map();

// Notes which object is shown from here on.
export function showPath(path) {
  if (path !== shownPath) {
    shownPath = path;
    last.clear();
  }
  return path;
}

// The mapping of `dims` that goes on with one of the dimensions before: the same frames, or the newest ones.
export function carried(before, mapping, dims) {
  return mapping.map((place, i) => {
    if (typeof place !== 'number') {
      return place;
    }
    return place === before[i] - 1 ? dims[i] - 1 : Math.min(place, dims[i] - 1);
  });
}

function isSame(a, b) {
  return a.length === b.length && a.every((one, i) => one === b[i]);
}

// The mapping that H5Web goes by: `kept` if it is of these dimensions, else the one before of the same object, else `initial`.
export function followed(dims, axes, locked, isKept, kept, initial) {
  const key = `${axes} ${locked}`;
  const before = last.get(key);
  let mapping = isKept ? kept : initial;
  if (!isKept && before?.dims.length === dims.length) {
    mapping = isSame(before.dims, dims) ? before.mapping : carried(before.dims, before.mapping, dims);
  }
  if (before?.mapping !== mapping || !isSame(before.dims, dims)) {
    last.set(key, { dims: [...dims], mapping });
  }
  return mapping;
}

// The button that plays the frames of a dimension, from the last one on again with the first. `wanted`: the frame that is
// shown, which the slider's own `value` follows.
export function useFrames({ dimension, length, value, wanted, setValue, onChange }) {
  const [playing, setPlaying] = useState(false);
  useEffect(() => setValue(wanted), [setValue, wanted]);
  useEffect(() => {
    if (!playing) {
      return undefined;
    }
    // A frame that is still on its way is waited for.
    const timer = setInterval(() => {
      if (!document.querySelector('[data-testid^=Loading]')) {
        const next = (value + 1) % length;
        setValue(next);
        onChange(next);
      }
    }, FRAME_MS);
    return () => clearInterval(timer);
  }, [playing, value, length, setValue, onChange]);
  return length > 1 && (
    <button type="button" className="play" aria-pressed={playing} aria-label={`Play dimension ${dimension}`} onClick={() => setPlaying(!playing)}>
      {playing ? '❚❚' : '▶'}
    </button>
  );
}

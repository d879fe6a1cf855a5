// A series of more numbers than a plot can have: H5Web's canvas with the least and the greatest of each of as many parts
// as there are pixels, of what is visible at the moment. Zooming asks anew.
import { DataCurve, DefaultInteractions, ResetZoomButton, useCameraState, VisCanvas } from '@h5web/lib';
import { useEffect, useState } from 'react';

export const MOST_POINTS = 1_000_000;
const PARTS = 2000;
const PAUSE_MS = 150;
const NUMBERS = {
  '|i1': Int8Array, '|u1': Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array,
  f2: Float32Array, f4: Float32Array, f8: Float64Array, f16: Float64Array,
};

// What the server answers with to dtype=safe; undefined for what is no number that a plot has.
function arrayOf(type) {
  return NUMBERS[type?.dtype] ?? NUMBERS[String(type?.dtype).slice(1)];
}

export function isLargeSeries(entity) {
  return entity.kind === 'dataset' && entity.shape?.length === 1 && entity.shape[0] > MOST_POINTS && arrayOf(entity.type) !== undefined;
}

async function reduced(fetcher, url, path, type, [begin, end]) {
  const points = Math.min(PARTS, end - begin);
  const buffer = await fetcher(url, {
    path, selection: `${begin}:${end}`, reduce: 'minmax', points: String(points), format: 'bin', dtype: 'safe' });
  const ordinates = Float64Array.from(new (arrayOf(type))(buffer));
  // Both numbers of a part are drawn at its beginning.
  const abscissas = Float64Array.from(ordinates, (_, i) => begin + Math.floor(((i >> 1) * (end - begin)) / points));
  return { abscissas, ordinates };
}

function Watcher({ count, onRange }) {
  const [begin, end] = useCameraState((camera, { getVisibleDomains }) => {
    const { xVisibleDomain } = getVisibleDomains(camera);
    return xVisibleDomain.map((bound) => Math.max(0, Math.min(count, Math.ceil(bound))));
  }, [count], (a, b) => a[0] === b[0] && a[1] === b[1]);
  useEffect(() => {
    const timer = setTimeout(() => onRange([begin, Math.max(end, begin + 1)]), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [begin, end, onRange]);
  return null;
}

export function Overview({ fetcher, url, entity, path, version, onAll }) {
  const count = entity.shape[0];
  const [range, setRange] = useState([0, count]);
  const [curve, setCurve] = useState();
  const [bounds, setBounds] = useState();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let current = true;
    reduced(fetcher, url, path, entity.type, range).then((made) => {
      if (!current) {
        return;
      }
      const finite = made.ordinates.filter(Number.isFinite);
      setCurve(made);
      setBounds((before) => before ?? [finite.reduce((a, b) => Math.min(a, b), 0), finite.reduce((a, b) => Math.max(a, b), 0)]);
    }, (error) => current && setProblem(String(error)));
    return () => {
      current = false;
    };
  }, [fetcher, url, path, entity, range, version]);
  return (
    <div className="overview" data-ready={curve ? '' : undefined}>
      <p>
        {`${count.toLocaleString('en')} values: of each of ${Math.min(PARTS, range[1] - range[0]).toLocaleString('en')} parts of `}
        {`${range[0].toLocaleString('en')} to ${range[1].toLocaleString('en')} the least and the greatest. `}
        <button type="button" onClick={onAll}>Every value, and other views</button> {problem}
      </p>
      {curve && (
        <VisCanvas abscissaConfig={{ visDomain: [0, count], showGrid: true, isIndexAxis: true }}
          ordinateConfig={{ visDomain: bounds[0] < bounds[1] ? bounds : [bounds[0] - 1, bounds[0] + 1], showGrid: true }}>
          <DefaultInteractions />
          <ResetZoomButton />
          <Watcher count={count} onRange={setRange} />
          <DataCurve abscissas={curve.abscissas} ordinates={curve.ordinates} color="midnightblue" />
        </VisCanvas>
      )}
    </div>
  );
}

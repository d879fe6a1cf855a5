// A series of more numbers than a plot can have: H5Web's canvas with the least and the greatest of each of as many parts
// as there are pixels, of what is visible at the moment. Zooming asks anew.
import { DataCurve, DefaultInteractions, ResetZoomButton, useCameraState, useVisCanvasContext, VisCanvas } from '@h5web/lib';
import { useEffect, useState } from 'react';

import { isNumber, MOST_POINTS, numbersOf } from './numbers.mjs';

const PARTS = 2000;
const PAUSE_MS = 150;

export function isLargeSeries(entity) {
  return entity.kind === 'dataset' && entity.shape?.length === 1 && entity.shape[0] > MOST_POINTS && isNumber(entity.type);
}

async function reduced(ask, type, [begin, end]) {
  const points = Math.min(PARTS, end - begin);
  const buffer = await ask({ selection: `${begin}:${end}`, reduce: 'minmax', points: String(points) });
  const ordinates = numbersOf(type, buffer);
  // Both numbers of a part are drawn at its beginning.
  const abscissas = Float64Array.from(ordinates, (_, i) => begin + Math.floor(((i >> 1) * (end - begin)) / points));
  return { abscissas, ordinates };
}

function boundsOf(numbers) {
  const first = numbers[0] ?? 0;
  return [numbers.reduce((a, b) => Math.min(a, b), first), numbers.reduce((a, b) => Math.max(a, b), first)];
}

function Watcher({ count, onRange }) {
  const { getVisibleDomains } = useVisCanvasContext();
  const [begin, end] = useCameraState((camera) => {
    const { xVisibleDomain } = getVisibleDomains(camera);
    return xVisibleDomain.map((bound) => Math.max(0, Math.min(count, Math.ceil(bound))));
  }, [count, getVisibleDomains], (a, b) => a[0] === b[0] && a[1] === b[1]);
  useEffect(() => {
    const timer = setTimeout(() => onRange([begin, Math.max(end, begin + 1)]), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [begin, end, onRange]);
  return null;
}

// `ask` answers with numbers of the dataset, given more parameters.
export function Overview({ ask, entity, version, onAll }) {
  const count = entity.shape[0];
  const [range, setRange] = useState([0, count]);
  const [curve, setCurve] = useState();
  const [bounds, setBounds] = useState();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let current = true;
    reduced(ask, entity.type, range).then((made) => {
      if (!current) {
        return;
      }
      setCurve(made);
      setBounds((before) => before ?? boundsOf(made.ordinates.filter(Number.isFinite)));
    }, (error) => current && setProblem(String(error)));
    return () => {
      current = false;
    };
  }, [ask, entity, range, version]);
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

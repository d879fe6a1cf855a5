// Images that are drawn here and not by H5Web's application: one of more numbers than a plot has pixels, from the means of
// parts of it, and one whose numbers are colours of a palette. Zooming into the first asks for what is visible then.
import {
  ColorBar, ColorMapSelector, COLOR_SCALE_TYPES, DefaultInteractions, DimensionMapper, DomainWidget, getLayerSizes, getSliceSelection,
  initDimMapping, ResetZoomButton, RgbVis, ScaleSelector, TiledHeatmapMesh, TiledTooltipMesh, TilesApi, Toolbar, useDomain, useSafeDomain,
  useVisDomain, VisCanvas,
} from '@h5web/lib';
import ndarray from 'ndarray';
import { useEffect, useMemo, useRef, useState } from 'react';

import { carried } from './frames.jsx';
import { isNumber, MOST_POINTS } from './numbers.mjs';

const TILE = { width: 1024, height: 1024 };
const LONG = 20; // an image that is so many times longer than wide is not drawn to scale
const NO_DOMAIN = [0.1, 1];

export function isLargeImage(entity) {
  const [rows, columns] = entity.shape?.slice(-2) ?? [];
  return entity.kind === 'dataset' && columns !== undefined && rows * columns > MOST_POINTS && isNumber(entity.type);
}

// Means of parts of one image of a dataset, of a power of two of its pixels each.
class Means extends TilesApi {
  constructor(ask, dims, mapping) {
    const size = { width: dims[mapping.indexOf('x')], height: dims[mapping.indexOf('y')] };
    super(TILE, getLayerSizes(size, TILE));
    Object.assign(this, { ask, mapping, size, tiles: new Map(), loaded: () => undefined });
    this.whole(); // asked for before the canvas is there, which takes a browser as long
  }

  // The coarsest image; undefined while it is on its way.
  whole() {
    try {
      return this.get(0, { x: 0, y: 0 });
    } catch {
      return undefined;
    }
  }

  async load({ width, height }, { x, y }) {
    const [rows, columns] = [Math.min(TILE.height, height - y), Math.min(TILE.width, width - x)];
    const part = (at, extent, of) => Math.floor((at * of) / extent);
    const ranges = {
      x: `${part(x, width, this.size.width)}:${part(x + columns, width, this.size.width)}`,
      y: `${part(y, height, this.size.height)}:${part(y + rows, height, this.size.height)}`,
    };
    const turned = this.mapping.indexOf('x') < this.mapping.indexOf('y');
    const points = turned ? [columns, rows] : [rows, columns];
    const means = new Float64Array(await this.ask({
      selection: this.mapping.map((place) => ranges[place] ?? place).join(','), reduce: 'mean', points: points.join(',') }));
    const image = ndarray(Float32Array.from(means), points);
    return turned ? ndarray(image.data, [rows, columns], [1, rows]) : image;
  }

  // As H5Web asks for it: what is not there yet is thrown as a promise.
  get(layer, offset) {
    const key = `${layer}:${offset.x}:${offset.y}`;
    const tile = this.tiles.get(key) ?? {};
    if (!this.tiles.has(key)) {
      this.tiles.set(key, tile);
      tile.promise = this.load(this.layerSizes[layer], offset).then((image) => {
        tile.image = image;
        this.loaded(layer, image);
      }, (error) => {
        tile.image = ndarray(new Float32Array(1).fill(NaN), [1, 1]);
        this.loaded(layer, undefined, error);
      });
    }
    if (!tile.image) {
      throw tile.promise;
    }
    return tile.image;
  }
}

function Picture({ means }) {
  const [coarse, setCoarse] = useState();
  const [problem, setProblem] = useState('');
  const [scaleType, setScaleType] = useState('linear');
  const [customDomain, setCustomDomain] = useState([null, null]);
  const [colorMap, setColorMap] = useState('Viridis');
  const [inverted, setInverted] = useState(false);
  useEffect(() => {
    means.loaded = (layer, image, error) => {
      setProblem(error ? String(error) : '');
      setCoarse((before) => before ?? image);
    };
    setCoarse((before) => means.whole() ?? before);
  }, [means]);
  const dataDomain = useDomain(coarse ?? ndarray(new Float32Array(0), [0, 0]), { scaleType }) ?? NO_DOMAIN;
  const wanted = useVisDomain(customDomain, dataDomain);
  const [domain] = useSafeDomain(wanted, dataDomain, scaleType);
  const { width, height } = means.size;
  const long = Math.max(width / height, height / width) > LONG;
  return (
    <>
      <div className="tools">
        <Toolbar>
          <DomainWidget key="domain" dataDomain={dataDomain} customDomain={customDomain} scaleType={scaleType} onCustomDomainChange={setCustomDomain} />
          <ColorMapSelector key="colours" value={colorMap} onValueChange={setColorMap} invert={inverted} onInversionChange={() => setInverted(!inverted)} />
          <ScaleSelector key="scale" value={scaleType} onScaleChange={setScaleType} options={COLOR_SCALE_TYPES} />
        </Toolbar>
        {problem}
      </div>
      <div className="picture" data-ready={coarse ? '' : undefined}>
        <VisCanvas aspect={long ? 'auto' : 'equal'} abscissaConfig={{ visDomain: [0, width], isIndexAxis: true }}
          ordinateConfig={{ visDomain: [0, height], isIndexAxis: true }}>
          <DefaultInteractions />
          <ResetZoomButton />
          <TiledHeatmapMesh api={means} domain={domain} scaleType={scaleType} colorMap={colorMap} invertColorMap={inverted} />
          <TiledTooltipMesh renderTooltip={(x, y, value) => <>{`x=${Math.floor(x)}, y=${Math.floor(y)}`}<div><strong>{value.toPrecision(5)}</strong></div></>} />
        </VisCanvas>
        <ColorBar domain={domain} scaleType={scaleType} colorMap={colorMap} invertColorMap={inverted} withBounds />
      </div>
    </>
  );
}

// `ask` answers with numbers of the dataset, given more parameters.
export function ImageOverview({ ask, entity, version, onAll, onSelection }) {
  const [mapping, setMapping] = useState(() => initDimMapping(entity.shape, 2));
  const shape = useRef(entity.shape);
  useEffect(() => {
    const before = shape.current;
    shape.current = entity.shape;
    setMapping((now) => (before === entity.shape ? now : carried(before, now, entity.shape)));
  }, [entity.shape]);
  const means = useMemo(() => new Means(ask, entity.shape, mapping), [ask, entity, mapping, version]);
  const selection = getSliceSelection(mapping);
  useEffect(() => onSelection(selection), [onSelection, selection]);
  const { width, height } = means.size;
  return (
    <div className="overview">
      <p>
        {`${height.toLocaleString('en')} × ${width.toLocaleString('en')} values: of what is visible, means of as many parts as there are pixels. `}
        <button type="button" onClick={onAll}>Every value, and other views</button>
      </p>
      <div className="dimensions">
        <DimensionMapper className="" dims={entity.shape} dimMapping={mapping} onChange={setMapping} />
        <div className="image"><Picture key={mapping.join()} means={means} /></div>
      </div>
    </div>
  );
}

// The first pixels of a TIFF of one byte each, in the colours of its palette; undefined where it has none.
function inColours(buffer, count) {
  const STRIPS = 273, COLOURS = 320;
  const view = new DataView(buffer);
  const little = view.getUint8(0) === 0x49;
  const big = view.getUint16(2, little) === 43;
  const place = big ? Number(view.getBigUint64(8, little)) : view.getUint32(4, little);
  const [first, size, value] = big ? [8, 20, 12] : [2, 12, 8];
  const values = new Map();
  for (let i = 0, count = view.getUint16(place, little); i < count; i += 1) {
    const at = place + first + i * size;
    values.set(view.getUint16(at, little), big ? Number(view.getBigUint64(at + value, little)) : view.getUint32(at + value, little));
  }
  const [pixels, palette] = [values.get(STRIPS), values.get(COLOURS)];
  if (pixels === undefined || palette === undefined) {
    return undefined;
  }
  // All reds, all greens, all blues, 16 bits each.
  const colour = (index, channel) => view.getUint16(palette + 2 * (256 * channel + index), little) >> 8;
  return Uint8ClampedArray.from({ length: 3 * count }, (_, i) => colour(view.getUint8(pixels + Math.floor(i / 3)), i % 3));
}

export function isIndexedImage(entity) {
  const names = new Set(entity.attributes?.map(({ name }) => name));
  return entity.kind === 'dataset' && entity.shape?.length === 2 && entity.type.dtype === '|u1' && names.has('PALETTE') && names.has('CLASS');
}

export function IndexedImage({ entity, ask, version, onAll }) {
  const [image, setImage] = useState();
  const [problem, setProblem] = useState('');
  const [rows, columns] = entity.shape;
  useEffect(() => {
    let current = true;
    ask({ format: 'tiff' }).then((buffer) => {
      const colours = inColours(buffer, rows * columns);
      if (!current) {
        return;
      }
      if (colours) {
        setImage(ndarray(colours, [rows, columns, 3]));
      } else {
        onAll();
      }
    }).catch((error) => current && setProblem(String(error)));
    return () => {
      current = false;
    };
  }, [ask, onAll, rows, columns, version]);
  return (
    <div className="overview">
      <p>
        {'In the colours of its palette. '}
        <button type="button" onClick={onAll}>Its numbers, and other views</button> {problem}
      </p>
      {image && <RgbVis className="indexed" dataArray={image} flipYAxis title={entity.name} />}
    </div>
  );
}

// The page: H5Web's application over this server's interface, with a bar above it. It is given where the server's root
// is, which source is shown and which object; from then on the address names the object that is shown.
import { App, createBasicFetcher, H5GroveProvider } from '@h5web/app';
import { useCallback, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { ImageOverview, IndexedImage, isIndexedImage, isLargeImage } from './image.jsx';
import { isLargeSeries, Overview } from './overview.jsx';
import { noteCalendar, setShownUnit, timeText, unitOf } from './times.mjs';
import '@h5web/app/styles.css';
import './page.css';

const place = document.getElementById('root');
const { root, name, path } = place.dataset;
const file = 'named' in place.dataset ? name : undefined;
const base = new URL(root, location.href);
const api = new URL('.h5/api', base).href;
const source = file === undefined ? base : new URL(`${file.split('/').map(encodeURIComponent).join('/')}/`, base);
const ofFile = file === undefined ? {} : { file };

const VERSION_MS = 1000;
// There is no room for the tree beside an object: a button opens it.
const narrow = matchMedia('(max-width: 700px)').matches;

// The selection of the last data that were shown of an object, as what is downloaded is of that too.
let shown = { path: '', selection: undefined };
const entities = new Map(); // as `meta` describes them, by path
const described = new Map(); // the last answer for each path
const entitiesChanged = new EventTarget();
let selected = pathInAddress(); // in the tree
const basicFetcher = createBasicFetcher();
const plainFetcher = (url, params, options) => basicFetcher(url, { ...params, ...ofFile }, options);

// Datasets that are drawn here, by path: what H5Web's application would take too long for, or cannot. It waits for their
// data until it is let.
const ownViews = new Map();
function noteEntity(told, at) {
  // A dataset is told of as what it is and as a member of its group: what shows it is not to ask for its data again.
  const before = entities.get(at);
  const entity = before?.kind === 'dataset' && JSON.stringify(before) === JSON.stringify(told) ? before : told;
  entities.set(at, entity);
  const View = ownViewOf(entity);
  if (View) {
    ownViews.set(at, { entity, View, allowed: ownViews.get(at)?.allowed ?? withResolvers() });
  } else {
    ownViews.delete(at); // the object has grown, or is another one
  }
  for (const child of entity.children ?? []) {
    noteEntity(child, `${at.replace(/\/+$/u, '')}/${child.name}`);
  }
}
function ownViewOf(entity) {
  if (hasNoElements(entity)) {
    return NoElements;
  }
  return isLargeSeries(entity) ? Overview : isIndexedImage(entity) ? IndexedImage : isLargeImage(entity) ? ImageOverview : undefined;
}
function withResolvers() {
  const out = {};
  out.promise = new Promise((resolve, reject) => Object.assign(out, { resolve, reject }));
  return out;
}

// The version before anything is read, so that what is shown is never older than the one that changes are told from.
// The page's head asks for it at the same address, while this script loads.
const firstVersion = answerOf(document.querySelector('link[rel=preload]').href);
firstVersion.catch(() => undefined);

const fetcher = async (url, params, options) => {
  await firstVersion.catch(() => undefined);
  if (url.endsWith('/data')) {
    shown = { path: params.path, selection: params.selection };
    await letThrough(params.path);
  }
  const answer = await plainFetcher(url, params, options);
  if (url.endsWith('/meta')) {
    const entity = parsed(answer);
    const text = JSON.stringify(entity);
    // An equal value that is told again changes nothing: each change of the page's state has H5Web's stores, which wait for it, made anew.
    if (described.get(params.path) !== text) {
      described.set(params.path, text);
      noteEntity(entity, params.path);
      entitiesChanged.dispatchEvent(new Event('change'));
    }
    const shortened = withFewChildren(entity, params.path);
    return shortened !== entity || hasDates(entity) ? new TextEncoder().encode(JSON.stringify(withDates(shortened))).buffer : answer;
  }
  if (url.endsWith('/attr')) {
    const { units, calendar } = parsed(answer);
    noteCalendar(units, calendar);
  }
  return answer;
};

// H5Web's tree has a row for each object of a group, which a browser does not take for very many.
const MOST_CHILDREN = 3000;
function withFewChildren(entity, at) {
  const { children } = entity;
  if (!children || children.length <= MOST_CHILDREN) {
    return entity;
  }
  const within = `${at.replace(/\/+$/u, '')}/`;
  const wanted = selected.startsWith(within) ? selected.slice(within.length).split('/')[0] : undefined;
  return { ...entity, children: children.filter(({ name: child }, i) => i < MOST_CHILDREN || child === wanted) };
}

// H5Web shows opaque bytes as such: of NumPy's dates, which are stored so, the server sends texts.
const DATES = /^[<>]M8\[(?:D|h|m|s|ms|us|ns)\]$/u;
function hasDates({ type, children }) {
  return (type?.class === 5 && DATES.test(type.dtype)) || children?.some(hasDates);
}

function withDates(entity) {
  const type = hasDates({ type: entity.type }) ? { ...entity.type, class: 3, cset: 1, strpad: 0, vlen: true } : entity.type;
  return { ...entity, type, ...(entity.children && { children: entity.children.map(withDates) }) };
}

function parsed(answer) {
  return JSON.parse(new TextDecoder().decode(answer));
}

// H5Web's plots take an array without elements for an error; one that a program has just begun to write is such.
function hasNoElements({ kind, shape }) {
  return kind === 'dataset' && shape?.includes(0);
}

function NoElements({ entity }) {
  return <div className="overview" data-ready=""><p>{`No elements: ${entity.shape.join(' × ')}`}</p></div>;
}

// A group's plot takes what it is made of as it is.
async function letThrough(at) {
  const SETTLED_MS = 50; // in which a selection has reached the document
  const own = ownViews.get(at);
  if (!own) {
    return;
  }
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  if (selected === at) {
    await own.allowed.promise;
  }
}

// The facts that are known of the object at a path, of a map that changes with what was asked for.
function useKnown(map, at) {
  const [found, setFound] = useState();
  useEffect(() => {
    const look = () => setFound(map.get(at));
    look();
    entitiesChanged.addEventListener('change', look);
    return () => entitiesChanged.removeEventListener('change', look);
  }, [map, at]);
  return found;
}

// How an object's numbers count from a time, as its attributes say.
async function timeUnitOf(entity, at) {
  const names = new Set(entity?.attributes?.map(({ name }) => name));
  if (!names.has('units')) {
    return undefined;
  }
  const keys = ['units', 'calendar'].filter((name) => names.has(name)).map((name) => ['attr_keys', name]);
  const { units, calendar } = await asked('attr', [['path', at], ...keys]);
  return unitOf(units, calendar);
}

// The dates of an object whose numbers are times: of a series the first and the last one.
function useTimes(at, version) {
  const [text, setText] = useState('');
  const entity = useKnown(entities, at);
  useEffect(() => {
    let wanted = true;
    const look = async () => {
      const unit = await timeUnitOf(entity, at);
      if (!wanted || !unit) {
        return;
      }
      setShownUnit(unit);
      const [count, ...more] = entity.shape ?? [0];
      const ends = count === undefined ? [{}] : count > 0 && more.length === 0 ? [{ selection: 0 }, { selection: count - 1 }] : [];
      const dates = await Promise.all(ends.map(async (end) => timeText(await asked('data', { path: at, ...end }), unit)));
      if (wanted) {
        setText(dates.length > 0 && dates.every(Boolean) ? `${dates.join(' to ')} ${unit.calendar.words}` : '');
      }
    };
    setText('');
    setShownUnit(undefined);
    look().catch(() => undefined);
    return () => {
      wanted = false;
    };
  }, [at, version, entity]);
  return text;
}

// `params`: of an object, or pairs where a name stands more than once.
async function asked(endpoint, params) {
  const pairs = Array.isArray(params) ? params : Object.entries(params);
  return answerOf(`${api}/${endpoint}?${new URLSearchParams([...Object.entries(ofFile), ...pairs])}`);
}

async function answerOf(url) {
  const answer = await fetch(url);
  return answer.ok ? answer.json() : Promise.reject(answer);
}

function pathInAddress() {
  return new URLSearchParams(location.search).get('path') ?? path;
}

// H5Web's application tells nobody what is selected: its tree says it in the document.
function useSelectedPath(onSelect) {
  useEffect(() => {
    const look = () => {
      const item = place.querySelector('[role=treeitem][aria-selected=true]');
      if (item) {
        onSelect(item.dataset.path);
      }
    };
    const observer = new MutationObserver(look);
    observer.observe(place, { subtree: true, childList: true, attributeFilter: ['aria-selected'] });
    return () => observer.disconnect();
  }, [onSelect]);
}

// The version of the source, asked for once a second while somebody looks; `gone`: it cannot be asked for.
function useVersion() {
  const [state, setState] = useState({ version: undefined, changes: 0, gone: false });
  useEffect(() => {
    let next = firstVersion;
    const look = async () => {
      if (document.hidden) {
        return;
      }
      try {
        const asking = next ?? asked('version', {});
        next = undefined;
        const { version, opened } = await asking;
        // No transition: the provider's stores, made anew for a version, would be lost each time its children wait.
        setState((before) => {
          if (before.version === version && !before.gone) {
            return before;
          }
          const first = before.version === undefined;
          return { version, opened, gone: false, changes: before.changes + (first || before.version === version ? 0 : 1),
            replaced: before.replaced || (!first && before.opened !== opened) };
        });
      } catch {
        setState((before) => (before.gone ? before : { ...before, gone: true }));
      }
    };
    look();
    const timer = setInterval(look, VERSION_MS);
    return () => clearInterval(timer);
  }, []);
  return state;
}

// The account of what salvage did for the object that is shown; undefined where that is nothing.
function useRemark(current, version) {
  const [remark, setRemark] = useState();
  useEffect(() => {
    let wanted = true;
    setRemark(undefined);
    asked('views', { path: current }).then(({ salvage }) => wanted && setRemark(salvage), () => undefined);
    return () => {
      wanted = false;
    };
  }, [current, version]);
  return remark;
}

function Remark({ current, version }) {
  const remark = useRemark(current, version);
  if (!remark) {
    return null;
  }
  const { certainty, found_by: foundBy, missing, filled } = remark;
  const ranges = missing.map(([begin, end]) => `${begin}–${end}`).join(', ');
  return (
    <output className="salvage">
      salvaged, {certainty}: {foundBy}
      {ranges && `; bytes that are not known: ${ranges}`}
      {filled > 0 && `; ${filled} of them are the fill value`}
    </output>
  );
}

function Shortened({ current }) {
  const count = useKnown(entities, current)?.children?.length ?? 0;
  return count > MOST_CHILDREN && (
    <output className="shortened">
      {`${count.toLocaleString('en')} objects: the first ${MOST_CHILDREN.toLocaleString('en')} are shown, the plain listing has all`}
    </output>
  );
}

function Times({ current, version }) {
  const times = useTimes(current, version);
  return times && <output className="times">{times}</output>;
}

function Downloads({ current }) {
  const [views, setViews] = useState(null);
  const open = async (event) => {
    setViews(null);
    if (event.currentTarget.open) {
      const selection = shown.path === current && shown.selection ? { selection: shown.selection } : {};
      setViews(await asked('views', { path: current, ...selection }).catch(() => ({ views: [] })));
    }
  };
  return (
    <details className="downloads" key={current} onToggle={open}>
      <summary>Files</summary>
      <ul>
        {views?.views.map(({ name, what, href }) => (
          <li key={href}><a href={new URL(href, base)} title={what}>{name}</a>{what && <small> {what}</small>}</li>
        ))}
        {views?.views.length === 0 && <li>none</li>}
      </ul>
    </details>
  );
}

function Bar({ current, version }) {
  return (
    <header className="bar">
      {file !== undefined && <a href={base}>all files</a>}
      <a href={new URL('?plain', source)}>plain listing</a>
      <Downloads current={current} />
      <output>
        {version.gone && 'the server does not answer'}
        {!version.gone && version.replaced && 'another file has this name now: it is shown'}
        {!version.gone && !version.replaced && version.changes > 0 && 'the file grows: its newest state is shown'}
      </output>
      <Shortened current={current} />
      <Times current={current} version={version.changes} />
      <Remark current={current} version={version.changes} />
      <a href={new URL('?asset=licenses.txt', base)}>H5Web</a>
    </header>
  );
}

function Page() {
  const [initial, setInitial] = useState(pathInAddress);
  const [current, setCurrent] = useState(initial);
  const version = useVersion();
  const own = useKnown(ownViews, current);
  const [allowed, setAllowed] = useState(new Set());
  const onSelect = useCallback((at) => {
    selected = at;
    setCurrent(at);
    if (at !== pathInAddress()) {
      history.pushState(null, '', new URL(`?${new URLSearchParams({ path: at })}`, source));
    }
  }, []);
  useSelectedPath(onSelect);
  const ask = useCallback((params) => plainFetcher(`${api}/data`, { path: current, format: 'bin', dtype: 'safe', ...params }), [current]);
  const onSelection = useCallback((selection) => {
    shown = { path: current, selection };
  }, [current]);
  const onAll = useCallback(() => {
    ownViews.get(current).allowed.resolve();
    setAllowed((before) => new Set([...before, current]));
  }, [current]);
  useEffect(() => {
    const back = () => setInitial(pathInAddress());
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  }, []);
  useEffect(() => {
    document.title = `${current} · ${name}`;
  }, [current]);
  return (
    <>
      <Bar current={current} version={version} />
      <main className="viewer">
        <H5GroveProvider url={api} filepath={name} fetcher={fetcher} resetKeys={[version.changes]}>
          <App key={initial} initialPath={initial} sidebarOpen={!narrow} />
        </H5GroveProvider>
        {own && !allowed.has(current) && (
          <own.View key={current} ask={ask} entity={own.entity} version={version.changes} onAll={onAll} onSelection={onSelection} />
        )}
      </main>
    </>
  );
}

createRoot(place).render(<Page />);

// The page: H5Web's application over this server's interface, with a bar above it. It is given where the server's root
// is, which source is shown and which object; from then on the address names the object that is shown.
import { App, createBasicFetcher, H5GroveProvider } from '@h5web/app';
import { useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { isLargeSeries, Overview } from './overview.jsx';
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

// Of the last data that were shown of an object: its selection, as what is downloaded is of that too.
let shown = { path: '', selection: undefined };
const basicFetcher = createBasicFetcher();
const plainFetcher = (url, params, options) => basicFetcher(url, { ...params, ...ofFile }, options);

// Series that are too long to be drawn as they are, by path. H5Web's application waits for one until it is let.
const large = new Map();
const largeChanged = new EventTarget();
function noteLarge(entity, at) {
  if (isLargeSeries(entity)) {
    const before = large.get(at);
    large.set(at, { entity, allowed: before?.allowed ?? withResolvers() });
    largeChanged.dispatchEvent(new Event('change'));
  }
  for (const child of entity.children ?? []) {
    noteLarge(child, `${at.replace(/\/+$/u, '')}/${child.name}`);
  }
}
function withResolvers() {
  const out = {};
  out.promise = new Promise((resolve, reject) => Object.assign(out, { resolve, reject }));
  return out;
}

// The version before anything is read, so that what is shown is never older than the one that changes are told from.
const firstVersion = asked('version', {});
firstVersion.catch(() => undefined);

const fetcher = async (url, params, options) => {
  await firstVersion.catch(() => undefined);
  if (url.endsWith('/data')) {
    shown = { path: params.path, selection: params.selection };
    await large.get(params.path)?.allowed.promise;
  }
  const answer = await plainFetcher(url, params, options);
  if (url.endsWith('/meta')) {
    noteLarge(JSON.parse(new TextDecoder().decode(answer)), params.path);
  }
  return answer;
};

// The series at a path, where it is one of these and was not let.
function useLarge(at) {
  const [found, setFound] = useState();
  useEffect(() => {
    const look = () => setFound(large.get(at));
    look();
    largeChanged.addEventListener('change', look);
    return () => largeChanged.removeEventListener('change', look);
  }, [at]);
  return found;
}

function asked(endpoint, params) {
  return fetch(`${api}/${endpoint}?${new URLSearchParams({ ...ofFile, ...params })}`).then((answer) =>
    answer.ok ? answer.json() : Promise.reject(answer));
}

function pathInAddress() {
  return new URLSearchParams(location.search).get('path') ?? path;
}

// H5Web's application tells nobody what is selected: its tree says it in the document.
function useSelectedPath(onSelect) {
  useEffect(() => {
    const look = () => {
      const selected = place.querySelector('[role=treeitem][aria-selected=true]');
      if (selected) {
        onSelect(selected.dataset.path);
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

// What salvage did for the object that is shown; undefined where that is nothing.
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
      <Remark current={current} version={version.changes} />
      <a href={new URL('?asset=licenses.txt', base)}>H5Web</a>
    </header>
  );
}

function Page() {
  const [initial, setInitial] = useState(pathInAddress);
  const [current, setCurrent] = useState(initial);
  const version = useVersion();
  const series = useLarge(current);
  const [allowed, setAllowed] = useState(new Set());
  const onSelect = useMemo(() => (selected) => {
    setCurrent(selected);
    if (selected !== pathInAddress()) {
      history.pushState(null, '', new URL(`?${new URLSearchParams({ path: selected })}`, source));
    }
  }, []);
  useSelectedPath(onSelect);
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
      <div className="viewer">
        <H5GroveProvider url={api} filepath={name} fetcher={fetcher} resetKeys={[version.changes]}>
          <App key={initial} initialPath={initial} />
        </H5GroveProvider>
        {series && !allowed.has(current) && (
          <Overview key={current} fetcher={plainFetcher} url={`${api}/data`} entity={series.entity} path={current}
            version={version.changes} onAll={() => {
              series.allowed.resolve();
              setAllowed(new Set([...allowed, current]));
            }} />
        )}
      </div>
    </>
  );
}

createRoot(place).render(<Page />);

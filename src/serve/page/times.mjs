// Numbers that count from a time, as the CF conventions have it ("seconds since 1970-01-01"): what they are as dates.
import { utcTicks } from 'd3-time';

const NAMES = {
  d: 86_400_000, day: 86_400_000, days: 86_400_000, h: 3_600_000, hr: 3_600_000, hour: 3_600_000, hours: 3_600_000,
  min: 60_000, minute: 60_000, minutes: 60_000, s: 1000, sec: 1000, second: 1000, seconds: 1000,
  ms: 1, millisecond: 1, milliseconds: 1, us: 1e-3, microsecond: 1e-3, microseconds: 1e-3, ns: 1e-6, nanosecond: 1e-6, nanoseconds: 1e-6,
};
const UNITS = /(?<name>[a-z]+) since (?<date>[+-]?\d{1,6}-\d{1,2}-\d{1,2})(?:[T ]+(?<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?)? *(?<zone>Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?/iu;
// Until then the calendar that CF names "standard" is not JavaScript's.
const GREGORIAN = Date.UTC(1582, 9, 15);
const MOST = 8.64e15; // of a Date, in milliseconds
const CALENDARS = new Set([undefined, 'standard', 'gregorian', 'proleptic_gregorian']);

function originOf({ date, time = '0:00', zone = 'Z' }) {
  const [, sign, year, month, day] = /^([+-]?)(\d+)-(\d+)-(\d+)$/u.exec(date);
  const [hours, minutes, seconds = 0] = time.split(':').map(Number);
  const [, west, offsetHours = 0, offsetMinutes = 0] = /^([+-])?(\d{1,2})?:?(\d{2})?/u.exec(zone);
  const at = new Date(0);
  at.setUTCFullYear(sign === '-' ? -year : Number(year), month - 1, Number(day));
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (west === '-' ? -1 : 1);
  return at.getTime() + (hours * 60 + minutes - offset) * 60_000 + seconds * 1000;
}

// What a text with units in it says: milliseconds of one, and the time of zero; undefined where it names no such thing.
export function unitOf(text, calendar) {
  const found = UNITS.exec(text ?? '');
  const name = NAMES[found?.groups.name.toLowerCase()];
  if (name === undefined || !CALENDARS.has(calendar?.toLowerCase())) {
    return undefined;
  }
  const origin = originOf(found.groups);
  const sure = origin >= GREGORIAN || calendar?.toLowerCase() === 'proleptic_gregorian';
  return Number.isFinite(origin) && sure ? { origin, unit: name } : undefined;
}

function dateOf(number, { origin, unit }) {
  const at = origin + Number(number) * unit;
  return Math.abs(at) <= MOST ? new Date(at) : undefined;
}

// `2024-07-03 09:46:40`, with as many places as `step` (milliseconds) needs.
function written(date, step = 1000) {
  const text = date.toISOString().replace('T', ' ').replace('Z', '');
  if (step >= NAMES.day && date % NAMES.day === 0) {
    return text.split(' ')[0];
  }
  return step >= NAMES.min ? text.slice(0, -7) : step >= 1000 ? text.slice(0, -4) : text;
}

export function timeText(number, unit) {
  const date = number === null || number === undefined ? undefined : dateOf(number, unit);
  return date && written(date, date % 1000 === 0 ? 1000 : 1);
}

// Texts with units that were seen with a calendar that is not JavaScript's, and the units of what an axis without a label shows.
const otherCalendars = new Set();
let shownUnit;

export function noteCalendar(units, calendar) {
  if (typeof units === 'string' && calendar !== undefined && !unitOf(units, calendar)) {
    otherCalendars.add(units);
  }
}

export function setShownUnit(unit) {
  shownUnit = unit;
}

// Of an axis of a plot whose numbers are times: its ticks at round times, and a label that says what they have in common.
export function timeAxis({ label, isOrdinate, domain, count }) {
  const known = label === undefined ? isOrdinate && shownUnit : ![...otherCalendars].some((units) => label.includes(units)) && unitOf(label);
  const [begin, end] = known ? [Math.min(...domain), Math.max(...domain)].map((bound) => dateOf(bound, known)) : [];
  if (!begin || !end || begin >= end) {
    return undefined;
  }
  const dates = utcTicks(begin, end, count);
  if (dates.length === 0) {
    return undefined;
  }
  const step = dates.length > 1 ? dates[1] - dates[0] : end - begin;
  const day = written(begin, NAMES.day).slice(0, 10);
  const sameDay = step < NAMES.day && end.toISOString().startsWith(begin.toISOString().slice(0, 10));
  const values = dates.map((date) => (date - known.origin) / known.unit);
  const texts = new Map(values.map((value, i) => [value, sameDay ? written(dates[i], step).split(' ')[1] : written(dates[i], step)]));
  return {
    tickValues: values,
    axis: {
      tickFormat: (value) => texts.get(Number(value)) ?? timeText(value, known),
      label: label === undefined ? undefined : `${label.replace(UNITS, '').replace(/ *\( *\)/u, '')} (${sameDay ? `${day}, ` : ''}UTC)`,
    },
  };
}

// Numbers that count from a time, as the CF conventions have it ("seconds since 1970-01-01"): what they are as dates. A time is
// milliseconds from the beginning of its calendar's 1970.
import { calendarNamed, isDate } from './calendars.mjs';

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const NAMES = {
  d: DAY, day: DAY, days: DAY, h: HOUR, hr: HOUR, hour: HOUR, hours: HOUR, min: MINUTE, minute: MINUTE, minutes: MINUTE,
  s: SECOND, sec: SECOND, second: SECOND, seconds: SECOND, ms: 1, millisecond: 1, milliseconds: 1,
  us: 1e-3, microsecond: 1e-3, microseconds: 1e-3, ns: 1e-6, nanosecond: 1e-6, nanoseconds: 1e-6,
};
const UNITS = /(?<name>[a-z]+) since (?<date>[+-]?\d{1,6}-\d{1,2}-\d{1,2})(?:[T ]+(?<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?)? *(?<zone>Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?/iu;
const MOST = 8.64e15; // milliseconds, beyond which a number stands for no time

function originOf({ date, time = '0:00', zone = 'Z' }, calendar) {
  const [, sign, ...parts] = /^([+-]?)(\d+)-(\d+)-(\d+)$/u.exec(date);
  const [year, month, day] = parts.map(Number);
  const at = { year: sign === '-' ? -year : year, month, day };
  if (!isDate(at, calendar)) {
    return undefined;
  }
  const [hours, minutes, seconds = 0] = time.split(':').map(Number);
  const [, west, offsetHours = 0, offsetMinutes = 0] = /^([+-])?(\d{1,2})?:?(\d{2})?/u.exec(zone);
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (west === '-' ? -1 : 1);
  return calendar.dayOf(at) * DAY + (hours * 60 + minutes - offset) * MINUTE + seconds * SECOND;
}

// The text of an attribute that is one, or an array of one.
function textOf(value) {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

// The meaning of a text with units in it: milliseconds of one, the time of zero, and the calendar; undefined where it names no such
// thing, or a calendar that is not known.
export function unitOf(units, calendarName) {
  const [text, name] = [textOf(units), textOf(calendarName)];
  if (typeof text !== 'string' || (name !== undefined && typeof name !== 'string')) {
    return undefined;
  }
  const found = UNITS.exec(text);
  const unit = NAMES[found?.groups.name.toLowerCase()];
  const calendar = calendarNamed(name);
  const origin = unit && calendar && originOf(found.groups, calendar);
  return Number.isFinite(origin) ? { origin, unit, calendar } : undefined;
}

function timeOf(number, { origin, unit, calendar }) {
  const time = origin + Number(number) * unit;
  return Math.abs(time) <= MOST && isDate(calendar.dateOf(Math.floor(time / DAY)), calendar) ? time : undefined;
}

const padded = (number, count) => String(Math.abs(number)).padStart(count, '0');

function dateText(time, calendar) {
  const { year, month, day } = calendar.dateOf(Math.floor(time / DAY));
  return `${year < 0 ? '-' : ''}${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`;
}

// `2024-07-03 09:46:40`, with as many places as `step` (milliseconds) needs.
function written(exact, step, calendar) {
  const time = Math.floor(exact);
  const ofDay = time - Math.floor(time / DAY) * DAY;
  const date = dateText(time, calendar);
  if (step >= DAY && ofDay === 0) {
    return date;
  }
  const clock = `${padded(Math.floor(ofDay / HOUR), 2)}:${padded(Math.floor(ofDay / MINUTE) % 60, 2)}`;
  const seconds = step >= MINUTE ? '' : `:${padded(Math.floor(ofDay / SECOND) % 60, 2)}`;
  return `${date} ${clock}${seconds}${step >= SECOND ? '' : `.${padded(ofDay % SECOND, 3)}`}`;
}

export function timeText(number, unit) {
  const time = number === null || number === undefined ? undefined : timeOf(number, unit);
  return time === undefined ? undefined : written(time, Math.floor(time) % SECOND === 0 ? SECOND : 1, unit.calendar);
}

// Round times from `begin` to `end`, about `count` of them: multiples of a part of the day, or the beginnings of days, months or
// years.
const SHORTEST = 1; // between two ticks
const PARTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, ...[1, 2, 5, 10, 20, 30].map((n) => n * SECOND), ...[1, 2, 5, 10, 20, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR), ...[1, 2, 7, 14].map((n) => n * DAY)];
const MONTHS = [1, 2, 3, 6, 12];
const MEAN_MONTH = 30 * DAY;

export function roundTimes(begin, end, count, calendar) {
  const wanted = Math.max((end - begin) / Math.max(count, 1), SHORTEST);
  const part = PARTS.find((step) => step >= wanted);
  const out = [];
  if (part) {
    for (let i = Math.ceil(begin / part); i * part <= end; i += 1) {
      out.push(i * part);
    }
  } else {
    const years = wanted / MEAN_MONTH / 12;
    const power = 10 ** Math.floor(Math.log10(Math.max(years, 1)));
    const months = MONTHS.find((step) => step * MEAN_MONTH >= wanted) ?? [1, 2, 5, 10].map((n) => n * power * 12).find((step) => step >= years * 12);
    const { year, month } = calendar.dateOf(Math.floor(begin / DAY));
    for (let i = Math.ceil((year * 12 + month - 1) / months) * months; ; i += months) {
      const time = calendar.dayOf({ year: Math.floor(i / 12), month: i - Math.floor(i / 12) * 12 + 1, day: 1 }) * DAY;
      if (time > end) {
        break;
      }
      if (time >= begin) {
        out.push(time);
      }
    }
  }
  return out;
}

// The calendar of each text with units that was seen; null where objects with the same text have several.
const calendars = new Map();
let shownUnit;

export function noteCalendar(units, calendar) {
  const text = textOf(units);
  if (typeof text === 'string' && UNITS.test(text)) {
    const name = textOf(calendar) ?? 'standard';
    calendars.set(text, calendars.has(text) && calendars.get(text) !== name ? null : name);
  }
}

export function setShownUnit(unit) {
  shownUnit = unit;
}

// The units in a label: an object's name may be part of it, so the longest ones are meant.
function unitOfLabel(label) {
  const found = [...calendars.keys()].filter((units) => label.includes(units)).sort((a, b) => b.length - a.length)[0];
  return unitOf(label, found === undefined ? undefined : calendars.get(found));
}

// The look of an axis of a plot whose numbers are times: its ticks at round times, and a label that says what they have in common.
export function timeAxis({ label, isOrdinate, domain, count }) {
  const known = label === undefined ? isOrdinate && shownUnit : unitOfLabel(label);
  const [begin, end] = known ? [Math.min(...domain), Math.max(...domain)].map((bound) => timeOf(bound, known)) : [];
  if (begin === undefined || end === undefined || end - begin < 2 * SHORTEST) {
    return undefined;
  }
  const times = roundTimes(begin, end, count, known.calendar);
  if (times.length === 0) {
    return undefined;
  }
  const step = times.length > 1 ? times[1] - times[0] : end - begin;
  const day = dateText(begin, known.calendar);
  const sameDay = step < DAY && dateText(end, known.calendar) === day;
  const values = times.map((time) => (time - known.origin) / known.unit);
  const texts = new Map(values.map((value, i) => {
    const text = written(times[i], step, known.calendar);
    return [value, sameDay ? text.split(' ')[1] : text];
  }));
  return {
    tickValues: values,
    axis: {
      tickFormat: (value) => texts.get(Number(value)) ?? timeText(value, known),
      label: label === undefined ? undefined : `${label.replace(UNITS, '').replace(/ *\( *\)/u, '')} (${sameDay ? `${day}, ` : ''}${known.calendar.words})`,
    },
  };
}

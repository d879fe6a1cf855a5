// The page's dates in the calendars of the CF conventions: what cftime's num2date makes of the same numbers.
import assert from 'node:assert/strict';

import { calendarNamed } from '../../src/serve/page/calendars.mjs';
import { noteCalendar, roundTimes, setShownUnit, timeAxis, timeText, unitOf } from '../../src/serve/page/times.mjs';

const DATES = [
  ['days since 2000-02-20', 'noleap', 10, '2000-03-02 00:00:00'],
  ['days since 2000-02-20', undefined, 10, '2000-03-01 00:00:00'],
  ['days since 2000-02-20', '360_day', 10, '2000-02-30 00:00:00'],
  ['days since 2000-02-20', '365_day', -60, '1999-12-22 00:00:00'],
  ['days since 1900-02-20', 'julian', 9, '1900-02-29 00:00:00'],
  ['days since 1900-02-20', 'proleptic_gregorian', 9, '1900-03-01 00:00:00'],
  ['days since 1900-02-20', 'all_leap', 9, '1900-02-29 00:00:00'],
  ['days since 1900-02-20', '366_day', 10, '1900-03-01 00:00:00'],
  ['days since 1582-10-04', 'standard', 1, '1582-10-15 00:00:00'],
  ['days since 1582-10-04', 'Gregorian', 0, '1582-10-04 00:00:00'],
  ['days since 1582-10-04', 'proleptic_gregorian', 1, '1582-10-05 00:00:00'],
  ['days since 1582-10-04', 'julian', 1, '1582-10-05 00:00:00'],
  ['hours since 0001-01-01 00:00:00', ['standard'], 17522904, '2000-01-01 00:00:00'],
  ['hours since 1-1-1', 'proleptic_gregorian', 17522904, '2000-01-03 00:00:00'],
  ['days since 1858-11-17', 'standard', -400000, '0763-09-15 00:00:00'],
  [['days since 2001-02-30'], '360_day', 0, '2001-02-30 00:00:00'],
  ['minutes since 2000-12-30 23:59:30', '360_day', 0.5, '2001-01-01 00:00:00'],
  ['days since 1850-01-01', 'noleap', 60225.5, '2015-01-01 12:00:00'],
  ['seconds since 1970-01-01 00:00:00 -7:30', undefined, 1.25, '1970-01-01 07:30:01.250'],
];
for (const [units, calendar, number, date] of DATES) {
  assert.equal(timeText(number, unitOf(units, calendar)), date, `${number} ${units} ${calendar}`);
}

// What is no such thing stays a number.
for (const [units, calendar] of [['days since 2000-01-01', 'tai'], ['days since 2000-01-01', 5], ['days since 2000-01-01', null],
  ['days since 2000-01-01', ['noleap', 'noleap']], ['days since 2000-02-30', 'noleap'], ['days since 2000-02-29', 'noleap'], ['days since 0000-01-01', undefined],
  ['months since 2000-01-01', undefined], ['K', undefined], [null, undefined], [1, undefined]]) {
  assert.equal(unitOf(units, calendar), undefined, `${units} ${calendar}`);
}
assert.equal(timeText(-800_000, unitOf('days since 2000-01-01')), undefined, 'before the year 1');
for (const number of [null, undefined, NaN, Infinity, 1e300]) {
  assert.equal(timeText(number, unitOf('days since 2000-01-01')), undefined);
}

// Ticks are round times of their calendar.
const DAY = 86_400_000;
for (const name of ['standard', 'proleptic_gregorian', 'julian', 'noleap', 'all_leap', '360_day']) {
  const calendar = calendarNamed(name);
  const unit = { origin: 0, unit: 1, calendar };
  for (const span of [2, 3000, 60_000, 7.3e6, DAY, 5 * DAY, 50 * DAY, 400 * DAY, 4000 * DAY, 4e5 * DAY]) {
    const begin = calendar.dayOf({ year: 1700, month: 2, day: 27 }) * DAY + 1234;
    const times = roundTimes(begin, begin + span, 6, calendar);
    assert.ok(times.length >= 1 && times.length <= 7 && times.every((time) => time >= begin && time <= begin + span), `${name} ${span} ${times}`);
    if (span >= 400 * DAY) {
      assert.ok(times.every((time) => timeText(time, unit).endsWith('-01 00:00:00')), `${name} ${span}`);
    }
  }
  assert.deepEqual(roundTimes(5.1, 5.2, 6, calendar), []);
}

// An axis is of the calendar that its units were seen with, and shows numbers where that is not one alone.
const axis = { label: 'time (days since 2001-02-20)', domain: [0, 12], count: 6 };
const texts = ({ tickValues, axis: { tickFormat } }) => tickValues.map(tickFormat);
noteCalendar('days since 2001-02-20', '360_day');
assert.deepEqual(texts(timeAxis(axis)).slice(3, 6), ['2001-02-27', '2001-02-29', '2001-03-01']);
assert.equal(timeAxis(axis).axis.label, 'time (360_day)');
noteCalendar('days since 2001-02-20', '360_day');
assert.notEqual(timeAxis(axis), undefined);
noteCalendar('days since 2001-02-20', undefined);
assert.equal(timeAxis(axis), undefined);
noteCalendar('days since 2001-02-21', 'unknown');
assert.equal(timeAxis({ ...axis, label: 'time (days since 2001-02-21)' }), undefined);
setShownUnit(unitOf('seconds since 1970-01-01'));
assert.deepEqual(texts(timeAxis({ isOrdinate: true, domain: [1720000000, 1720000999.5], count: 3 })), ['09:50', '10:00']);
assert.equal(timeAxis({ isOrdinate: false, domain: [0, 5], count: 6 }), undefined);

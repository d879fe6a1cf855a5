// The calendars of the CF conventions. Each numbers its days (0 is its 1970-01-01) and knows the date of a day's number.
const MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MONTHS_OF_LEAP = MONTHS.map((days, i) => (i === 1 ? 29 : days));

// `isLeap`: of a year; `yearBegins`: its first day's number, counted from the year 0.
function calendarOf(isLeap, yearBegins, monthsOf = (year) => (isLeap(year) ? MONTHS_OF_LEAP : MONTHS)) {
  const epoch = yearBegins(1970);
  const meanYear = (yearBegins(4000) - yearBegins(0)) / 4000;
  return {
    monthsOf,
    dayOf: ({ year, month, day }) => yearBegins(year) - epoch + monthsOf(year).slice(0, month - 1).reduce((sum, days) => sum + days, 0) + day - 1,
    dateOf(number) {
      let year = Math.floor((number + epoch) / meanYear);
      while (yearBegins(year) - epoch > number) {
        year -= 1;
      }
      while (yearBegins(year + 1) - epoch <= number) {
        year += 1;
      }
      let day = number - (yearBegins(year) - epoch);
      const months = monthsOf(year);
      let month = 0;
      while (day >= months[month]) {
        day -= months[month];
        month += 1;
      }
      return { year, month: month + 1, day: day + 1 };
    },
  };
}

const julian = {
  ...calendarOf((year) => year % 4 === 0, (year) => 365 * year + Math.ceil(year / 4)),
  hasNoYearZero: true,
};
const gregorian = calendarOf((year) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0),
  (year) => 365 * year + Math.ceil(year / 4) - Math.ceil(year / 100) + Math.ceil(year / 400));

// Julian until 1582-10-04, whose next day is 1582-10-15.
const REFORM = { year: 1582, month: 10, day: 15 };
const reformDay = gregorian.dayOf(REFORM);
const julianAhead = reformDay - julian.dayOf({ ...REFORM, day: 5 });
const isReformed = ({ year, month, day }) => year * 10_000 + month * 100 + day >= 15_821_015;
const mixed = {
  monthsOf: julian.monthsOf,
  dayOf: (date) => (isReformed(date) ? gregorian.dayOf(date) : julian.dayOf(date) + julianAhead),
  dateOf: (number) => (number >= reformDay ? gregorian.dateOf(number) : julian.dateOf(number - julianAhead)),
  hasNoYearZero: true,
};

const noLeap = calendarOf(() => false, (year) => 365 * year);
const allLeap = calendarOf(() => true, (year) => 366 * year);
const equalMonths = calendarOf(() => false, (year) => 360 * year, () => MONTHS.map(() => 30));

const CALENDARS = new Map([
  ['standard', mixed], ['gregorian', mixed], ['proleptic_gregorian', gregorian], ['julian', julian], ['noleap', noLeap],
  ['365_day', noLeap], ['all_leap', allLeap], ['366_day', allLeap], ['360_day', equalMonths],
]);

// The calendar that an attribute names, with what a label says of its times; undefined where none is known under that name.
export function calendarNamed(name = 'standard') {
  const known = CALENDARS.get(name.toLowerCase());
  const words = known === mixed || known === gregorian ? 'UTC' : name.toLowerCase();
  return known && { ...known, words };
}

export function isDate({ year, month, day }, { monthsOf, hasNoYearZero }) {
  return month >= 1 && month <= 12 && day >= 1 && day <= monthsOf(year)[month - 1] && !(hasNoYearZero && year < 1);
}

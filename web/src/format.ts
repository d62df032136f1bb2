/** Moments, figures and names as people read them. */
export const DAY = 86_400_000;

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const minute = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
const second = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: "UTC" });

/** A day where the moment is midnight (UTC), else to the minute. */
export function when(iso: string | number | null | undefined, none = "open"): string {
  if (iso === null || iso === undefined) return none;
  const date = new Date(iso);
  return (date.getTime() % DAY === 0 ? day : minute).format(date);
}
export const dayOf = (iso: string | number): string => day.format(new Date(iso));
export const clock = (iso: string | number): string => second.format(new Date(iso));

const UNITS: [number, Intl.RelativeTimeFormatUnit][] = [
  [60_000, "second"],
  [3_600_000, "minute"],
  [DAY, "hour"],
  [30 * DAY, "day"],
  [365 * DAY, "month"],
  [Infinity, "year"],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
export function ago(iso: string | number): string {
  const away = new Date(iso).getTime() - Date.now();
  const at = UNITS.findIndex(([limit]) => Math.abs(away) < limit);
  const size = at === 0 ? 1000 : UNITS[at - 1]![0];
  return relative.format(Math.trunc(away / size), UNITS[at]![1]);
}

const whole = new Intl.NumberFormat("en-GB");
export const count = (n: number): string => whole.format(n);
export const many = (n: number, one: string, more = `${one}s`): string => `${count(n)} ${n === 1 ? one : more}`;
/** As exact as JSON says it, without the noise of binary fractions. */
export const exact = (n: number): string => String(Number(n.toPrecision(6)));
export const percent = (n: number): string => `${Math.round(100 * n)} %`;
/** update_memory as "update memory". */
export const words = (name: string): string => name.replace(/[_-]+/g, " ");
export const isoDay = (iso: string): string => iso.slice(0, 10);

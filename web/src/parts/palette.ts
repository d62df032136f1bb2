/** The colours of the style sheet, as numbers, in the theme of now. */
import { HUES } from "./common";

export type Rgb = [number, number, number];

export function colours(element: Element): { of: (name: string) => Rgb; canvas: Rgb } {
  const probe = element.appendChild(document.createElement("i"));
  const known = new Map<string, Rgb>();
  const of = (name: string): Rgb => {
    const found = known.get(name);
    if (found) return found;
    probe.style.color = `var(${name})`; // the browser works out what it means in this theme
    const made = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number) as Rgb;
    known.set(name, made);
    return made;
  };
  const names = ["--ground", "--ink", "--edge", ...Array.from({ length: HUES }, (_, at) => `--hue-${at}`)];
  names.forEach(of);
  probe.remove();
  return { of, canvas: of("--ground") };
}
export const mix = (colour: Rgb, ground: Rgb, part: number): string => {
  const at = (index: 0 | 1 | 2) => Math.round(ground[index] + (colour[index] - ground[index]) * part);
  return `#${[at(0), at(1), at(2)].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
};

/** Texts of others. They are data: nothing in them is markup, a link, or an order to a screen. */
import type { ComponentChildren } from "preact";

// Controls, bidirectional marks and overrides, tags, and other characters that nobody sees: shown by their numbers.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const named = (character: string): string => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

export function Text({ of, cut }: { of: string; cut?: number }) {
  const text = cut !== undefined && of.length > cut ? `${[...of].slice(0, cut).join("")}…` : of;
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    parts.push(text.slice(from, found.index), <span class="hidden-character">{named(found[0])}</span>);
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return <bdi dir="auto">{text.trim() === "" ? <span class="quiet">(empty)</span> : parts}</bdi>;
}

/** The same as a plain string, for labels of pictures. */
export const plain = (text: string): string => text.replace(HIDDEN, (each) => `⟨${named(each)}⟩`);

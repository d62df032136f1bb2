/** The view as it stands, as a picture that needs nothing else. */

const STYLES = ["align-items", "align-self", "background-color", "background-image", "border-bottom", "border-left", "border-right", "border-top", "border-radius", "box-sizing", "clip-path", "color", "column-gap", "display", "fill", "flex", "flex-direction", "flex-wrap", "font-family", "font-size", "font-style", "font-variant-numeric", "font-weight", "gap", "grid-column", "grid-row", "grid-template-columns", "height", "inset", "justify-content", "letter-spacing", "line-height", "list-style-type", "margin", "max-width", "min-width", "opacity", "overflow", "overflow-wrap", "padding", "position", "row-gap", "stroke", "stroke-dasharray", "stroke-width", "text-align", "text-anchor", "text-decoration-line", "text-indent", "transform", "vertical-align", "visibility", "white-space", "width"];
const HTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";

/** Ask pictures to draw themselves now: what WebGL drew is gone once the page was shown. */
const drawn = (): void => void dispatchEvent(new Event("loci:draw"));

function copied(from: Element): Element {
  const style = getComputedStyle(from);
  if (from instanceof HTMLCanvasElement) {
    const image = document.createElement("img");
    image.setAttribute("src", from.toDataURL("image/png"));
    image.setAttribute("alt", "");
    dress(image, style);
    return image;
  }
  const made = from.cloneNode(false) as Element;
  made.removeAttribute("style");
  made.removeAttribute("href");
  dress(made, style);
  if (from instanceof HTMLInputElement) made.setAttribute("value", from.value);
  for (const each of from.childNodes) {
    if (each instanceof Element) {
      if (getComputedStyle(each).display !== "none") made.append(copied(each));
    } else if (each.nodeType === Node.TEXT_NODE) made.append(safe(each.textContent ?? ""));
  }
  return made;
}

function dress(made: Element, style: CSSStyleDeclaration): void {
  for (const name of STYLES) (made as HTMLElement).style.setProperty(name, style.getPropertyValue(name));
}

/** Characters that XML has no place for, by their number. */
const safe = (text: string): string => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, (each) => `U+${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);

/** The whole view, as SVG: text stays text. */
export function svg(): string {
  drawn();
  const main = document.getElementById("main")!;
  const [wide, tall] = [main.offsetWidth, main.offsetHeight].map(String) as [string, string];
  const whole = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}` })) whole.setAttribute(name, value);
  const inside = document.createElementNS(SVG, "foreignObject");
  inside.setAttribute("width", wide);
  inside.setAttribute("height", tall);
  const ground = document.createElementNS(HTML, "div") as HTMLElement;
  ground.style.background = getComputedStyle(document.body).backgroundColor;
  ground.style.height = `${tall}px`;
  ground.append(copied(main));
  inside.append(ground);
  whole.append(inside);
  return new XMLSerializer().serializeToString(whole);
}

/** What is drawn on canvases, one over another, as PNG. */
export function png(): Promise<Blob> {
  drawn();
  const box = document.querySelector("main .sky")!;
  const layers = [...box.querySelectorAll("canvas")];
  const whole = document.createElement("canvas");
  whole.width = Math.max(...layers.map((each) => each.width));
  whole.height = Math.max(...layers.map((each) => each.height));
  const onto = whole.getContext("2d")!;
  onto.fillStyle = getComputedStyle(box).backgroundColor;
  onto.fillRect(0, 0, whole.width, whole.height);
  for (const each of layers) onto.drawImage(each, 0, 0, whole.width, whole.height);
  return new Promise((done, fail) => whole.toBlob((made) => (made ? done(made) : fail(new Error("The picture is too large."))), "image/png"));
}

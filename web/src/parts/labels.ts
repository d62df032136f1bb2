/** Names in the constellation: the largest first, each where it covers no other name, and none cut off at the rim. */
import type Sigma from "sigma";

const GAP = 4;
const HIGH = 15;
const KEPT = 20; // of so many, the name stands even over other stars
const CORNER = { wide: 46, tall: 118 }; // the buttons

interface Name {
  x: number;
  y: number;
  size: number;
  label: string;
  ink: string;
  forced: boolean;
}
type Box = [left: number, top: number, right: number, bottom: number];

/** What to give sigma for drawing a name, and what to do before and after each picture. */
export function labelling(ground: () => string) {
  let names: Name[] = [];
  let context: CanvasRenderingContext2D | null = null;
  const widths = new Map<string, number>();
  return {
    begin: () => void (names = []),
    name(on: CanvasRenderingContext2D, data: { x: number; y: number; size: number; label: string | null; forceLabel?: boolean; ink?: string }) {
      context = on;
      if (data.label) names.push({ x: data.x, y: data.y, size: data.size, label: data.label, ink: data.ink ?? "", forced: Boolean(data.forceLabel) });
    },
    end(sigma: Sigma, font: string) {
      if (!context || !names.length) return;
      context.font = font;
      const { width, height } = sigma.getDimensions();
      const taken: Box[] = [[width - CORNER.wide, height - CORNER.tall, width, height]];
      const stars = sigma.getGraph().mapNodes((id) => {
        const seen = sigma.getNodeDisplayData(id)!;
        const at = sigma.framedGraphToViewport(seen);
        const size = sigma.scaleSize(seen.size);
        return [at.x - size, at.y - size, at.x + size, at.y + size] as Box;
      });
      names.sort((a, b) => Number(b.forced) - Number(a.forced) || b.size - a.size || (a.label < b.label ? -1 : 1));
      let drawn = 0;
      for (const each of names) {
        const wide = widths.get(each.label) ?? context.measureText(each.label).width;
        widths.set(each.label, wide);
        const free = boxes(each, wide, width).filter((box) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height && !taken.some((other) => meet(box, other)));
        const own: Box = [each.x - each.size, each.y - each.size, each.x + each.size, each.y + each.size];
        const covers = free.map((box) => stars.filter((star) => meet(box, star) && !(Math.abs(star[0] - own[0]) < 1 && Math.abs(star[1] - own[1]) < 1)).length);
        const least = Math.min(...covers);
        const place = free[covers.indexOf(least)];
        if (!place || (least > 0 && !each.forced && drawn >= KEPT)) continue;
        drawn++;
        taken.push(place);
        context.lineJoin = "round";
        context.lineWidth = 3;
        context.strokeStyle = ground();
        context.fillStyle = each.ink;
        context.strokeText(each.label, place[0], place[3] - GAP);
        context.fillText(each.label, place[0], place[3] - GAP);
      }
    },
  };
}

/** Where a name may stand: to the right of its star, to the left, below, above. */
function boxes({ x, y, size }: Name, wide: number, width: number): Box[] {
  const middle = Math.min(Math.max(x - wide / 2, 2), width - wide - 2);
  const at = (left: number, top: number): Box => [left, top, left + wide, top + HIGH];
  return [at(x + size + GAP, y - HIGH / 2), at(x - size - GAP - wide, y - HIGH / 2), at(middle, y + size + 1), at(middle, y - size - HIGH - 1)];
}

const meet = (a: Box, b: Box): boolean => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

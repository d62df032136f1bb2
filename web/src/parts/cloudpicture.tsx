/** A hundred thousand points, drawn with WebGL. What is chosen among them stands in a list too. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Camera, inside, type Loop, matrix, onto, START } from "./camera";
import { colours, type Rgb } from "./palette";
import type { Cloud, Colours } from "./projection";
import { Text } from "./text";

const VERTEX = `#version 300 es
in vec3 place; in float kind; in float state;
uniform mat4 view; uniform float size; uniform vec3 palette[8]; uniform float faint;
out vec4 colour;
void main() {
  gl_Position = view * vec4(place, 1.0);
  float near = gl_Position.w > 1.5 ? 4.0 / gl_Position.w : 1.0;
  gl_PointSize = size * near * (state > 1.5 ? 2.0 : 1.0);
  if (state < 0.5) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  colour = vec4(palette[int(kind + 0.5)], state > 1.5 ? 1.0 : faint);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour; out vec4 pixel;
void main() {
  float away = length(gl_PointCoord - 0.5);
  if (away > 0.5) discard;
  pixel = vec4(colour.rgb * colour.a, colour.a);
}`;
const REACH = 12; // pixels from a point at which it can still be picked
const TURN = 0.006; // radians a pixel
const STEP = 0.12;
const HIGH = 18; // of a name on the map, and how wide it is at most
const WIDE = 210;

interface Drawer {
  draw: (camera: Camera, lit: boolean) => void;
  points: (cloud: Cloud, kinds: Uint8Array, states: Uint8Array) => void;
}

function drawer(canvas: HTMLCanvasElement, palette: () => Rgb[]): Drawer | null {
  const gl = canvas.getContext("webgl2", { alpha: true, antialias: false, preserveDrawingBuffer: true });
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const [places, kinds, states] = [gl.createBuffer(), gl.createBuffer(), gl.createBuffer()];
  let count = 0;
  let dims = 2;
  const fill = (buffer: WebGLBuffer, name: string, wide: number, type: number, data: Float32Array | Uint8Array) => {
    const at = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, wide, type, false, 0, 0);
  };
  return {
    points(cloud, kind, state) {
      fill(places!, "place", 3, gl.FLOAT, cloud.places);
      fill(kinds!, "kind", 1, gl.UNSIGNED_BYTE, kind);
      fill(states!, "state", 1, gl.UNSIGNED_BYTE, state);
      count = cloud.points;
      dims = cloud.dims;
    },
    draw(camera, lit) {
      const ratio = Math.min(2, devicePixelRatio || 1);
      const [wide, tall] = [Math.max(1, canvas.clientWidth), Math.max(1, canvas.clientHeight)];
      if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(tall * ratio)) {
        canvas.width = Math.round(wide * ratio);
        canvas.height = Math.round(tall * ratio);
      }
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const of = (name: string) => gl.getUniformLocation(program, name);
      gl.uniformMatrix4fv(of("view"), false, matrix(camera, dims, wide, tall));
      gl.uniform1f(of("size"), ratio * Math.min(14, Math.max(2.5, (Math.sqrt(camera.zoom) * 110) / Math.sqrt(count + 20))));
      gl.uniform3fv(of("palette"), palette().flatMap((each) => each.map((part) => part / 255)));
      gl.uniform1f(of("faint"), lit ? 0.16 : count > 20000 ? 0.6 : 0.85);
      gl.drawArrays(gl.POINTS, 0, count);
    },
  };
}

interface PictureProps {
  cloud: Cloud;
  colouring: Colours;
  states: Uint8Array;
  lit: boolean;
  named: boolean;
  camera: Camera;
  lasso: boolean;
  move: (to: Camera) => void;
  pick: (point: number | null) => void;
  choose: (points: number[]) => void;
  canvas: { current: HTMLCanvasElement | null };
}

export function CloudPicture({ cloud, colouring, states, lit, named, camera, lasso, move, pick, choose, canvas }: PictureProps) {
  const made = useRef<Drawer | null>(null);
  const now = useRef(camera);
  const [broken, fail] = useState(false);
  const [lost, lose] = useState(0);
  const [loop, draw] = useState<Loop>([]);
  now.current = camera;
  const palette = (): Rgb[] => {
    const { of, canvas: ground } = colours(canvas.current!.parentElement!);
    return Array.from({ length: 8 }, (_, n) => (colouring.ramp ? (of("--hue-0").map((part, at) => ground[at]! + (part - ground[at]!) * (0.25 + (0.75 * n) / 7)) as Rgb) : of(`--hue-${n}`)));
  };

  useEffect(() => {
    const shown = canvas.current!;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const turn = () => lose((n) => n + 1);
    const gone = (event: Event) => event.preventDefault(); // so that the browser gives it back
    const sized = new ResizeObserver(turn);
    sized.observe(shown);
    dark.addEventListener("change", turn);
    shown.addEventListener("webglcontextlost", gone);
    shown.addEventListener("webglcontextrestored", turn);
    return () => {
      sized.disconnect();
      dark.removeEventListener("change", turn);
      shown.removeEventListener("webglcontextlost", gone);
      shown.removeEventListener("webglcontextrestored", turn);
    };
  }, []);
  const colour = useRef<Rgb[]>([]);
  useEffect(() => {
    if (!canvas.current) return;
    colour.current = palette();
    made.current = drawer(canvas.current!, () => colour.current);
    if (!made.current) return fail(!canvas.current!.getContext("webgl2")?.isContextLost());
    made.current.points(cloud, colouring.of, states);
    made.current.draw(now.current, lit);
  }, [cloud, colouring, states, lit, lost]);
  useEffect(() => made.current?.draw(camera, lit), [camera]);

  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    move({ ...now.current, zoom: Math.min(200, Math.max(0.1, now.current.zoom * Math.exp(-event.deltaY / 400))) });
  };
  useEffect(() => {
    const shown = canvas.current;
    if (!shown) return; // a sentence stands there
    shown.addEventListener("wheel", wheel, { passive: false });
    return () => shown.removeEventListener("wheel", wheel);
  });
  const at = (event: PointerEvent): [number, number] => {
    const box = canvas.current!.getBoundingClientRect();
    return [(2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height];
  };
  const seen = () => matrix(now.current, cloud.dims, canvas.current!.clientWidth, canvas.current!.clientHeight);
  const nearest = ([x, y]: [number, number]): number | null => {
    const [view, wide, tall] = [seen(), canvas.current!.clientWidth / 2, canvas.current!.clientHeight / 2];
    let [best, least] = [null as number | null, REACH * REACH];
    for (let n = 0; n < cloud.points; n++) {
      if (!states[n]) continue;
      const [px, py] = onto(view, cloud.places, n);
      const away = ((px - x) * wide) ** 2 + ((py - y) * tall) ** 2;
      if (away < least) [best, least] = [n, away];
    }
    return best;
  };
  const press = (event: PointerEvent) => {
    const shown = canvas.current!;
    const from = { x: event.clientX, y: event.clientY, camera: now.current };
    const drawn: Loop = [at(event)];
    shown.setPointerCapture(event.pointerId);
    const moved = (next: PointerEvent) => {
      const [dx, dy] = [next.clientX - from.x, next.clientY - from.y];
      if (lasso) {
        drawn.push(at(next));
        draw([...drawn]);
      } else if (cloud.dims === 3 && !next.shiftKey) {
        move({ ...now.current, yaw: from.camera.yaw + dx * TURN, pitch: Math.max(-1.5, Math.min(1.5, from.camera.pitch + dy * TURN)) });
      } else {
        const unit = (2 / Math.min(shown.clientWidth, shown.clientHeight)) / now.current.zoom;
        move({ ...now.current, x: from.camera.x - dx * unit, y: from.camera.y + dy * unit });
      }
    };
    const up = (last: PointerEvent) => {
      shown.removeEventListener("pointermove", moved);
      shown.removeEventListener("pointerup", up);
      shown.removeEventListener("pointercancel", up);
      draw([]);
      if (lasso && drawn.length > 2) choose(within(drawn));
      else if (Math.hypot(last.clientX - from.x, last.clientY - from.y) < 4) pick(nearest(at(last)));
    };
    shown.addEventListener("pointermove", moved);
    shown.addEventListener("pointerup", up);
    shown.addEventListener("pointercancel", up);
  };
  const within = (drawn: Loop): number[] => {
    const view = seen();
    const found: number[] = [];
    for (let n = 0; n < cloud.points; n++) if (states[n] && inside(drawn, ...onto(view, cloud.places, n))) found.push(n);
    return found;
  };
  const middles = useMemo(() => (named ? middlesOf(cloud, colouring, states) : []), [named, cloud, colouring, states]);
  const key = (event: KeyboardEvent) => {
    const flat = cloud.dims === 2;
    const by = STEP / camera.zoom;
    const steps: Record<string, Partial<Camera>> = {
      ArrowLeft: flat ? { x: camera.x - by } : { yaw: camera.yaw - STEP },
      ArrowRight: flat ? { x: camera.x + by } : { yaw: camera.yaw + STEP },
      ArrowUp: flat ? { y: camera.y + by } : { pitch: Math.max(-1.5, camera.pitch - STEP) },
      ArrowDown: flat ? { y: camera.y - by } : { pitch: Math.min(1.5, camera.pitch + STEP) },
      "+": { zoom: Math.min(200, camera.zoom * 1.25) },
      "-": { zoom: Math.max(0.1, camera.zoom / 1.25) },
      "0": START,
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    move({ ...camera, ...step });
  };
  const whole: Loop = [[-1, -1], [-1, 1], [1, 1], [1, -1]];
  if (broken) return <p class="trouble">This browser draws no WebGL 2. Search, and the counts below, work without it.</p>;
  return (
    <div class={`sky cloud${lasso ? " lasso" : ""}`}>
      <canvas ref={canvas} tabIndex={0} role="img" aria-label={`Map of ${cloud.points} memories. Arrows move it, plus and minus zoom, 0 shows all.`} onPointerDown={press} onKeyDown={key} />
      {canvas.current && placed(middles, seen(), canvas.current).map((each) => (
        <span key={each.kind} class={`cluster under-${each.kind}`} style={{ left: `${each.x}px`, top: `${each.y}px` }} aria-hidden="true">
          <Text of={colouring.names[each.kind]!} cut={32} />
        </span>
      ))}
      {loop.length > 1 && (
        <svg class="loop" viewBox="-1 -1 2 2" preserveAspectRatio="none" aria-hidden="true">
          <polygon points={loop.map(([x, y]) => `${x},${-y}`).join(" ")} />
        </svg>
      )}
      <div class="zoom">
        <button type="button" class="small" aria-label="Zoom in" onClick={() => move({ ...camera, zoom: Math.min(200, camera.zoom * 1.4) })}>
          +
        </button>
        <button type="button" class="small" aria-label="Zoom out" onClick={() => move({ ...camera, zoom: Math.max(0.1, camera.zoom / 1.4) })}>
          −
        </button>
        <button type="button" class="small" aria-label="Show all" onClick={() => move(START)}>
          ⤢
        </button>
        <button type="button" class="small" aria-label="Choose what is in the picture" onClick={() => choose(within(whole))}>
          ▢
        </button>
      </div>
    </div>
  );
}

interface Middle {
  kind: number;
  at: Float32Array;
  points: number;
}

/** The middle of all points of a colour that are drawn. */
function middlesOf(cloud: Cloud, { of, names }: Colours, states: Uint8Array): Middle[] {
  const made = names.map((_, kind) => ({ kind, at: new Float32Array(3), points: 0 }));
  for (let n = 0; n < cloud.points; n++) {
    const each = states[n] ? made[of[n]!] : undefined;
    if (!each) continue;
    each.points++;
    for (let axis = 0; axis < 3; axis++) each.at[axis]! += (cloud.places[3 * n + axis]! - each.at[axis]!) / each.points;
  }
  return made.filter((each) => each.points && names[each.kind]);
}

/** Where names stand in the picture, in pixels: at their middles, and none over another. */
function placed(middles: Middle[], view: Float32Array, { clientWidth, clientHeight }: HTMLCanvasElement): { kind: number; x: number; y: number }[] {
  const made: { kind: number; x: number; y: number }[] = [];
  const found = middles.map((each) => {
    const [x, y] = onto(view, each.at, 0);
    return { kind: each.kind, x: ((x + 1) / 2) * clientWidth, y: ((1 - y) / 2) * clientHeight };
  });
  for (const each of found.sort((a, b) => a.y - b.y)) {
    if (each.x < 0 || each.x > clientWidth || each.y < 0 || each.y > clientHeight) continue;
    const x = Math.min(Math.max(each.x, WIDE / 2), clientWidth - WIDE / 2);
    const above = made.filter((other) => Math.abs(other.x - x) < WIDE).map((other) => other.y + HIGH);
    made.push({ kind: each.kind, x, y: Math.max(each.y, ...above) });
  }
  return made;
}

/** From where a cloud of points is looked at. The same reckoning draws it, and finds what lies under the pointer. */
export interface Camera {
  x: number;
  y: number;
  zoom: number;
  yaw: number;
  pitch: number;
}
export const START: Camera = { x: 0, y: 0, zoom: 0.9, yaw: 0.5, pitch: 0.35 };
const FAR = 4; // distance of the eye, in widths of the cloud

export function parseCamera(text: string | null): Camera {
  const given = text?.split(",").map(Number) ?? [];
  if (given.length !== 5 || given.some((each) => !Number.isFinite(each))) return START;
  const [x, y, zoom, yaw, pitch] = given as [number, number, number, number, number];
  return { x, y, zoom: Math.min(200, Math.max(0.1, zoom)), yaw, pitch };
}
export const cameraText = (of: Camera): string => [of.x, of.y, of.zoom, of.yaw, of.pitch].map((each) => Number(each.toFixed(3))).join(",");

/** A matrix (columns first) from places to what WebGL clips; flat where there are two dimensions. */
export function matrix(of: Camera, dims: number, wide: number, tall: number): Float32Array {
  const least = Math.min(wide, tall);
  const sx = (of.zoom * least) / wide;
  const sy = (of.zoom * least) / tall;
  if (dims === 2) return new Float32Array([sx, 0, 0, 0, 0, sy, 0, 0, 0, 0, 0, 0, -of.x * sx, -of.y * sy, 0, 1]);
  const [cy, ny, cp, np] = [Math.cos(of.yaw), Math.sin(of.yaw), Math.cos(of.pitch), Math.sin(of.pitch)];
  // Turned about the upright axis, then tilted; the eye looks along −z from FAR.
  const right = [cy, 0, ny];
  const up = [ny * np, cp, -cy * np];
  const near = [-ny * cp, np, cy * cp];
  const f = FAR;
  const column = (n: 0 | 1 | 2) => [right[n]! * sx * f, up[n]! * sy * f, 0, -near[n]!];
  return new Float32Array([...column(0), ...column(1), ...column(2), -of.x * sx * f, -of.y * sy * f, 0, f]);
}

/** Where a point is on the picture, from −1 to 1 both ways. */
export function onto(m: Float32Array, places: Float32Array, n: number): [number, number] {
  const [x, y, z] = [places[3 * n]!, places[3 * n + 1]!, places[3 * n + 2]!];
  const w = m[3]! * x + m[7]! * y + m[11]! * z + m[15]!;
  return [(m[0]! * x + m[4]! * y + m[8]! * z + m[12]!) / w, (m[1]! * x + m[5]! * y + m[9]! * z + m[13]!) / w];
}

export type Loop = [number, number][];
/** Whether a point is inside a loop that was drawn. */
export function inside(loop: Loop, x: number, y: number): boolean {
  let within = false;
  for (let n = 0, before = loop.length - 1; n < loop.length; before = n++) {
    const [ax, ay] = loop[n]!;
    const [bx, by] = loop[before]!;
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}

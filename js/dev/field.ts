/** Made-up activations: smooth fields that look like what a convolutional net sees. Deterministic. */

/** A number in [0, 1) from three integers. */
export function noise(a: number, b: number, c: number): number {
  let h = Math.imul(a + 1, 374761393) ^ Math.imul(b + 1, 668265263) ^ Math.imul(c + 1, 2246822519);
  h = Math.imul(h ^ (h >>> 13), 1274126177);
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32;
}

/** Noise between grid points of `cells` per side, in [−1, 1]. */
function smooth(u: number, v: number, cells: number, seed: number): number {
  const [x, y] = [u * cells, v * cells];
  const [i, j] = [Math.floor(x), Math.floor(y)];
  const ease = (t: number): number => t * t * (3 - 2 * t);
  const [fx, fy] = [ease(x - i), ease(y - j)];
  const at = (di: number, dj: number): number => noise(i + di, j + dj, seed) * 2 - 1;
  const upper = at(0, 0) + (at(1, 0) - at(0, 0)) * fx;
  const lower = at(0, 1) + (at(1, 1) - at(0, 1)) * fx;
  return upper + (lower - upper) * fy;
}

/** A landscape: sky, sun, hills and a house, as RGB in [0, 1]. */
export function photo(u: number, v: number): readonly [number, number, number] {
  const hill = 0.62 + 0.07 * Math.sin(u * 7 + 1) + 0.02 * smooth(u, 0, 24, 3);
  const grain = 0.03 * smooth(u, v, 90, 5);
  if (Math.hypot(u - 0.74, v - 0.24) < 0.11) return [0.98 + grain, 0.8 + grain, 0.35];
  const house = u > 0.2 && u < 0.42 && v > 0.46 && v < 0.72;
  const roof = v > 0.34 && v <= 0.46 && Math.abs(u - 0.31) < (v - 0.34) * 1.25;
  if (roof) return [0.55 + grain, 0.2, 0.16];
  if (house) {
    const window = (u > 0.24 && u < 0.29 && v > 0.51 && v < 0.58) || (u > 0.34 && u < 0.38 && v > 0.58);
    return window ? [0.2, 0.24, 0.34] : [0.86 + grain, 0.78 + grain, 0.66];
  }
  if (v > hill) {
    const grass = 0.5 + 0.25 * smooth(u, v, 40, 7);
    return [0.22 + 0.2 * grass, 0.38 + 0.3 * grass, 0.16];
  }
  const cloud = Math.max(0, smooth(u, v * 2, 6, 11)) * 0.5;
  return [0.42 + 0.3 * v + cloud * 0.4, 0.62 + 0.2 * v + cloud * 0.3, 0.86];
}

const grey = (u: number, v: number): number => {
  const [r, g, b] = photo(u, v);
  return 0.3 * r + 0.59 * g + 0.11 * b - 0.55;
};

/**
 * The value of a channel at a place. `depth` 0 sees edges of the photo, 1 only blobs of its own; `rectified` has no
 * negative values.
 */
export function activation(u: number, v: number, channel: number, depth: number, rectified: boolean): number {
  const angle = noise(channel, 1, 17) * Math.PI;
  const reach = 0.006 + 0.03 * noise(channel, 2, 17) + 0.02 * depth;
  const [dx, dy] = [Math.cos(angle) * reach, Math.sin(angle) * reach];
  const edge = (grey(u + dx, v + dy) - grey(u - dx, v - dy)) * 3 + grey(u, v) * (noise(channel, 3, 17) - 0.5) * 3;
  const blob = smooth(u, v, 3 + 5 * noise(channel, 4, 17), channel + 31) + 0.6 * smooth(u, v, 14, channel + 61);
  const value = (1 - depth) * edge + depth * blob * 1.4 + 0.08 * smooth(u, v, 120, channel + 91);
  return rectified ? Math.max(0, value - 0.12) : value;
}

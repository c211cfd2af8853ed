/** A bar from `y`, downwards if its height is positive. */
type Bar = Readonly<Record<'x' | 'y' | 'width' | 'height', number>>;

/** Returns a path of one bar for each item. A bar that is not 0 has at least two pixels. */
export function bars<Item>(items: readonly Item[], barOf: (item: Item) => Bar): string {
  return items
    .map(barOf)
    .filter(({ height }) => height !== 0)
    .map(({ x, y, width, height }) => {
      const tall = Math.sign(height) * Math.max(2, Math.abs(height));
      return `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${tall.toFixed(1)}h-${width.toFixed(1)}z`;
    })
    .join('');
}

/** Returns up to four round whole numbers from 1 to a maximum, evenly apart. */
export function niceSteps(most: number): number[] {
  const rough = Math.max(1, most / 2.2);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [5, 2, 1].find((factor) => factor * power <= rough)! * power;
  return Array.from({ length: Math.floor(most / step) }, (_, index) => step * (index + 1));
}

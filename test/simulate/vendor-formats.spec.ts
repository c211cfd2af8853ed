import { describe, expect, it } from '@jest/globals';
import { FORMAT, readerFor, type Format } from '../../lib/simulate/input/formats.js';
import { vendorLines } from './vendor-lines.js';

/** Returns the request in the last line. */
function read(lines: readonly string[], by: string, format?: string) {
  const reader = readerFor('a.log', lines, { by: [by], map: {}, format: format as Format | undefined });
  return lines.map((line) => reader.read(line)).at(-1);
}

describe('a line that a vendor documents', () => {
  it.each(vendorLines)('has its client, time and path in the format $format ($source)', (vendor) => {
    const { ip, path, agent } = vendor;
    for (const [by, subject] of Object.entries({ ip, path, ...(agent && { 'user-agent': agent }) })) {
      expect(read(vendor.lines, by, vendor.format)).toMatchObject({ subject });
    }
    const { time: at } = read(vendor.lines, 'everyone', vendor.format) as { time: number };
    expect(new Date(at / 1000).toISOString()).toBe(vendor.time);
  });

  it.each(vendorLines.filter(({ isChosen }) => !isChosen))(
    'is detected as $format ($source)',
    ({ lines, ip }) => {
      expect(read(lines, 'ip')).toMatchObject({ subject: ip });
    },
  );

  it('is there for each format of --format, apart from those of any program', () => {
    const usual = ['"combined"', '"json"', '"csv"'];
    const documented = [...new Set(vendorLines.map(({ format }) => `"${format}"`)), ...usual];
    expect(FORMAT.allowed.split(', ').sort()).toEqual(documented.sort());
  });
});

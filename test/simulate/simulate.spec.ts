import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runScript } from '../docs/run-script.js';
import { pathOf } from '../readme/code-blocks.js';
import type { Simulation } from '../../lib/simulate/simulate.js';

const START = Date.UTC(2025, 9, 10, 0, 0, 0);
const MINUTES = 10;
const CLIENTS = 40;

let folder: string;
let log: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'simulate-'));
  log = write('access.log', LINES.join(''));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * In each of 10 minutes, the nth of 40 clients sends n requests at the start of the minute. With a limit of 30 in a
 * fixed window, the clients 31 to 40 are denied 1 to 10 requests a minute: 55 of 820.
 */
const LINES = Array.from({ length: MINUTES }, (_, minute) =>
  Array.from({ length: CLIENTS }, (_each, n) =>
    line(START + minute * 60_000, `203.0.113.${n + 1}`).repeat(n + 1),
  ),
).flat();

function line(time: number, ip: string): string {
  const [day, hours] = new Date(time).toISOString().slice(8, 19).split('T') as [string, string];
  return `${ip} - - [${day}/Oct/2025:${hours} +0000] "GET /?a HTTP/1.1" 200 5 "-" "curl/8"\n`;
}

function write(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const simulate = (...args: string[]) => runScript('dist/esm/cli.js', 'simulate', ...args);

async function result(...args: string[]): Promise<Simulation> {
  return JSON.parse(await simulate(...args, '--json')) as Simulation;
}

/** Runs the command with an input. */
async function piped(input: string | Buffer, ...args: string[]): Promise<Simulation> {
  const child = spawn(process.execPath, [pathOf('dist/esm/cli.js'), 'simulate', '-', ...args, '--json']);
  child.stdin.end(input);
  let output = '';
  for await (const chunk of child.stdout) output += String(chunk);
  return JSON.parse(output) as Simulation;
}

const RULE = ['--rule', '30/1m fixed-window align=clock'];
const KNOWN = {
  ...{ requests: 8200, allowed: 7650, delayed: 0, denied: 550, clients: 40, clientsDenied: 10 },
  worstSecond: { at: '2025-10-10T00:00:00.000Z', denied: 55 },
};

describe('npx nestjs-redis-rate-limit simulate', () => {
  it('counts what a rule denies', async () => {
    const { rules, ...found } = await result(log, ...RULE, '--rule', '40/1m', '--rule', '0/1m');
    expect(found).toMatchObject({
      ...{ lines: 8200, requests: 8200, malformed: 0, withoutSubject: 0, late: 0, dropped: 0 },
      ...{ from: '2025-10-10T00:00:00.000Z', to: '2025-10-10T00:09:00.000Z', suggestions: [] },
    });
    expect(rules.map(({ denied }) => denied)).toEqual([550, 0, 8200]);
    expect(rules[0]).toMatchObject(KNOWN);
    expect(rules[0]!.worstClients.slice(0, 2)).toEqual([
      { client: '203.0.113.40', requests: 400, denied: 100 },
      { client: '203.0.113.39', requests: 390, denied: 90 },
    ]);
  });

  it('prints a table', async () => {
    const rows = (await simulate(log, ...RULE)).split('\n');
    expect(rows[0]).toContain('access.log: 8,200 requests of 40 clients (--by ip), 2025-10-10 00:00:00 UTC');
    expect(rows[3]!.split(/ {2,}/)).toEqual([
      ...['30/1m fixed-window align=clock', '7,650', '550', '6.71 %', '10 of 40'],
      ...['203.0.113.40 (100 of 400)', '2025-10-10 00:00:00 UTC (55)'],
    ]);
  });

  it('counts requests that leaky-bucket delays', async () => {
    const { rules } = await result(log, '--rule', '60/1m leaky-bucket queue=9');
    // Of n requests at once, the first proceeds, up to nine are delayed, and the rest is denied.
    expect(rules[0]).toMatchObject({ delayed: 10 * (45 + 30 * 9), denied: 10 * 465 });
  });

  it('reads several files in the order of their times, whatever the order of the arguments', async () => {
    const half = LINES.length / 2;
    const newer = write('newer.log', LINES.slice(half).join(''));
    const older = write('older.log.gz', gzipSync(LINES.slice(0, half).join('')));
    const { late, rules } = await result(newer, older, ...RULE);
    expect(late).toBe(0);
    expect(rules[0]).toMatchObject(KNOWN);
  });

  it('reads the standard input, gzip of several members, JSON lines and CSV', async () => {
    expect((await piped(LINES.join(''), ...RULE)).rules[0]).toMatchObject(KNOWN);
    const half = LINES.length / 2;
    const members = [LINES.slice(0, half), LINES.slice(half)].map((part) => gzipSync(part.join('')));
    expect((await piped(Buffer.concat(members), ...RULE)).rules[0]).toMatchObject(KNOWN);
    const requests = LINES.join('')
      .trim()
      .split('\n')
      .map((text) => ({
        addr: text.split(' ')[0]!,
        at: START + Number(/:(\d\d):00 /.exec(text)![1]) * 60_000,
      }));
    const json = requests.map(({ addr, at }) => JSON.stringify({ ts: at, client: { addr } })).join('\n');
    const mapped = ['--map', 'ip=client.addr,time=ts'];
    expect((await piped(json, ...mapped, ...RULE)).rules[0]).toMatchObject(KNOWN);
    const csv = ['time,ip', ...requests.map(({ addr, at }) => `${new Date(at).toISOString()},${addr}`)].join(
      '\r\n',
    );
    expect((await piped(csv, ...RULE)).rules[0]).toMatchObject(KNOWN);
  });

  it('counts a line with a time in the future as malformed, so that it does not decide the later lines', async () => {
    const log = write('future.log', LINES.toSpliced(10, 0, LINES[0]!.replace('2025', '9999')).join(''));
    const found = await result(log, '--rule', '30/1m fixed-window');
    expect(found).toMatchObject({ lines: 8201, malformed: 1, requests: 8200, late: 0 });
    expect(found.rules[0]).toMatchObject({ denied: 550 });
    expect(found.firstMalformed[0]).toMatchObject({ text: expect.stringContaining('9999') });
  });

  it('counts malformed lines, requests without a subject and lines out of order', async () => {
    const broken = write(
      'broken.log',
      [
        'nonsense\n',
        line(START + 5000, '1.1.1.1'),
        '\u0000\u001b[2J\n',
        '\n',
        line(START, '1.1.1.1'),
        'end',
      ].join(''),
    );
    const { firstMalformed, ...found } = await result(broken, '--rule', '1/1s');
    expect(found).toMatchObject({ lines: 5, malformed: 3, requests: 2, late: 1, latestBySeconds: 5 });
    expect(firstMalformed.map(({ line, text }) => [line, text])).toEqual([
      [1, 'nonsense'],
      [3, '\u0000\u001b[2J'],
      [6, 'end'],
    ]);
    expect(found.rules[0]).toMatchObject({ allowed: 1, denied: 1 });
    const printed = await simulate(broken, '--rule', '1/1s', '--by', 'ip');
    expect(printed).toContain('3 malformed lines were skipped:');
    expect(printed).toContain('broken.log:3: \\u0000\\u001b[2J');
    await expect(simulate(broken, '--rule', '1/1s', '--by', 'user')).rejects.toThrow(
      'no request in 5 lines: 3 malformed, 2 without user',
    );
  });

  it('warns that one private address sends nearly everything, and names the field with the forwarded address', async () => {
    const proxied = LINES.map((text) => text.replaceAll(/^(\S+)(.*)\n/gm, '10.0.0.1$2 "$1"\n')).join('');
    const log = write('proxied.log', proxied);
    const warning =
      'Warning: 10.0.0.1, a private address, sent 100.00 % of the requests. It is probably a proxy; its clients are in the field x-forwarded-for: write --map ip=x-forwarded-for';
    expect(await simulate(log, ...RULE)).toContain(warning);
    expect((await result(log, ...RULE, '--map', 'ip=x-forwarded-for')).rules[0]).toMatchObject(KNOWN);
    const { rules, proxy } = await result(log, ...RULE, '--format', 'nginx-forwarded');
    expect({ proxy, ...rules[0] }).toMatchObject({ proxy: null, ...KNOWN });
  });

  it('asks for no --map of a field that the log has without values', async () => {
    const line = '203.0.113.1 - - [10/Oct/2025:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"';
    const message = 'no request in 1 lines: 0 malformed, 1 without user';
    const read = simulate(write('no-user.log', `${line}\n`), '--by', 'user', ...RULE);
    await expect(read).rejects.toThrow(
      new RegExp(`${message}.* fields .*user.*; check --format, --map and --by`),
    );
  });

  it('shows the fields of a log that it cannot read, and the --map that reads it', async () => {
    const json = '{"when":"2025-10-10T00:00:00Z","peer":{"addr":"203.0.113.7"},"ms":12}\n';
    const fields = 'the log has the fields when, peer.addr, ms; write --map time=when,ip=peer.addr';
    await expect(simulate(write('odd.json', json), ...RULE)).rejects.toThrow(fields);
    const map = ['--map', 'time=when,ip=peer.addr'];
    expect(await result(join(folder, 'odd.json'), ...RULE, ...map)).toMatchObject({ requests: 1 });
  });

  it('asks for another --format, not for a --map, if no line has the format', async () => {
    const csv = write('other.csv', 'time;ip\n2025-10-10T00:00:00Z;203.0.113.7\n');
    const read = simulate(csv, '--format', 'combined', ...RULE);
    await expect(read).rejects.toThrow(
      /\(not a line of this format\); no line has this format; check --format\s*$/,
    );
  });

  it('suggests limits that a replay confirms', async () => {
    const { suggestions } = await result(log, '--suggest', '1%', '--rule', '30/1m');
    expect(suggestions).toHaveLength(7);
    const fixed = suggestions.find(({ algorithm }) => algorithm === 'fixed-window');
    // A limit of 36 denies 1 + 2 + 3 + 4 requests a minute, and 82 may be denied in 10 minutes.
    expect(fixed).toMatchObject({ limit: 37, denied: 60 });
    const limits = suggestions.flatMap(({ rule, limit }) => [
      rule,
      rule.replace(String(limit), String(limit! - 1)),
    ]);
    const { rules } = await result(log, ...limits.flatMap((rule) => ['--rule', rule]));
    for (const [index, suggestion] of suggestions.entries()) {
      const [own, less] = rules.slice(index * 2, index * 2 + 2);
      expect(own).toMatchObject({ denied: suggestion.denied, clientsDenied: suggestion.clientsDenied });
      expect(own!.denied).toBeLessThanOrEqual(82);
      expect(less!.denied).toBeGreaterThan(82);
    }
  });

  it('keeps to its memory with many clients', async () => {
    const many = Array.from({ length: 5000 }, (_, n) => line(START + n * 1000, `10.0.${n >> 8}.${n & 255}`));
    const { dropped, rules } = await result(
      write('many.log', many.join('')),
      '--rule',
      '1/1s',
      '--max-clients',
      '100',
    );
    expect(dropped).toBeGreaterThan(4900);
    expect(rules[0]).toMatchObject({ clients: 5000, denied: 0 });
  });

  it('writes an HTML report', async () => {
    const html = join(folder, 'report.html');
    await simulate(log, ...RULE, '--suggest', '1%clients', '--html', html);
    expect(readFileSync(html, 'utf8')).toMatch(/<svg .*203\.0\.113\.40.*Smallest limits .* 1 % of clients/s);
  });

  it('does not overwrite a log or another file with the report, and names a missing folder before it reads a log', async () => {
    const copy = write('copy.log', LINES.join(''));
    await expect(simulate(copy, ...RULE, '--html', copy)).rejects.toThrow(
      'allowed: another file than the log',
    );
    await expect(simulate(log, ...RULE, '--html', copy)).rejects.toThrow(
      'allowed: a new file, or an earlier report',
    );
    expect(readFileSync(copy, 'utf8')).toBe(LINES.join(''));
    for (const place of [join(folder, 'none'), copy]) {
      await expect(simulate('none.log', ...RULE, '--html', join(place, 'report.html'))).rejects.toThrow(
        'allowed: a file in a folder that exists',
      );
    }
    const html = join(folder, 'again.html');
    for (let time = 0; time < 2; time += 1) await simulate(log, ...RULE, '--html', html);
  });

  it('finds no subject in nested lists, however deep', async () => {
    const nested = '['.repeat(50_000) + '1' + ']'.repeat(50_000);
    const input = `{"time":1760000000,"ip":"203.0.113.1"}\n{"time":1760000000,"ip":${nested}}\n`;
    expect(await piped(input, ...RULE)).toMatchObject({ requests: 1, withoutSubject: 1 });
  });

  it.each([
    [['none.log', ...RULE], 'none.log: cannot be read: ENOENT'],
    [['-', '--rule', '100'], '--rule: got "100": write "100/1m"; allowed: limit/window'],
    [
      ['-', ...RULE, '--sugest', '1%'],
      '--sugest: no such option: did you mean "--suggest"?; allowed: --by, --rule',
    ],
    [['-', '--suggest', '0.1'], '--suggest: got "0.1": write "0.1%"; allowed: a share from 0% to 100%'],
    [['-', ...RULE, '--format', 'xml'], '--format: got "xml"; allowed: "haproxy", "syslog", "alb"'],
    [['-', ...RULE, '--map', 'ip'], '--map: got "ip"; allowed: name=field'],
    [['-', ...RULE, '--max-clients', '0'], '--max-clients: got "0"; allowed: an integer from 1'],
    [['-'], `no rule; write --rule '100/1m', or --suggest 0.1% for a limit`],
    [RULE, 'no log to read; write its path, or "-" for the standard input'],
  ])('names what is wrong with its arguments: %j', async (args, message) => {
    await expect(simulate(...args)).rejects.toThrow(message);
  });
});

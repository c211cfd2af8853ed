import { describe, expect, it } from '@jest/globals';
import type { Simulation } from '../simulate.js';
import { htmlReport } from './html-report.js';
import { textReport } from './text-report.js';

const HOSTILE = '<script>alert("x")</script>\u202e&\u0007';

const simulation: Simulation = {
  ...{ files: [HOSTILE], by: HOSTILE, lines: 9, malformed: 1, withoutSubject: 2, requests: 6, late: 1 },
  ...{ latestBySeconds: 3, from: '2025-10-10T00:00:00.000Z', to: '2025-10-10T00:00:09.000Z', dropped: 0 },
  firstMalformed: [{ file: HOSTILE, line: 4, text: HOSTILE, reason: HOSTILE }],
  ...{ fields: '', proxy: null },
  rules: [
    {
      ...{ rule: '1/1m gcra', algorithm: 'gcra', requests: 6, allowed: 5, delayed: 0, denied: 1, clients: 2 },
      ...{ clientsDenied: 1, worstClients: [{ client: HOSTILE, requests: 6, denied: 1 }] },
      worstSecond: { at: '2025-10-10T00:00:05.000Z', denied: 1 },
      timeline: [{ start: 1_760_054_400, seconds: 1, allowed: 5, delayed: 0, denied: 1 }],
    },
  ],
  suggestions: [{ algorithm: 'gcra', rule: '2/1m gcra', limit: 2, denied: 0, clientsDenied: 0 }],
};

describe('the HTML report', () => {
  const html = htmlReport(simulation, { share: 0.001, of: 'requests' });

  it('shows text of the log as text', () => {
    expect(html).not.toMatch(/<script|\p{Cf}/u);
    expect(
      html.match(/&#60;script&#62;alert\(&#34;x&#34;\)&#60;\/script&#62;\\u202e&#38;\\u0007/g)!.length,
    ).toBe(7);
  });

  it('requests nothing', () => {
    expect(html).not.toMatch(/https?:|src=|url\(|<link|@import/);
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
  });

  it('has a chart of each rule', () => {
    expect(html.match(/<svg /g)).toHaveLength(1);
    expect(html).toContain('2025-10-10 00:00:00 UTC, 1 s: 5 allowed, 0 delayed, 1 denied');
  });

  it('has axes with the number of requests and the time', () => {
    const labels = [...html.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, label]) => label);
    expect(labels).toEqual(['0', '3', '6', '00:00:00', '00:00:01']);
  });

  it('says in one sentence which limit is suggested, and why that one', () => {
    expect(html).toContain(
      'Suggested limit: 2 requests in 1 minute for each client, the smallest one that denies at most 0.1 % of requests: in this log it denies 0 of 6 requests (0.00 %), of 0 clients.',
    );
  });
});

describe('the text report', () => {
  it('has a row for each rule and each suggestion, and what was not decided', () => {
    const name = '<script>alert("x")</script>\\u202e&\\u0007';
    expect(textReport(simulation, { share: 0.001, of: 'requests' }).split('\n')).toEqual([
      `${name}: 6 requests of 2 clients (--by ${name}), 2025-10-10 00:00:00 UTC to 2025-10-10 00:00:09 UTC`,
      '',
      'rule       allowed  denied           clients denied  worst client                                       worst second',
      `1/1m gcra  5        1       16.67 %  1 of 2          ${name} (1 of 6)  2025-10-10 00:00:05 UTC (1)`,
      '',
      'Smallest limits that deny at most 0.1 % of requests:',
      'rule       denied          clients denied',
      '2/1m gcra  0       0.00 %  0',
      '',
      '1 malformed line was skipped:',
      `  ${name}:4: ${name} (${name})`,
      `2 requests without ${name} were not decided.`,
      '1 line is out of order, up to 3 s: decided at the largest time before them.',
    ]);
  });
});

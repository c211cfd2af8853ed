import { h } from 'preact';
import { useState } from 'preact/hooks';
import { pathsOf, ticksOf, xOf } from '../../replay/lane.js';
import type { ExplainedRule, Explanation, RecordedRequests } from '../../nest/explanation.js';
import type { NamedSubject, Snapshot } from '../snapshot.js';
import { findings, openDialog, searchForm, useReading } from './dialog.js';
import { openEditor } from './edit-dialog.js';
import { button, clientText, figure, row, table } from './elements.js';
import { clock, count, counted, date, duration, visible } from './figures.js';
import { post } from './request.js';

type ShownExplanation = Explanation<NamedSubject>;
type ShownResult = ExplainedRule<NamedSubject>;

/** Opens the dialog that explains a denial by its id. */
export function openExplainer(snapshot: Snapshot): void {
  openDialog('Why was a request denied?', (close) => h(Explainer, { snapshot, close }));
}

function Explainer({ snapshot, close }: { snapshot: Snapshot; close: () => void }) {
  const [found, setFound] = useState<ShownExplanation>();
  const [status, reading] = useReading('');
  const explain = (id: string) => {
    setFound(undefined);
    const run = async () => {
      const explanation = await post<ShownExplanation>('explain', { id });
      setFound(explanation);
      return [deniedText(explanation), explanation.problem].filter(Boolean).join(' ');
    };
    void reading(run, 'Asking the processes…');
  };
  const texts = ['The id of the denial, as in the instance of the response', 'Explain'];
  const form = searchForm('denial', texts, explain);
  return findings({ close, form, status: visible(status), label: 'The explanation' }, [
    found && found.rules.length > 0 && resultsTable(found.rules),
    found?.rules.map((each) => each.recorded && requestsOf(each, each.recorded, found.at!, snapshot)),
  ]);
}

function deniedText({ at, process }: ShownExplanation): string {
  if (at === undefined || !process) return '';
  return `Denied on ${date(at)}, at ${clock(at)}, by process ${process.pid} of ${process.host}.`;
}

function resultsTable(rules: readonly ShownResult[]) {
  const heads = ['Rule', 'Subject', 'Result', 'Permits left', 'Decided by', 'Live change'];
  return table({ caption: 'What each rule decided', heads, figures: [3, 4] }, rules.map(resultRow));
}

function resultRow(each: ShownResult) {
  const { rule, route, subject, remaining, limit, source, fallback, change, exception } = each;
  const cells = [
    clientText(subject.subject),
    resultText(each),
    figure(`${count(remaining)} of ${count(limit)}`),
    fallback === undefined ? source : `${source}: ${fallback}`,
    clientText([change, exception].map(changeText).filter(Boolean).join('; ')),
  ];
  return row(clientText(route === undefined ? rule : `${rule}, ${route}`), cells, { key: rule });
}

function resultText({ allowed, shadow, retryAfterMs }: ShownResult): string {
  if (allowed) return 'allowed';
  const wait =
    retryAfterMs === null ? 'waiting does not help' : `allowed again after ${duration(retryAfterMs)}`;
  return `${shadow ? 'would deny' : 'denied'}; ${wait}`;
}

function changeText(change: ShownResult['change']): string {
  if (!change) return '';
  const { version, by, reason, at, fields } = change;
  const who = [by && `by ${by}`, at && date(at)].filter(Boolean).join(', ');
  return `version ${version} ${who}: ${JSON.stringify(fields)}${reason ? ` (${reason})` : ''}`;
}

/** The requests of a subject before the denial, and the dialogs that change its limit. */
function requestsOf(each: ShownResult, recorded: RecordedRequests, at: number, { rules }: Snapshot) {
  const { rule, subject } = each;
  const shown = rules.find((known) => known.rule === rule);
  const edit = (text: string, filled: object) =>
    shown?.editable && button(text, () => openEditor(shown, { end: '1h', ...filled }));
  return h('section', { key: rule }, [
    h('h3', null, 'Requests of ', clientText(subject.subject), ` under ${visible(rule)}`),
    timeline(recorded, at),
    h('p', null, recordedText(recorded)),
    h('div', { class: 'tools' }, [
      edit('Change the limit of this subject', { subject }),
      edit('Change the limit of all', {}),
    ]),
  ]);
}

function recordedText({ share, isWhole, requests }: RecordedRequests): string {
  const number = (wanted: string) =>
    requests.reduce((sum, { outcome, count: of }) => sum + (outcome === wanted ? of : 0), 0);
  const of = `${counted(number('allowed'), 'request')} allowed and ${count(number('denied'))} denied`;
  const subjects = share < 1 ? `recorded: 1 subject in ${count(1 / share)}` : 'recorded: all subjects';
  const since = isWhole ? 'this one' : 'this one only from its first denial in each process';
  return `${of} (${share < 1 ? `${subjects}, ${since}` : subjects}).`;
}

const LANE = { width: 700, above: 62, below: 14 };
const LONGEST_MS = 600_000;

/** The requests in the drawing of the playground, until the denial. */
function timeline({ requests }: RecordedRequests, at: number) {
  const shown = requests.filter((each) => at - each.at < LONGEST_MS);
  const start = Math.min(at - 1000, ...shown.map((each) => each.at)) - 1000;
  const lane = { ...LANE, seconds: (at - start) / 1000 };
  const drawn = shown.map(({ at, outcome }) => ({ at: (at - start) * 1000, goesAt: 0, outcome }));
  const { allowed, denied } = pathsOf(drawn, lane);
  const tick = (seconds: number) =>
    h('text', { x: xOf(lane, seconds * 1e6), y: 92 }, clock(start + seconds * 1000));
  const ticks = ticksOf({ ...lane, width: LANE.width / 2 }).slice(0, -1);
  const label = 'The requests before the denial';
  return h('svg', { class: 'timeline', viewBox: '0 0 704 96', role: 'img', 'aria-label': label }, [
    h('path', { class: 'line', d: `M0 62.5H${LANE.width}` }),
    h('path', { class: 'bar allowed', d: allowed }),
    h('path', { class: 'bar denied', d: denied }),
    ticks.map(tick),
  ]);
}

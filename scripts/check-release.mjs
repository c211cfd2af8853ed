// Refuses to publish while project.json, the only file with the place of the repository, lacks a value or has a
// placeholder, or while another file has another place. npm runs it before each publish.
//
//   node scripts/check-release.mjs           checks
//   node scripts/check-release.mjs --write   first writes the place into package.json, CODEOWNERS and SECURITY.md
import { readFileSync, writeFileSync } from 'node:fs';

const FIELDS = {
  repository: 'the https address of the repository, without .git',
  homepage: 'the https address that npm shows',
  bugs: 'the https address of the issues',
  site: 'the https address of the documentation site',
  owners: 'a list of GitHub names that start with @',
  security: 'the https address or the mail address for reports of vulnerabilities',
};
const PLACEHOLDER =
  /[<>{}\s]|\bexample\b|placeholder|todo|tbd|changeme|your[-_]|\/owner\b|@owner\b|localhost/i;
const CONTACT = /(<!-- contact -->).*(<!-- end of contact -->)/s;
const OWNERS = '.github/CODEOWNERS';

const read = (path) => readFileSync(path, 'utf8');
const place = JSON.parse(read('project.json'));

const isAddress = (text) => typeof text === 'string' && /^https:\/\/[\w-]+(\.[\w-]+)+(\/.*)?$/.test(text);
const isMail = (text) => typeof text === 'string' && /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/.test(text);
const isOwners = (list) =>
  Array.isArray(list) && list.length > 0 && list.every((name) => /^@[\w/-]+$/.test(name));
const isValid = (name, value) =>
  name === 'owners' ? isOwners(value) : isAddress(value) || (name === 'security' && isMail(value));

/** The problems of project.json itself. */
const problems = Object.entries(FIELDS)
  .filter(
    ([name]) => !isValid(name, place[name]) || [place[name]].flat().some((text) => PLACEHOLDER.test(text)),
  )
  .map(([name, allowed]) => `project.json: ${name} is ${JSON.stringify(place[name])}; allowed: ${allowed}`);

/** What each file has to say. */
const manifest = (text) => {
  const { repository, homepage, bugs } = place;
  const fields = { repository: { type: 'git', url: `git+${repository}.git` }, homepage, bugs: { url: bugs } };
  return `${JSON.stringify({ ...JSON.parse(text), ...fields }, null, 2)}\n`;
};
const written = {
  'package.json': manifest,
  [OWNERS]: (text) =>
    `${text
      .split('\n')
      .filter((line) => line.startsWith('#'))
      .join('\n')}\n* ${place.owners.join(' ')}\n`,
  'SECURITY.md': (text) =>
    text.replace(
      CONTACT,
      (_, start, end) => `${start}\nReport a vulnerability to ${place.security}.\n${end}`,
    ),
};
if (problems.length === 0) {
  for (const [path, change] of Object.entries(written)) {
    const text = read(path);
    if (change(text) === text) continue;
    if (process.argv.includes('--write')) writeFileSync(path, change(text));
    else
      problems.push(
        `${path}: has another place than project.json; run node scripts/check-release.mjs --write`,
      );
  }
}
if (problems.length > 0) {
  console.error(`Not ready to publish:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  process.exitCode = 1;
}

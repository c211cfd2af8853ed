// Writes docs/reference.md: every export of lib/index.ts and of the files of the other subpaths with its doc comment, in the order of those files. Their `// Title` comments become headings. Types in signatures that are not exported follow. Fails if a doc comment is missing.
//
//   node scripts/write-reference.mjs           writes the page
//   node scripts/write-reference.mjs --print   prints it instead
//   node scripts/write-reference.mjs --report  prints it without the comments: the report of the public API
//
// The report is in test/compiler/api-report.md, and changes only with the names and signatures of the package.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';
import ts from 'typescript';
import * as api from './public-api.mjs';

const PAGE = fileURLToPath(new URL('../docs/reference.md', import.meta.url));
const REPORT = fileURLToPath(new URL('../test/compiler/api-report.md', import.meta.url));
/** Whether comments are left out. */
let isReport = process.argv.includes('--report');
const INTRODUCTION = `# Reference

Every export of the package, written from its types by \`npm run docs\`. A name with \`?\` is optional.`;

const UNEXPORTED =
  "These types are not exported. Where you need the name of one, reach it by index: `RateLimitModuleOptions['headers']`, `Parameters<RateLimitService['consume']>[2]`.";

const problems = new Set();
/** The documented symbols by name: those that are exported, and the types in their signatures. */
const documented = new Map(api.exported);
const code = (text) => `\`\`\`ts\n${text}\n\`\`\``;
const linkTo = (title) =>
  `#${title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')}`;
const nameOf = (name) => (documented.has(name) ? `[\`${name}\`](${linkTo(name)})` : `\`${name}\``);

const isMethod = ({ declarations: [node] }) => ts.isMethodDeclaration(node) || ts.isMethodSignature(node);
/** The name in source code, such as `[Symbol.asyncDispose]`. */
const nameOfMember = ({ declarations: [{ name }] }) => name.getText();
const isOverride = ({ declarations: [node] }) => ts.hasOverrideModifier(node);

/** The section of an exported name. */
function describe(name) {
  const symbol = documented.get(name);
  const [node] = symbol.declarations;
  const text = [`### ${name}`, ...comment(symbol, name)];
  if (ts.isTypeAliasDeclaration(node)) return [...text, ...alias(symbol, node)];
  if (ts.isFunctionDeclaration(node)) return [text[0], code(signature(symbol, name)), ...text.slice(1)];
  if (ts.isInterfaceDeclaration(node)) return [...text, ...members(api.membersOf(symbol), name)];
  return ts.isClassDeclaration(node) ? [...text, ...classMembers(symbol, name)] : text;
}

/** A type that consists of names that are not exported is described by the values it allows. */
function alias(symbol, node) {
  noteInterfaces(node.type);
  const [literals, algorithms] = [api.literalsOf(symbol), api.algorithmsOf(symbol)];
  if (literals.length > 0)
    return [code(`type ${symbol.name} = ${literals.map((each) => `'${each}'`).join(' | ')};`)];
  if (api.hiddenIn(node.type).size === 0) return [code(node.getText().replace('export ', ''))];
  return algorithms.length > 0 ? [`Algorithms: ${algorithms.map((each) => `\`${each}\``).join(', ')}.`] : [];
}

/** Methods without a comment implement an interface, or override a method that has one. */
function classMembers(symbol, name) {
  const constructor = api.constructorOf(symbol);
  const own = api.membersOf(symbol);
  const overrides = own.filter((each) => isMethod(each) && !api.hasComment(each) && isOverride(each));
  return [
    ...(constructor ? method(constructor, name, `new ${name}`) : []),
    ...members(own.filter(api.hasComment), name),
    ...(overrides.length > 0 ? [code(overrides.map((each) => signature(each, each.name)).join('\n'))] : []),
  ];
}

/** Writes fields as a list, then methods. */
function members(all, owner) {
  const fields = all.filter((each) => !isMethod(each)).map((each) => field(each, `${owner}.${each.name}`));
  const methods = all.filter(isMethod).flatMap((each) => method(each, owner, nameOfMember(each)));
  return [fields.join('\n'), ...methods];
}

function field(symbol, path) {
  const [node] = symbol.declarations;
  noteHidden(node.type);
  const type = api
    .typeTextOf(node)
    .replace(/ \| undefined$/, '')
    .replace(/\s+/g, ' ');
  const byDefault = api.tagsOf(symbol).find(({ name }) => name === 'default');
  const head = `**\`${symbol.name}${node.questionToken ? '?' : ''}\`**: ${linked(type)}`;
  const lines = [byDefault ? `${head}, default ${value(byDefault.text)}` : head, ...comment(symbol, path)];
  return `- ${lines.join('\n\n').replaceAll('\n', '\n  ')}`;
}

function method(symbol, owner, name) {
  return [code(signature(symbol, name)), ...comment(symbol, `${owner}.${symbol.name}`)];
}

/** Returns a signature without modifiers, with `?` for default values. */
function signature({ declarations: [node] }, name) {
  noteHidden(node.type, ...node.parameters.map(({ type }) => type));
  const parameters = node.parameters.map((each) => {
    const shown = ts.isIdentifier(each.name) ? each.name.text : 'options';
    const isOptional = each.questionToken || each.initializer;
    return `${each.dotDotDotToken ? '...' : ''}${shown}${isOptional ? '?' : ''}: ${api.typeTextOf(each)}`;
  });
  const generics = node.typeParameters
    ? `<${node.typeParameters.map((each) => each.getText()).join(', ')}>`
    : '';
  return `${name}${generics}(${parameters.join(', ')})${node.type ? `: ${node.type.getText()}` : ''}`;
}

/** Returns a doc comment as paragraphs; `@default` is written beside the type. */
function comment(symbol, path) {
  const text = api.textOf(symbol);
  if (text === '' && symbol.name !== '__constructor') problems.add(`${path}: no doc comment`);
  if (isReport) return [];
  const tagged = (name) => api.tagsOf(symbol).filter((tag) => tag.name === name);
  const parameters = tagged('param').map((tag) => tag.text.replace(/^(\S+) (?:- )?/, '- `$1`: '));
  const throws = tagged('throws').map(
    (tag) => `Throws ${tag.text.replace(/^\w+(Error|Exception)\b/, nameOf)}.`,
  );
  const returns = tagged('returns').map((tag) => `Returns ${tag.text}.`);
  // The compiler treats a line that begins with @ as a tag, unless it is in backquotes.
  const examples = tagged('example').map((tag) => code(tag.text.replace(/^`(.*)`$/gm, '$1')));
  const paragraphs = [text, parameters.join('\n'), ...returns, ...throws].map(flowing);
  return [...paragraphs, ...examples].filter((paragraph) => paragraph !== '');
}

/** Joins the lines of each paragraph, and replaces `{@link Name}` with links; list items stay separate. */
function flowing(text) {
  const joined = text.replace(/([^\n])\n(?!\n|- )/g, '$1 ');
  return joined.replace(/\{@link (\w+) *\}/g, (_match, name) => nameOf(name));
}

/** Returns a type with links to the exported names in it. */
function linked(type) {
  if (documented.has(type)) return nameOf(type);
  const names = new Set(type.match(/\b[A-Z]\w+/g)?.filter((name) => documented.has(name)));
  return names.size > 0 ? `\`${type}\` (${[...names].map(nameOf).join(', ')})` : `\`${type}\``;
}

/** Returns a default value: a literal as code, other text unchanged. */
function value(text) {
  return /^('[^']*'|[\d_]+|true|false|\w+\.\w+|\{[^}]*\})$/.test(text) ? `\`${text}\`` : flowing(text);
}

/** The interfaces of which a type consists, also by types that are not exported: they have the fields. */
function noteInterfaces(type, seen = new Set()) {
  if (ts.isConditionalTypeNode(type) || ts.isMappedTypeNode(type) || ts.isIndexedAccessTypeNode(type)) return;
  for (const [name, symbol] of api.hiddenIn(type)) {
    const [node] = symbol.declarations;
    if (seen.has(name)) continue;
    seen.add(name);
    if (ts.isInterfaceDeclaration(node)) documented.set(name, symbol);
    else if (ts.isTypeAliasDeclaration(node)) noteInterfaces(node.type, seen);
  }
}

function noteHidden(...types) {
  for (const [name, symbol] of api.hiddenIn(...types)) documented.set(name, symbol);
}

function optionsOfAlgorithms() {
  const described = api.algorithmOptions().flatMap(({ algorithm, symbol }) => {
    return [
      `### ${algorithm}`,
      ...comment(symbol, symbol.name),
      ...members(api.membersOf(symbol), symbol.name),
    ];
  });
  return ['## Options of algorithms', ...described];
}

/** The sections of the page. The types that are not exported come last. */
function write() {
  const contents = [];
  const body = [];
  const add = (title, names, ...more) => {
    contents.push(`- [${title}](${linkTo(title)}): ${names.map(nameOf).join(' ')}`);
    body.push(`## ${title}`, ...more, ...names.flatMap(describe));
  };
  for (const { title, names } of api.sections()) {
    add(title, names);
    if (names.includes('AlgorithmName')) body.push(...optionsOfAlgorithms());
  }
  const hidden = [...documented.keys()].filter((name) => !api.exported.has(name)).toSorted();
  add('Types of options and values', hidden, UNEXPORTED);
  return [contents.join('\n'), ...body];
}

async function page(introduction) {
  let known;
  let written;
  do {
    known = documented.size; // Describing a type may find others.
    written = write();
  } while (documented.size > known);
  const text = [introduction, ...written].join('\n\n');
  return prettier.format(text, { ...(await prettier.resolveConfig(PAGE)), parser: 'markdown' });
}

const TITLE_OF_REPORT = '# Public API\n\nThe names and signatures of the package, written by `npm run docs`.';
const isPrinted = isReport || process.argv.includes('--print');
const text = await page(isReport ? TITLE_OF_REPORT : INTRODUCTION);
if (problems.size > 0) {
  console.error([...problems].join('\n'));
  process.exitCode = 1;
} else if (isPrinted) process.stdout.write(text);
else {
  writeFileSync(PAGE, text);
  isReport = true;
  writeFileSync(REPORT, await page(TITLE_OF_REPORT));
}

// Writes docs/reference.md: every export of lib/index.ts and of the files of the other subpaths with its doc comment, in the order of those files. Their `// Title` comments become headings. Fails if a doc comment is missing, or a type in a signature is not exported.
//
//   node scripts/write-reference.mjs           writes the page
//   node scripts/write-reference.mjs --print   prints it instead
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';
import ts from 'typescript';
import * as api from './public-api.mjs';

const PAGE = fileURLToPath(new URL('../docs/reference.md', import.meta.url));
const INTRODUCTION = `# Reference

Every export of the package, written from its types by \`npm run docs\`. A name with \`?\` is optional.`;

const problems = [];
const code = (text) => `\`\`\`ts\n${text}\n\`\`\``;
const linkTo = (title) =>
  `#${title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')}`;
const nameOf = (name) => (api.exported.has(name) ? `[\`${name}\`](${linkTo(name)})` : `\`${name}\``);

const isMethod = ({ declarations: [node] }) => ts.isMethodDeclaration(node) || ts.isMethodSignature(node);
/** The name in source code, such as `[Symbol.asyncDispose]`. */
const nameOfMember = ({ declarations: [{ name }] }) => name.getText();
const isOverride = ({ declarations: [node] }) => ts.hasOverrideModifier(node);

/** The section of an exported name. */
function describe(name) {
  const symbol = api.exported.get(name);
  const [node] = symbol.declarations;
  const text = [`### ${name}`, ...comment(symbol, name)];
  if (ts.isTypeAliasDeclaration(node)) return [...text, ...alias(symbol, node)];
  if (ts.isFunctionDeclaration(node))
    return [text[0], code(signature(symbol, name, 'lib')), ...text.slice(1)];
  if (ts.isInterfaceDeclaration(node)) return [...text, ...members(api.membersOf(symbol), name)];
  return ts.isClassDeclaration(node) ? [...text, ...classMembers(symbol, name)] : text;
}

/** A type that consists of names that are not exported is described by the values it allows. */
function alias(symbol, node) {
  const [literals, algorithms] = [api.literalsOf(symbol), api.algorithmsOf(symbol)];
  if (literals.length > 0)
    return [code(`type ${symbol.name} = ${literals.map((each) => `'${each}'`).join(' | ')};`)];
  if (api.hiddenNames(node.type).length === 0) return [code(node.getText().replace('export ', ''))];
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
    ...(overrides.length > 0
      ? [code(overrides.map((each) => signature(each, each.name, name)).join('\n'))]
      : []),
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
  noteHidden(path, node.type);
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
  return [code(signature(symbol, name, owner)), ...comment(symbol, `${owner}.${symbol.name}`)];
}

/** Returns a signature without modifiers, with `?` for default values. */
function signature({ declarations: [node] }, name, owner) {
  noteHidden(`${owner}.${name}`, node.type, ...node.parameters.map(({ type }) => type));
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
  if (text === '' && symbol.name !== '__constructor') problems.push(`${path}: no doc comment`);
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
  if (api.exported.has(type)) return nameOf(type);
  const names = new Set(type.match(/\b[A-Z]\w+/g)?.filter((name) => api.exported.has(name)));
  return names.size > 0 ? `\`${type}\` (${[...names].map(nameOf).join(', ')})` : `\`${type}\``;
}

/** Returns a default value: a literal as code, other text unchanged. */
function value(text) {
  return /^('[^']*'|[\d_]+|true|false|\w+\.\w+|\{[^}]*\})$/.test(text) ? `\`${text}\`` : flowing(text);
}

function noteHidden(path, ...types) {
  for (const name of api.hiddenNames(...types)) problems.push(`${path}: ${name} is not exported`);
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

const contents = [];
const body = [];
for (const { title, names } of api.sections()) {
  contents.push(`- [${title}](${linkTo(title)}): ${names.map(nameOf).join(' ')}`);
  body.push(`## ${title}`, ...names.flatMap(describe));
  if (names.includes('AlgorithmName')) body.push(...optionsOfAlgorithms());
}

const page = [INTRODUCTION, contents.join('\n'), ...body].join('\n\n');
const text = await prettier.format(page, { ...(await prettier.resolveConfig(PAGE)), parser: 'markdown' });
if (problems.length > 0) {
  console.error([...new Set(problems)].join('\n'));
  process.exitCode = 1;
} else if (process.argv.includes('--print')) process.stdout.write(text);
else writeFileSync(PAGE, text);

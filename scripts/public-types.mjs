// What the published types contain of a class: neither private nor `@internal` members. A class with such members stays
// nominal by `#private`, and one with an `@internal` constructor can be injected and extended, but not constructed.
import ts from 'typescript';

/** Returns the text of a declaration file without the internals of its classes. */
export function publicTypes(text) {
  const source = ts.createSourceFile('types.d.ts', text, ts.ScriptTarget.Latest, true);
  const edits = [];
  const visit = (node) => {
    if (ts.isClassDeclaration(node)) edits.push(...editsOf(node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return edits.reduceRight(
    (changed, { from, to, by }) => changed.slice(0, from) + by + changed.slice(to),
    text,
  );
}

/** The parts of a class to replace, in their order. */
function editsOf({ members, heritageClauses = [] }) {
  const clause = heritageClauses.find(({ token }) => token === ts.SyntaxKind.ImplementsKeyword);
  const edits = clause ? [{ from: clause.pos, to: clause.end, by: '' }] : [];
  let isNominal = members.some(({ name }) => name?.text === '#private');
  for (const member of members) {
    const isPrivate = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0;
    const isConstructor = ts.isConstructorDeclaration(member);
    const isInternal = ts.getJSDocTags(member).some(({ tagName }) => tagName.text === 'internal');
    if (!isInternal && (!isPrivate || isConstructor)) continue;
    let by = '';
    // An internal overload of a public constructor just goes.
    const isOnly = members.filter((each) => ts.isConstructorDeclaration(each)).length === 1;
    if (isConstructor && isOnly) by = '\n    constructor(internal: never);';
    else if (isPrivate && !isConstructor && !isNominal) {
      by = '\n    #private;';
      isNominal = true;
    }
    edits.push({ from: member.getFullStart(), to: member.end, by });
  }
  return edits;
}

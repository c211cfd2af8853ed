import luaparse from 'luaparse';

/** Problems with the names in a Lua text. */
export interface LuaNames {
  /** Names that are read but not declared with `local`. */
  readonly free: readonly string[];
  /** Names that are assigned but not declared with `local`. */
  readonly assigned: readonly string[];
  /** Locals that are never read, without parameters and `_`. */
  readonly unused: readonly string[];
}

interface Local {
  readonly name: string;
  isRead: boolean;
}

type Scope = Map<string, Local>;
type Tree = { readonly type: string } & Record<string, unknown>;

/** Finds the names in a Lua 5.1 text that have no `local`, and the locals that nothing reads. */
export function luaNames(text: string): LuaNames {
  const free = new Set<string>();
  const assigned = new Set<string>();
  const locals: Local[] = [];
  let scopes: Scope[] = [new Map()];

  const find = (name: string): Local | undefined => scopes.findLast((scope) => scope.has(name))?.get(name);
  const declare = (identifier: Tree, isParameter = false): void => {
    const local = { name: identifier.name as string, isRead: isParameter || identifier.name === '_' };
    scopes.at(-1)!.set(local.name, local);
    locals.push(local);
  };
  const within = (act: () => void): void => {
    const outer = scopes;
    scopes = [...scopes, new Map()];
    act();
    scopes = outer;
  };
  const visitAll = (trees: unknown): void => (trees as (Tree | null)[]).forEach(visit);
  const assign = (target: Tree): void => {
    if (target.type !== 'Identifier') visit(target);
    else if (!find(target.name as string)) assigned.add(target.name as string);
  };

  function visit(tree: Tree | null): void {
    if (!tree) return;
    const { type } = tree;
    if (type === 'Identifier') {
      const local = find(tree.name as string);
      if (local) local.isRead = true;
      else free.add(tree.name as string);
    } else if (type === 'MemberExpression') {
      visit(tree.base as Tree);
    } else if (type === 'TableKeyString') {
      visit(tree.value as Tree);
    } else if (type === 'LocalStatement') {
      visitAll(tree.init);
      (tree.variables as Tree[]).forEach((variable) => declare(variable));
    } else if (type === 'AssignmentStatement') {
      visitAll(tree.init);
      (tree.variables as Tree[]).forEach(assign);
    } else if (type === 'FunctionDeclaration') {
      const name = tree.identifier as Tree | null;
      if (name && tree.isLocal) declare(name);
      else if (name) assign(name);
      within(() => {
        for (const parameter of tree.parameters as Tree[])
          if (parameter.type === 'Identifier') declare(parameter, true);
        visitAll(tree.body);
      });
    } else if (type === 'ForNumericStatement') {
      visitAll([tree.start, tree.end, tree.step]);
      within(() => {
        declare(tree.variable as Tree, true);
        visitAll(tree.body);
      });
    } else if (type === 'ForGenericStatement') {
      visitAll(tree.iterators);
      within(() => {
        for (const variable of tree.variables as Tree[]) declare(variable, true);
        visitAll(tree.body);
      });
    } else if (type === 'RepeatStatement') {
      within(() => visitAll([...(tree.body as Tree[]), tree.condition]));
    } else if (Array.isArray(tree.body)) {
      visit((tree.condition ?? null) as Tree | null);
      within(() => visitAll(tree.body));
    } else {
      for (const value of Object.values(tree)) {
        if (Array.isArray(value)) visitAll(value);
        else if (value && typeof value === 'object') visit(value as Tree);
      }
    }
  }

  const chunk = luaparse.parse(text, { luaVersion: '5.1', comments: false }) as unknown as Tree;
  visitAll(chunk.body);
  const unused = locals.filter(({ isRead }) => !isRead).map(({ name }) => name);
  return { free: [...free], assigned: [...assigned], unused: [...new Set(unused)] };
}

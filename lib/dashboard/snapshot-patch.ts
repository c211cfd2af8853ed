type Item = Readonly<Record<string, unknown>>;

/** A list in a patch: the items that are new or differ, with what differs, and the keys of items that are gone. */
type ListPatch = readonly [changed: readonly Item[], gone: readonly unknown[]];

/** The lists that are compared item by item, each with the property that identifies an item and sorts the list. */
const LISTS: Readonly<Record<string, string>> = {
  rules: 'rule',
  seconds: 'at',
  minutes: 'at',
  processes: 'id',
};

/** Returns what differs between two snapshots: the properties with another value. */
export function patchOf(before: object, after: object): object {
  const changes = Object.entries(after).map(([name, value]) => {
    const known: unknown = (before as Item)[name];
    const key = LISTS[name];
    if (key !== undefined)
      return [name, listPatch(known as Item[] | undefined, value as Item[], key)] as const;
    const isSame = known === value || JSON.stringify(known) === JSON.stringify(value);
    return [name, isSame ? undefined : (value as unknown)] as const;
  });
  return Object.fromEntries(changes.filter(([, change]) => change !== undefined));
}

/** Returns a snapshot with a patch. */
export function patched<Whole extends object>(before: Whole, patch: object): Whole {
  const changes = Object.entries(patch as Item).map(([name, change]) => {
    const [key, known] = [LISTS[name], (before as Item)[name] ?? []];
    return [
      name,
      key === undefined ? change : patchedList(known as Item[], change as ListPatch, key),
    ] as const;
  });
  return { ...before, ...Object.fromEntries(changes) };
}

function listPatch(before: Item[] | undefined, after: readonly Item[], key: string): ListPatch | undefined {
  const known = new Map((before ?? []).map((item) => [item[key], item]));
  const patches = after.map((item): Item => {
    const patch = patchOf(known.get(item[key]) ?? {}, item);
    known.delete(item[key]);
    return { ...patch, [key]: item[key] };
  });
  const changed = patches.filter((patch) => Object.keys(patch).length > 1);
  return before && changed.length + known.size === 0 ? undefined : [changed, [...known.keys()]];
}

function patchedList(before: readonly Item[], [changed, gone]: ListPatch, key: string): readonly Item[] {
  const items = new Map(before.map((item) => [item[key], item]));
  for (const each of gone) items.delete(each);
  for (const item of changed) items.set(item[key], patched(items.get(item[key]) ?? {}, item));
  return [...items.values()].sort((one, other) => ((one[key] as string) < (other[key] as string) ? -1 : 1));
}

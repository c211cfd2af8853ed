// Checks the requests of several rules: they are denied if, and only if, one of the rules denies.

/** Returns the requests whose outcome is not that of their rules. */
export function checkTogether(history) {
  const groups = new Map();
  for (const line of history) {
    if (line.together === undefined) continue;
    groups.set(line.together, [...(groups.get(line.together) ?? []), line]);
  }
  return [...groups.values()].flatMap((lines) => {
    const isDenied = lines.some(({ allowed }) => !allowed);
    const wrong = lines.filter(({ refused }) => refused !== isDenied);
    if (wrong.length === 0) return [];
    const { subject, sentAt } = lines[0];
    const rules = lines.map(({ rule }) => rule).join(' and ');
    return [
      `${rules} of ${subject}: a request at ${sentAt} was ${isDenied ? 'allowed although a rule' : 'denied although no rule'} denied it`,
    ];
  });
}

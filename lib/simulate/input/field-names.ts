/** Names that logs use for the fields of a request. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  time: [
    'time',
    'timestamp',
    '@timestamp',
    'ts',
    'time_iso8601',
    'time_local',
    'msec',
    'date',
    'datetime',
    'start_time',
  ],
  ip: [
    'ip',
    'remote_addr',
    'client_ip',
    'clientip',
    'client.ip',
    'remote_ip',
    'request.remote_ip',
    'remoteAddress',
    'req.remoteAddress',
    'c-ip',
  ],
  user: ['user', 'remote_user', 'user_id', 'userId', 'user.id', 'user.name'],
  path: ['path', 'uri', 'request_uri', 'url', 'url.path', 'req.url', 'request.uri', 'cs-uri-stem'],
};

/** Returns the names that a field may have in a log: the mapped one alone, or the usual ones. */
export function namesOf(field: string, map: Readonly<Record<string, string>>): readonly string[] {
  if (Object.hasOwn(map, field)) return [map[field]!];
  if (Object.hasOwn(NAMES, field)) return NAMES[field]!;
  return [field, `headers.${field}`, `req.headers.${field}`, `request.headers.${field}`];
}

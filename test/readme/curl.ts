/** A parsed curl command. */
interface CurlLine {
  readonly urls: readonly string[];
  readonly method: string;
  readonly headers: [name: string, value: string][];
  readonly body: string | undefined;
  /** `-i`: prints status and headers as well. */
  readonly include: boolean;
  /** `-w`: printed after each response; `-o /dev/null` suppresses everything else. */
  readonly codesOnly: boolean;
}

/**
 * Returns what curl would print for a command of the README. `fetch` sends the requests, because curl may be missing.
 *
 * @param origin replaces `localhost:3000`
 */
export async function curl(line: string, origin: string): Promise<string> {
  const { urls, method, headers, body, include, codesOnly } = readCurl(line);
  const printed: string[] = [];
  for (const url of urls) {
    const address = url.replace(/^localhost:3000/, origin);
    const response = await fetch(address, { method, headers, ...(body !== undefined && { body }) });
    const text = await response.text();
    if (codesOnly) printed.push(`${response.status} `);
    else printed.push(include ? `${head(response)}\n\n${text}` : text);
  }
  return printed.join('').trimEnd();
}

function head({ status, statusText, headers }: Response): string {
  return [`HTTP/1.1 ${status} ${statusText}`, ...Array.from(headers, (header) => header.join(': '))].join(
    '\n',
  );
}

/** @throws for an option that no command has used before */
function readCurl(line: string): CurlLine {
  const words = Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain!);
  const given = new Map<string, string[]>();
  const add = (option: string, value = ''): unknown =>
    given.set(option, [...(given.get(option) ?? []), value]);
  for (let at = 1; at < words.length; at++) {
    const word = words[at]!;
    if (/^-[XHdow]$/.test(word)) add(word, words[++at]);
    else if (/^-[si]$/.test(word)) add(word);
    else if (word.startsWith('-')) throw new Error(`curl ${word}: teach test/readme/curl.ts to read it`);
    else add('url', word);
  }
  const data = given.get('-d')?.join('&');
  const headers = (given.get('-H') ?? []).map((header) => header.split(': ', 2) as [string, string]);
  const isForm = data !== undefined && headers.every(([name]) => name.toLowerCase() !== 'content-type');
  return {
    urls: given.get('url')!.flatMap(repeated),
    method: given.get('-X')?.[0] ?? (data === undefined ? 'GET' : 'POST'),
    headers: isForm ? [...headers, ['Content-Type', 'application/x-www-form-urlencoded']] : headers,
    body: data,
    include: given.has('-i'),
    codesOnly: given.get('-w')?.[0] === '%{http_code} ' && given.get('-o')?.[0] === '/dev/null',
  };
}

/** Expands `[1-3]` in a URL to a request for each number. */
function repeated(url: string): string[] {
  const range = /\[(\d+)-(\d+)\]/.exec(url);
  if (!range) return [url];
  const [from, to] = [Number(range[1]), Number(range[2])];
  return Array.from({ length: to - from + 1 }, (_, index) => url.replace(range[0], `${from + index}`));
}

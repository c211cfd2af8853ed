import { StringDecoder } from 'node:string_decoder';

/** The longest line in characters. A longer one is cut, so that a file without line breaks takes no memory. */
const LONGEST = 1 << 20;

/** Splits chunks into lines, and returns those of each chunk together. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let isFirst = true;
  let isCut = false;
  for await (const chunk of chunks) {
    let text = rest + decoder.write(chunk);
    if (isFirst && text.startsWith('\ufeff')) text = text.slice(1);
    isFirst = false;
    const lines = text.split('\n');
    rest = lines.pop()!;
    if (isCut && lines.length > 0) {
      lines.shift();
      isCut = false;
    }
    if (isCut) rest = '';
    else if (rest.length > LONGEST) {
      lines.push(rest.slice(0, 1000));
      rest = '';
      isCut = true;
    }
    yield lines;
  }
  rest += decoder.end();
  if (rest !== '' && !isCut) yield [rest];
}

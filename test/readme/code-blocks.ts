import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A fenced block of a Markdown file. */
export interface CodeBlock {
  /** The file and the line of the fence, such as `README.md:42`. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
}

const root = new URL('../../', import.meta.url);

/** The absolute path of a file of the repository. */
export function pathOf(file: string): string {
  return fileURLToPath(new URL(file, root));
}

export function textOf(file: string): string {
  return readFileSync(pathOf(file), 'utf8');
}

/** The fenced blocks of a file with one of these languages, from top to bottom. */
export function codeBlocks(file: string, ...languages: string[]): CodeBlock[] {
  const text = textOf(file);
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .map(({ index, 1: language = '', 2: code = '' }) => {
      const line = text.slice(0, index).split('\n').length;
      return { place: `${file}:${line}`, language, text: code };
    })
    .filter(({ language }) => languages.includes(language));
}

import ts from 'typescript';
import { pathOf } from '../readme/code-blocks.js';
import { compilerOptions } from './errors-in.js';

const FILE = pathOf('test/compiler/edited-code.ts');

/** The cursor in a piece of code. */
const MARK = '/**/';

/** What an editor shows. */
interface Editor {
  /** Returns the documentation of the word before the mark; an empty text if there is none. */
  readonly hover: (code: string) => string;
  /** Returns the names of the fields that the editor offers at the mark, in alphabetical order. */
  readonly completions: (code: string) => readonly string[];
  /** Returns the texts of the errors, with a line for each part. */
  readonly errors: (code: string) => readonly string[];
}

/** Opens pieces of code in TypeScript's language service, as editors do, each in a block of its own. */
export function openEditor(preamble: string, codes: readonly string[]): Editor {
  const starts = new Map<string, number>();
  let text = `${preamble}\n`;
  for (const code of codes) {
    starts.set(code, text.length);
    text += `{ ${code} }\n`;
  }
  const service = ts.createLanguageService({
    getCompilationSettings: () => ({ ...compilerOptions(), noUnusedLocals: false }),
    getScriptFileNames: () => [FILE],
    getScriptVersion: () => '0',
    getScriptSnapshot(file) {
      const content = file === FILE ? text : ts.sys.readFile(file);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => pathOf('.'),
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (file) => file === FILE || ts.sys.fileExists(file),
    readFile: (file) => (file === FILE ? text : ts.sys.readFile(file)),
    directoryExists: (name) => ts.sys.directoryExists(name),
    getDirectories: (name) => ts.sys.getDirectories(name),
  });
  const startOf = (code: string): number => {
    const start = starts.get(code);
    if (start === undefined) throw new Error(`not open: ${code}`);
    return start;
  };
  const markIn = (code: string): number => text.indexOf(MARK, startOf(code));
  return {
    hover: (code) =>
      ts.displayPartsToString(service.getQuickInfoAtPosition(FILE, markIn(code) - 1)?.documentation),
    completions(code) {
      const { entries = [] } = service.getCompletionsAtPosition(FILE, markIn(code), undefined) ?? {};
      const fields = entries.filter(({ kind }) => kind === ts.ScriptElementKind.memberVariableElement);
      return fields.map(({ name }) => name).sort();
    },
    errors(code) {
      const [from, to] = [startOf(code), startOf(code) + code.length + 2];
      return service
        .getSemanticDiagnostics(FILE)
        .filter(({ start = 0 }) => start >= from && start <= to)
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    },
  };
}

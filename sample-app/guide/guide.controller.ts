import { Controller, Get, Header, Headers } from '@nestjs/common';
import { EXAMPLES } from './examples.js';

@Controller()
export class GuideController {
  /** Lists what to try, as lines for a terminal. */
  @Get()
  @Header('Content-Type', 'text/plain; charset=utf-8')
  guide(@Headers('host') host = 'localhost:3000'): string {
    const examples = EXAMPLES.map(
      ({ shows, curl, prints }) => `# ${shows}\n${curl.replace('localhost:3000', host)}   # ${prints}\n`,
    );
    return ['What to try, and what it prints:\n', ...examples].join('\n');
  }
}

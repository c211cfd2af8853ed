import { Controller, Get, Query, type ExecutionContext } from '@nestjs/common';
import { RateLimit } from 'nestjs-redis-rate-limit';

const ROWS_A_PERMIT = 100;
const MOST_ROWS = 1000;

/** The number of rows to export: the query is a client's, so any value is possible. */
function rowsOf(query: { rows?: unknown }): number {
  const rows = Math.trunc(Number(query.rows));
  return rows >= 1 ? Math.min(rows, MOST_ROWS) : ROWS_A_PERMIT;
}

/** An export costs a permit for every 100 rows. */
function costOf(context: ExecutionContext): number {
  const { query } = context.switchToHttp().getRequest<{ query: { rows?: unknown } }>();
  return Math.ceil(rowsOf(query) / ROWS_A_PERMIT);
}

@Controller('export')
export class ExportController {
  /** Window and limit are configuration: see `config/rate-limit.config.ts`. */
  @RateLimit({ name: 'export', algorithm: 'fixed-window', by: 'user', cost: costOf })
  @Get()
  export(@Query() query: { rows?: unknown }) {
    return { rows: rowsOf(query) };
  }
}

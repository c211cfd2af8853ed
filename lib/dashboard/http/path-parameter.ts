import type { DashboardRequest } from './request-checks.js';

/** Returns the last part of the path of a request. */
export function pathParameter({ originalUrl, url }: DashboardRequest): string {
  const [path] = (originalUrl ?? url).split('?') as [string];
  return path.slice(path.lastIndexOf('/') + 1);
}

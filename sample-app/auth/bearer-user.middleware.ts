import type { IncomingMessage } from 'node:http';

/** Who is logged in, where the limits with `by: 'user'` look for it. */
export interface WithUser extends IncomingMessage {
  user?: { id: string };
}

/** Stands in for a real session: the bearer token is the user's name. Real apps verify a signed one. */
export function bearerUser(request: WithUser, _response: unknown, next: () => void): void {
  const token = /^Bearer (\w{1,32})$/.exec(request.headers.authorization ?? '')?.[1];
  if (token !== undefined) request.user = { id: token };
  next();
}

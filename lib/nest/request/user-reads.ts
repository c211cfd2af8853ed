/** Detects which functions of rules read `request.user` before it is set. */
export class UserReads {
  private readonly readers = new Set<unknown>();
  /** What to call at the end of the request: one listener for all, since a response warns of more than ten. */
  readonly atEnd: (() => void)[] = [];

  constructor(private readonly request: { user?: unknown }) {}

  /** Whether a function has read the user while there was none, and has not set it. */
  has(reader: unknown): boolean {
    return this.readers.has(reader);
  }

  /** Runs a function, and records whether it reads the user before its first `await`. */
  during<Result>(reader: unknown, run: () => Result): Result {
    const settled = (): void => {
      if (hasUser(this.request)) this.readers.delete(reader);
    };
    const end = this.begin(reader);
    let result: Result;
    try {
      result = run();
    } finally {
      end();
      settled();
    }
    if (result instanceof Promise) result.then(settled, settled);
    return result;
  }

  /** Replaces `user` with an accessor that records reads. Returns a function that restores it. */
  private begin(reader: unknown): () => void {
    const { request, readers } = this;
    if (hasUser(request)) return () => undefined;
    const own = Object.getOwnPropertyDescriptor(request, 'user');
    let { user } = request;
    let isSet = false;
    const get = (): unknown => {
      readers.add(reader);
      return user;
    };
    const set = (value: unknown): void => void ([user, isSet] = [value, true]);
    const accessor = { configurable: true, enumerable: own?.enumerable === true, get, set };
    if (!Reflect.defineProperty(request, 'user', accessor)) return () => undefined;
    return () => {
      if (own) Object.defineProperty(request, 'user', own);
      else delete request.user;
      if (isSet) request.user = user;
    };
  }
}

/** Whether the request has a user; `false` if its getter throws. */
export function hasUser(request: { readonly user?: unknown }): boolean {
  try {
    return Boolean(request.user);
  } catch {
    return false;
  }
}

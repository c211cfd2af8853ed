import type { INestApplication } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { SwaggerModule } from '@nestjs/swagger';
import { type Handler, type HandlerMethod, Routes } from '../nest/request/routes.js';
import { rejectConfig } from '../contracts/rate-limit-config.error.js';
import type { RateLimitModuleOptions } from '../nest/rate-limit.options.js';
import type { RouteLimit } from '../nest/request/route-limit.js';
import { Guards } from '../nest/startup/guards.js';
import { declaredClasses, handlersOf } from '../nest/startup/handlers.js';
import { RATE_LIMIT_OPTIONS } from '../nest/tokens.js';
import { OpenApiParts } from './openapi-parts.js';
import { extensionOf } from '../nest/request/rate-limit-extension.js';

const EXTENSION = 'swagger/apiExtension';

const MARK = 'x-rate-limit-handler';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'search'];

type Operation = Record<string, unknown>;

/**
 * Returns the handler of each operation, by `get /path`. A second document is made for it, in which each handler is
 * marked, since operation ids are the application's to choose.
 */
function operationHandlers(app: INestApplication): Map<string, HandlerMethod> {
  const classes = [...declaredClasses(app.get(ModulesContainer, { strict: false }))];
  const controllers = classes.filter(({ isController }) => isController);
  const handlers = controllers.flatMap(({ type }) => handlersOf(type, true));
  const unmark = handlers.map(({ handler }, index) => mark(handler, index));
  const found = new Map<string, HandlerMethod>();
  try {
    for (const ignoreGlobalPrefix of [true, false]) {
      const { paths } = SwaggerModule.createDocument(app, {} as never, {
        ignoreGlobalPrefix,
        operationIdFactory: (controller) => controller,
      });
      for (const [path, operations] of Object.entries(paths)) {
        for (const [method, operation] of operationsIn(operations)) {
          const marked = handlers[Number(operation[MARK])];
          const ofClass = handlers.find(
            ({ type, handler }) => handler === marked?.handler && type.name === operation['operationId'],
          );
          if (marked) found.set(`${method} ${path}`, ofClass ?? marked);
        }
      }
    }
  } finally {
    for (const each of unmark.toReversed()) each();
  }
  return found;
}

/** The operations of a path item, by method. */
function operationsIn(item: object): [method: string, operation: Operation][] {
  return Object.entries(item).filter(([method]) => METHODS.includes(method)) as [string, Operation][];
}

/** Marks a handler for the document, and returns the function that removes the mark. */
function mark(handler: Handler, index: number): () => void {
  const before = Reflect.getOwnMetadata(EXTENSION, handler) as object | undefined;
  Reflect.defineMetadata(EXTENSION, { ...before, [MARK]: index }, handler);
  return () => {
    if (before) Reflect.defineMetadata(EXTENSION, before, handler);
    else Reflect.deleteMetadata(EXTENSION, handler);
  };
}

/** A Nest application. */
type SwaggerApplication = INestApplication;

/** A document of `SwaggerModule.createDocument`. */
export interface OpenApiDocument {
  /** Version of OpenAPI. */
  readonly openapi: string;
  /** The operations by path. */
  readonly paths: object;
  /** Gets the schema of the body of a denied request. */
  components?: object;
}

type Responses = Record<string, { headers?: object; content?: object; description?: string; $ref?: string }>;

/**
 * Adds the rate limits to an OpenAPI document: to each operation with rules the response 429 (and 503 where
 * `onStoreError` is `'deny'`), the headers, the schema of the body, and the rules as `x-rate-limit`. What the document
 * has already is kept. An operation without the rate limit guard is not described, such as with `registerGuard: false`.
 *
 * @param app an initialized application: after `app.init()` or `app.listen()`, or in a document factory
 * @param document is changed
 * @returns the document
 * @throws RateLimitConfigError if the application is not initialized
 * @example
 * const document = () => describeRateLimits(app, SwaggerModule.createDocument(app, config));
 * SwaggerModule.setup('docs', app, document);
 */
export function describeRateLimits<Document extends OpenApiDocument>(
  app: SwaggerApplication,
  document: Document,
): Document {
  const routes = app.get(Routes, { strict: false });
  const handlers = operationHandlers(app);
  if (handlers.size > 0 && [...handlers.values()].every(({ type, handler }) => !routes.of(type, handler))) {
    rejectConfig(
      'describeRateLimits: the application is not initialized, so its rules are not known; call it in a document ' +
        "factory, SwaggerModule.setup('docs', app, () => describeRateLimits(app, ...)), or after `await app.init()`",
    );
  }
  const guards = app.get(Guards, { strict: false });
  const options = app.get<RateLimitModuleOptions>(RATE_LIMIT_OPTIONS, { strict: false });
  const parts = new OpenApiParts(options, document.openapi.startsWith('3.0'));
  let isLimited = false;
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of operationsIn(item as object)) {
      const found = handlers.get(`${method} ${path}`);
      // The rate limit guard is global, or a decorator adds it.
      const isReached = found && (guards.hasOursGlobally || guards.hasOursOn(found));
      const limits = isReached ? (routes.of(found.type, found.handler)?.limits ?? []) : [];
      const enforced = limits.filter(({ isEnforced }) => isEnforced);
      if (enforced.length === 0) continue;
      isLimited = true;
      describe(operation, enforced, parts, options);
    }
  }
  if (isLimited) addSchemas(document, parts);
  return document;
}

function describe(
  operation: Operation,
  limits: readonly RouteLimit[],
  parts: OpenApiParts,
  { onStoreError = 'local' }: RateLimitModuleOptions,
): void {
  operation['x-rate-limit'] = limits.map(extensionOf);
  const responses = (operation['responses'] ??= {}) as Responses;
  for (const [status, response] of Object.entries(responses)) {
    if (status.startsWith('2') && !response.$ref)
      response.headers = { ...parts.headers, ...response.headers };
  }
  const names = limits.map(({ name }) => name);
  responses['429'] = merged(parts.denied(names), responses['429']);
  const denies = limits.some(({ fields }) => (fields.onStoreError ?? onStoreError) === 'deny');
  if (denies) responses['503'] = merged(parts.unavailable(), responses['503']);
}

/** What the application has written about a response comes first. */
function merged(ours: Record<string, unknown>, theirs: Responses[string] | undefined): Responses[string] {
  if (theirs?.$ref) return theirs;
  const { description, headers, content } = theirs ?? {};
  return {
    ...ours,
    ...theirs,
    description: description || String(ours['description']),
    headers: { ...(ours['headers'] as object), ...headers },
    content: content ?? (ours['content'] as object),
  };
}

function addSchemas(document: OpenApiDocument, parts: OpenApiParts): void {
  const components = (document.components ?? {}) as { readonly schemas?: object };
  document.components = { ...components, schemas: { ...parts.schemas(), ...components.schemas } };
}

import type { INestApplication, Type } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { SwaggerModule } from '@nestjs/swagger';
import type { Handler } from '../nest/request/routes.js';

const EXTENSION = 'swagger/apiExtension';
const MARK = 'x-rate-limit-handler';
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'search'];

/** The class and the method of an operation. */
export interface OperationHandler {
  readonly type: Type;
  readonly handler: Handler;
}

/**
 * Returns the handler of each operation, by `get /path`. A second document is made for it, in which each handler is
 * marked, since operation ids are the application's to choose.
 */
export function operationHandlers(app: INestApplication): Map<string, OperationHandler> {
  const handlers = handlersOf(app);
  const unmark = handlers.map(({ handler }, index) => mark(handler, index));
  const found = new Map<string, OperationHandler>();
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
export function operationsIn(item: object): [method: string, operation: Record<string, unknown>][] {
  return Object.entries(item).filter(([method]) => METHODS.includes(method)) as [
    string,
    Record<string, unknown>,
  ][];
}

function handlersOf(app: INestApplication): OperationHandler[] {
  const scanner = new MetadataScanner();
  const modules = app.get(ModulesContainer, { strict: false });
  const controllers = [...modules.values()].flatMap((module) => [...module.controllers.values()]);
  return controllers.flatMap(({ metatype }) => {
    const type = metatype as Type;
    const prototype = type.prototype as Record<string, Handler>;
    return scanner.getAllMethodNames(prototype).map((name) => ({ type, handler: prototype[name]! }));
  });
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

import { InternalServerErrorException } from '@nestjs/common';
import { withoutStack } from './without-stack.js';

/** Stands for the rules of a route that are wrong but were met after start: each request gets a 500. */
export class BrokenLimit {
  readonly name = 'broken';

  /** @throws InternalServerErrorException always; the reason was logged when the rules were met */
  apply(): never {
    throw withoutStack(() => new InternalServerErrorException());
  }
}

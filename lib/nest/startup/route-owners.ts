import type { Type } from '@nestjs/common';

/**
 * The names of classes in keys. The second and later classes with the same name get a number, so that they do not share
 * counters. The order is that in which Nest scans the modules, which is the same in all processes of a build.
 */
export class RouteOwners {
  private readonly names = new Map<Type, string>();
  private readonly counts = new Map<string, number>();

  nameOf(type: Type): string {
    const known = this.names.get(type);
    if (known !== undefined) return known;
    const count = (this.counts.get(type.name) ?? 0) + 1;
    this.counts.set(type.name, count);
    const name = count === 1 ? type.name : `${type.name}#${count}`;
    this.names.set(type, name);
    return name;
  }
}

/** A Lua file: the build makes one of each `<name>.lua` and of its line `-- @needs`. */
export interface LuaModule {
  /** The file's name without `.lua`. */
  readonly name: string;
  /** The files that have to stand in front of it, in this order. */
  readonly needs: readonly LuaModule[];
  /** The Lua. */
  readonly text: string;
}

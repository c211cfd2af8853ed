/** The content of a Lua file. The build generates one for each `<name>.lua`, with the files in its `-- @needs` line. */
export interface LuaModule {
  /** The file's name without `.lua`. */
  readonly name: string;
  /** The files whose source must precede this one, in this order. */
  readonly needs: readonly LuaModule[];
  /** The Lua source. */
  readonly text: string;
}

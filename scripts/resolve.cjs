// How dependency-cruiser finds a file: as TypeScript does, so that `gcra.lua.js` is gcra.lua.ts and not
// the gcra.lua beside it. It takes this setting in the form of a webpack configuration only.
module.exports = { resolve: { extensionAlias: { '.js': ['.ts', '.js'], '.mjs': ['.mts', '.mjs'] } } };

/** An error of the application's own function. */
const broken = () => new Error('broken');

/** What a function of an application may do instead of returning a value. */
export const BEHAVIOURS = {
  'throws an error': () => {
    throw broken();
  },
  'throws nothing at all': () => {
    throw undefined;
  },
  'throws an object without a prototype': () => {
    throw Object.create(null);
  },
  rejects: async () => {
    throw broken();
  },
  'rejects with nothing at all': () => Promise.reject(),
  'rejects later': () => new Promise((_resolve, reject) => setTimeout(() => reject(broken()), 5)),
  'returns a foreign promise that rejects': () => ({
    then: (_fulfilled, rejected) => void setTimeout(() => rejected(broken()), 5),
  }),
  'returns a foreign promise whose then throws': () => ({
    then() {
      throw broken();
    },
  }),
  'returns a promise of a promise that rejects': () => ({
    then: (fulfilled) => fulfilled(Promise.reject(broken())),
  }),
  'returns an object whose then cannot be read': () => ({
    get then() {
      throw broken();
    },
  }),
  'returns a promise that rejects twice': () => ({
    then(_fulfilled, rejected) {
      rejected(broken());
      rejected(broken());
    },
  }),
  'returns an object that refers to itself': () => {
    const circle = {};
    circle.circle = circle;
    return circle;
  },
  'returns an object that cannot be printed': () => ({
    toJSON() {
      throw broken();
    },
    toString() {
      throw broken();
    },
  }),
  'returns a symbol': () => Symbol('broken'),
  'never settles': () => new Promise(() => undefined),
};

import { useState } from 'preact/hooks';

/** Keeps a value in the address of the page, so that a link opens the page as the reader sees it. */
export function useAddress(name: string, initial: string): [value: string, set: (value: string) => void] {
  const [value, setValue] = useState(new URLSearchParams(location.search).get(name) ?? initial);
  const set = (next: string) => {
    const query = new URLSearchParams(location.search);
    if (next === initial) query.delete(name);
    else query.set(name, next);
    const text = query.toString();
    history.replaceState(null, '', text === '' ? location.pathname : `?${text}`);
    setValue(next);
  };
  return [value, set];
}

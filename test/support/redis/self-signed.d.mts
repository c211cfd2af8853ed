/** Makes a certificate for 127.0.0.1 and localhost that is its own authority, with a key of its own, in PEM. */
export function selfSigned(): { certificate: string; key: string };

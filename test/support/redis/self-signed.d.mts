/** Creates a self-signed certificate for 127.0.0.1 and localhost, with a new key, in PEM. */
export function selfSigned(): { certificate: string; key: string };

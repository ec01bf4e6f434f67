type Value<T> = T | (() => T | Promise<T>)

/** The caller and the server of requests. A function is called for each request, and may be asynchronous. */
export type ParleyOptions = {
  /** The address of Parley, such as `https://api.example.com`. */
  url: string
  /** The workspace of all calls; sign-in returns the IDs. Without it only auth can be called, except with an API key. */
  tenantId?: Value<string | undefined>
  /** An API key, which has a workspace. It is a secret: never use one in a browser. */
  apiKey?: Value<string | undefined>
  /** Further headers, such as the cookie of a request that a server answers. */
  headers?: Value<Record<string, string>>
  fetch?: typeof fetch
}

/** Returns the headers of one request. */
export async function readHeaders({ tenantId, apiKey, headers }: ParleyOptions): Promise<Record<string, string>> {
  const [workspace, key, others] = await Promise.all([read(tenantId), read(apiKey), read(headers)])
  return {
    ...others,
    ...(workspace === undefined ? {} : { 'x-tenant-id': workspace }),
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  }
}

export async function read<T>(value: Value<T>): Promise<T> {
  return typeof value === 'function' ? await (value as () => T | Promise<T>)() : value
}

/** Calls `fetch` as the options want it. The session is a cookie, which a browser sends to another origin only if asked to. */
export function toFetch({ fetch: call }: ParleyOptions) {
  // A `fetch` that is replaced later, as frameworks do, is used as well.
  return (input: string | URL | Request, init?: object) => (call ?? fetch)(input, { ...init, credentials: 'include' })
}

/** Removes a slash at the end, so that a path can be appended. */
export function toBase({ url }: ParleyOptions): string {
  return url.replace(/\/$/, '')
}

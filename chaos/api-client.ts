/** `address` is that of the member, by which calls are limited. */
export type Session = { cookie: string; tenantId: string; address: string }

const TIMEOUT_MS = 60_000

/** The address of the test, which the processes trust as that of a proxy. */
export const PROXY = '127.0.0.1/32'

/** Calls the API of one process. */
export function request(
  method: string,
  url: string,
  { session, body, headers = {} }: { session?: Session; body?: object; headers?: Record<string, string> },
): Promise<Response> {
  return fetch(url, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(session
        ? { cookie: session.cookie, 'x-tenant-id': session.tenantId, 'x-forwarded-for': session.address }
        : {}),
      ...headers,
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
}

/** @throws Error unless the call succeeds */
export async function post<T>(url: string, body: object, session?: Session): Promise<T> {
  const response = await request('POST', url, { body, ...(session ? { session } : {}) })
  if (!response.ok) throw new Error(`POST ${url} returned ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}

/** Signs up the owner of a new workspace, at an address of their own, behind the proxy `PROXY`. */
export async function signUp(url: string, number: number): Promise<Session> {
  const address = `198.51.100.${number + 1}`
  const body = { name: 'Chaos', email: `chaos-${number}@parley.example`, password: 'correct horse battery' }
  const headers = { 'x-forwarded-for': address }
  const response = await request('POST', `${url}/api/auth/sign-up/email`, { body, headers })
  if (!response.ok) throw new Error(`The sign-up returned ${response.status}: ${await response.text()}`)
  const { workspaces } = (await response.json()) as { workspaces: { id: string }[] }
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return { cookie, tenantId: workspaces[0]?.id ?? '', address }
}

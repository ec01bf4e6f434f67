export type Session = { cookie: string; tenantId: string }

const TIMEOUT_MS = 60_000

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
      ...(session ? { cookie: session.cookie, 'x-tenant-id': session.tenantId } : {}),
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

/** Signs up the owner of a new workspace. */
export async function signUp(url: string, number: number): Promise<Session> {
  const body = { name: 'Chaos', email: `chaos-${number}@parley.example`, password: 'correct horse battery' }
  const response = await request('POST', `${url}/api/auth/sign-up/email`, { body })
  if (!response.ok) throw new Error(`The sign-up returned ${response.status}: ${await response.text()}`)
  const { workspaces } = (await response.json()) as { workspaces: { id: string }[] }
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return { cookie, tenantId: workspaces[0]?.id ?? '' }
}

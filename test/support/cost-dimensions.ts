import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { newAddress, type TestApp, type TestSession } from './app.ts'

/** A way in which the work of one operation can grow. */
export type Dimension = {
  name: string
  /** The largest size that an input can have: the documented limit, or what the largest body holds. */
  max: number
  /** Prepares the input of a size. Only `execute` is measured; it returns the status of the response. */
  prepare: (size: number) => Promise<Prepared> | Prepared
}

export type Prepared = { bytes: number; execute: () => Promise<number> }

export type CostRequest = { method: string; path: string; body?: string | undefined; headers?: Record<string, string> }

/** Prepares a request whose body is already encoded, and reads the response without parsing it. */
export function prepareRequest(
  app: TestApp,
  { method, path, body, headers = {} }: CostRequest,
  session?: TestSession,
): Prepared {
  const bytes = body === undefined ? undefined : Buffer.from(body)
  return {
    bytes: path.length + (bytes?.length ?? 0),
    execute: () =>
      new Promise((resolve, reject) => {
        const outgoing = request(
          app.url + path,
          {
            method,
            agent: false,
            headers: {
              'x-forwarded-for': newAddress(),
              ...(session ? { cookie: session.cookie, 'x-tenant-id': session.tenantId } : {}),
              ...(bytes ? { 'content-type': 'application/json', 'content-length': String(bytes.length) } : {}),
              ...headers,
            },
          },
          (response) => {
            text(response).then(() => resolve(response.statusCode ?? 0), reject)
          },
        )
        outgoing.on('error', reject)
        outgoing.end(bytes)
      }),
  }
}

/** Returns the largest number of entries of a size that fit into some bytes. */
export function countWithin(bytesMax: number, entry: unknown): number {
  return Math.floor(bytesMax / (JSON.stringify(entry).length + 1))
}

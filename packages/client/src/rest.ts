import createFetchClient, { type Client } from 'openapi-fetch'
import { type ParleyOptions, readHeaders, toBase, toFetch } from './options.ts'
import type { paths } from './paths.ts'

export type { paths }
export type { ParleyOptions } from './options.ts'
export type ParleyRestClient = Client<paths>

/** Creates a client of the REST API: `rest.GET('/api/contacts', { params: { query: { limit: 5 } } })`. */
export function createParleyRestClient(options: ParleyOptions): ParleyRestClient {
  const call = toFetch(options)
  return createFetchClient<paths>({
    baseUrl: toBase(options),
    fetch: async (request) => {
      for (const [name, value] of Object.entries(await readHeaders(options))) request.headers.set(name, value)
      return call(request)
    },
  })
}

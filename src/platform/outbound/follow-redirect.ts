import { OutboundError } from './outbound-error.ts'
import { isSensitiveName } from '../security/sensitive-name.ts'
import { checkUrl } from './check-url.ts'

export type Hop = {
  url: URL
  method: string
  headers: Record<string, string>
  body: string | null
  /** Names, in lower case, of headers that are secret in addition to those with a sensitive name. */
  sealedHeaders: readonly string[]
  /** Names of query parameters that are secret. */
  sealedParameters: readonly string[]
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/**
 * Builds the next request of a redirect and checks its URL like the first; undefined if the response is no redirect.
 * Secret headers, secret parameters and the body, which may be as secret, are not sent to another origin.
 * @throws OutboundError
 */
export function followRedirect(
  hop: Hop,
  response: { status: number; location: string | undefined },
  rules: { allowsLoopback: boolean },
): Hop | undefined {
  const { status, location } = response
  if (!REDIRECTS.has(status) || location === undefined) return undefined
  if (!URL.canParse(location, hop.url.href))
    throw new OutboundError('invalid_url', 'The response redirects to a URL that is not valid')
  const url = checkUrl(new URL(location, hop.url).href, rules)
  const isSameOrigin = url.origin === hop.url.origin
  if (!isSameOrigin) for (const name of hop.sealedParameters) url.searchParams.delete(name)
  // As in browsers, these redirects are followed with GET and without a body.
  const becomesGet = status === 303 || (status < 303 && hop.method === 'POST')
  const losesBody = becomesGet || !isSameOrigin
  const headers = Object.entries(hop.headers).filter(
    ([name]) => (isSameOrigin || !isSecret(name, hop)) && !(losesBody && /^content-/i.test(name)),
  )
  return {
    ...hop,
    url,
    method: becomesGet ? 'GET' : hop.method,
    headers: Object.fromEntries(headers),
    body: losesBody ? null : hop.body,
  }
}

function isSecret(name: string, { sealedHeaders }: Hop): boolean {
  const lowerCase = name.toLowerCase()
  return lowerCase === 'idempotency-key' || isSensitiveName(name) || sealedHeaders.includes(lowerCase)
}

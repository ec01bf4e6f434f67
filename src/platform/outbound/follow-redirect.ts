import { OutboundError } from './outbound-error.ts'
import { isSensitiveName } from '../security/sensitive-name.ts'
import { checkUrl } from './check-url.ts'

export type Hop = {
  url: URL
  method: string
  headers: Record<string, string>
  body: string | null
  /** Headers, in small letters, that are as secret as those whose names say so. */
  sealedHeaders: readonly string[]
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/**
 * Where an answer sends the call on to, vetted like the first address; undefined for an answer that is one. Another
 * origin is not told what was meant for the first.
 * @throws OutsideRefused
 */
export function followRedirect(
  hop: Hop,
  answer: { status: number; location: string | undefined },
  rules: { allowsLoopback: boolean },
): Hop | undefined {
  const { status, location } = answer
  if (!REDIRECTS.has(status) || location === undefined) return undefined
  if (!URL.canParse(location, hop.url.href))
    throw new OutboundError('invalid_url', 'The answer leads to no readable URL')
  const url = checkUrl(new URL(location, hop.url).href, rules)
  const isSameOrigin = url.origin === hop.url.origin
  // As browsers do: after these the answer is fetched, not sent for once more.
  const isFetched = status === 303 || (status < 303 && hop.method === 'POST')
  const headers = Object.entries(hop.headers).filter(
    ([name]) => (isSameOrigin || !isPrivate(name, hop)) && !(isFetched && /^content-/i.test(name)),
  )
  return {
    ...hop,
    url,
    method: isFetched ? 'GET' : hop.method,
    headers: Object.fromEntries(headers),
    body: isFetched ? null : hop.body,
  }
}

function isPrivate(name: string, { sealedHeaders }: Hop): boolean {
  const small = name.toLowerCase()
  return small === 'idempotency-key' || isSensitiveName(name) || sealedHeaders.includes(small)
}

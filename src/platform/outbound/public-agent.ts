import { Agent } from 'undici'
import { checkedLookup, type Resolve, resolveName } from './resolve-name.ts'

type AgentOptions = {
  /** True if loopback addresses may be called. */
  allowsLoopback: boolean
  connectTimeoutMs: number
  resolve?: Resolve | undefined
}

/**
 * Creates an HTTP agent that connects to public hosts only. The addresses of a name are checked when a connection is
 * made. The caller bounds the time of its requests.
 */
export function createPublicAgent({ allowsLoopback, connectTimeoutMs, resolve = resolveName }: AgentOptions): Agent {
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { lookup: checkedLookup(resolve, { allowsLoopback }), timeout: connectTimeoutMs },
  })
}

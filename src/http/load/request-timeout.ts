import type { IncomingMessage, RequestListener } from 'node:http'

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>()

/**
 * Calls `onTimeout` for requests whose body does not arrive in time. Node's own timeout would be the same for all
 * requests, and some take longer.
 */
export function limitRequestTime(
  listener: RequestListener,
  { timeoutMs, onTimeout }: { timeoutMs: number; onTimeout(req: IncomingMessage): void },
): RequestListener {
  return (req, res) => {
    if (hasBody(req)) {
      const timer = setTimeout(() => {
        if (!req.complete) onTimeout(req)
      }, timeoutMs)
      timers.set(req, timer)
      const stop = () => clearTimeout(timer)
      req.once('end', stop)
      req.once('close', stop)
    }
    listener(req, res)
  }
}

/** Lifts the timeout of a request whose body has limits of its own. */
export function liftRequestTimeout(req: IncomingMessage): void {
  clearTimeout(timers.get(req))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

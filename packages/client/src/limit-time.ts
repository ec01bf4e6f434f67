import { TRPCClientError, type TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import type { AppRouter } from './server.ts'

/** The cause of the error of a call without an answer in time. */
export class ParleyTimeoutError extends Error {
  override name = 'ParleyTimeoutError'
}

/** Ends calls after a time. Those of a batch end one by one; its request is aborted once none of them is left. */
export function limitTime(timeoutMs: number): TRPCLink<AppRouter> {
  return () =>
    ({ op, next }) =>
      observable((observer) => {
        const given = op.context['timeoutMs']
        const ms = typeof given === 'number' ? given : timeoutMs
        const ended = new AbortController()
        const signal = op.signal ? AbortSignal.any([op.signal, ended.signal]) : ended.signal
        const timer = setTimeout(() => {
          observer.error(TRPCClientError.from(new ParleyTimeoutError(describe(op, ms))))
          ended.abort()
        }, ms)
        const call = next({ ...op, signal }).subscribe(observer)
        return () => {
          clearTimeout(timer)
          call.unsubscribe()
        }
      })
}

function describe({ path, type }: { path: string; type: string }, ms: number): string {
  const unknown = type === 'mutation' ? '. It may have been carried out: read the state before you repeat it' : ''
  return `No answer to ${path} within ${ms} ms (timeoutMs)${unknown}`
}

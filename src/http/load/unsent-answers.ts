import type { ServerResponse } from 'node:http'
import type { Middleware } from 'koa'
import { clientNetwork } from '../../platform/client-address.ts'
import { SECOND } from '../../platform/time.ts'
import type { Admission } from './admission.ts'

/** Bytes of answers that a process keeps for clients which do not take them. */
export const UNSENT_BYTES_MAX = 64 * 1024 * 1024
const SWEEP_MS = 2 * SECOND

type Answer = { res: ServerResponse; client: string; wasUnsent: boolean }
type Late = { res: ServerResponse; bytes: number }
type Options = { admission: Admission; bytesMax?: number; sweepMs?: number }

/**
 * Bounds the answers in memory that their clients do not take: a client that takes a few bytes now and then is never idle,
 * and each of its connections may keep the longest list. When they are too many bytes, connections are closed, those of
 * the client with the most bytes first, and of them the one that has been open for longest. An answer counts when it was
 * unsent at the sweep before, too, so that clients which take their answers at once lose none.
 */
export class UnsentAnswers {
  readonly #answers = new Set<Answer>()
  readonly #admission: Admission
  readonly #bytesMax: number
  readonly #timer: NodeJS.Timeout

  constructor({ admission, bytesMax = UNSENT_BYTES_MAX, sweepMs = SWEEP_MS }: Options) {
    this.#admission = admission
    this.#bytesMax = bytesMax
    this.#timer = setInterval(() => this.#sweep(), sweepMs)
    this.#timer.unref()
  }

  add(res: ServerResponse, client: string): void {
    const answer: Answer = { res, client, wasUnsent: false }
    this.#answers.add(answer)
    res.once('close', () => this.#answers.delete(answer))
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sweep(): void {
    const byClient = new Map<string, { bytes: number; late: Late[] }>()
    let bytesOfAll = 0
    for (const answer of this.#answers) {
      const { res, client, wasUnsent } = answer
      const bytes = res.writableLength
      answer.wasUnsent = bytes > 0
      if (!wasUnsent || bytes === 0) continue
      const group = byClient.get(client) ?? { bytes: 0, late: [] }
      group.bytes += bytes
      group.late.push({ res, bytes })
      byClient.set(client, group)
      bytesOfAll += bytes
    }
    if (bytesOfAll <= this.#bytesMax) return
    for (const [client, { late }] of [...byClient].toSorted(([, a], [, b]) => b.bytes - a.bytes)) {
      if (bytesOfAll <= this.#bytesMax) return
      for (const { res, bytes } of late) {
        if (bytesOfAll <= this.#bytesMax) return
        this.#admission.reject('unsentBytes', client)
        res.destroy()
        bytesOfAll -= bytes
      }
    }
  }
}

/** Counts the answer of each request while its client has not taken it. */
export function boundAnswers(answers: UnsentAnswers): Middleware {
  return function addAnswer(ctx, next) {
    answers.add(ctx.res, clientNetwork(ctx.state['addressKey']))
    return next()
  }
}

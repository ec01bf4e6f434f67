import type { Middleware } from 'koa'
import { clientNetwork } from '../../platform/client-address.ts'
import { type Share, SharedSlots } from '../../platform/concurrency/shared-slots.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { Admission } from './admission.ts'

/** Bytes of request bodies that a process keeps in memory at once. */
const BODIES_BYTES_MAX = 64 * 1024 * 1024

/** The part of them that one client may use: an address of IPv4, or a /48 network, which one line of IPv6 may have. */
const SHARE = 0.25
const RETRY_AFTER_SECONDS = 2

/** Counts the bytes of one body. */
export type BodyMeter = {
  /** Announces that the body is being read. `giveUp` ends that when the bytes are needed for others. */
  start(giveUp: (error: Error) => void): void
  /** @throws UnavailableError if the bodies of all requests together, or of this client, are too large */
  add(bytes: number): void
  /** Announces that the body has arrived whole. */
  complete(): void
  release(): void
}

type Body = { share: Share; bytes: number; isOver: boolean; giveUp: (error: Error) => void }

/**
 * The bytes that all requests of a process have read and not yet answered. When they are too many, the body that has
 * been arriving for longest is given up: clients that send slowly, however many, do not keep out those that send at once.
 */
export class BodyBudget {
  readonly #admission: Admission
  readonly #bytes: SharedSlots
  readonly #clientMax: number
  /** Bodies of which some has arrived, the longest first. */
  readonly #arriving = new Set<Body>()

  constructor({ admission, bytesMax = BODIES_BYTES_MAX }: { admission: Admission; bytesMax?: number }) {
    this.#admission = admission
    this.#bytes = new SharedSlots({ width: bytesMax })
    this.#clientMax = bytesMax * SHARE
  }

  /** Opens the meter of a request of this client. */
  open(client: string): BodyMeter {
    const share = { key: client, max: this.#clientMax }
    const body: Body = { share, bytes: 0, isOver: false, giveUp: () => undefined }
    return {
      start: (giveUp) => (body.giveUp = giveUp),
      add: (bytes) => this.#add(body, bytes),
      complete: () => this.#arriving.delete(body),
      release: () => this.#release(body),
    }
  }

  #add(body: Body, bytes: number): void {
    if (body.isOver || this.#bytes.findExhausted([body.share], bytes)) throw this.#reject(body)
    this.#arriving.add(body)
    for (const other of this.#arriving) {
      if (bytes <= this.#bytes.free) break
      if (other === body) continue
      const error = this.#reject(other)
      this.#release(other)
      other.giveUp(error)
    }
    if (bytes > this.#bytes.free) throw this.#reject(body)
    this.#bytes.add([body.share], bytes)
    body.bytes += bytes
  }

  #release(body: Body): void {
    body.isOver = true
    this.#arriving.delete(body)
    this.#bytes.add([body.share], -body.bytes)
    body.bytes = 0
  }

  #reject({ share, isOver }: Body): UnavailableError {
    if (!isOver) this.#admission.reject('bodyBytes', share.key)
    return new UnavailableError('The server is reading too many requests, please try again', RETRY_AFTER_SECONDS)
  }
}

/** Gives each request a meter of its body, which counts until the request is answered or broken off. */
export function boundBodies(budget: BodyBudget): Middleware {
  return function openMeter(ctx, next) {
    const meter = budget.open(clientNetwork(ctx.state['addressKey']))
    ctx.state['bodyMeter'] = meter
    ctx.res.once('close', () => meter.release())
    return next()
  }
}

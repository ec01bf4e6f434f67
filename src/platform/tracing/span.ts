import { randomUUID } from 'node:crypto'
import { AppError, BadGatewayError, UnavailableError } from '../errors.ts'
import { getField } from '../fields.ts'

/** Values of a span. They name no person and contain nothing that a customer wrote. */
export type Attributes = Record<string, string | number | boolean | null | undefined>

export type SpanKind = 'internal' | 'server' | 'client'

export type EndedSpan = {
  name: string
  kind: SpanKind
  traceId: string
  spanId: string
  /** Undefined for the first span of a trace. */
  parentId: string | undefined
  startMs: number
  endMs: number
  attributes: Attributes
  /** Code or name of the error; undefined without one. */
  error: string | undefined
}

/** The trace to which a span belongs. */
type Origin = {
  traceId: string
  parentId: string | undefined
  /** Spans of other traces are exported only if they failed. */
  isSampled: boolean
  /** The time at which `performance.now()` was 0. */
  offsetMs: number
  export: (span: EndedSpan) => void
}

/** Opens spans: those of a span continue its trace. `startedAt` is a value of `performance.now()`. */
export interface SpanParent {
  child(name: string, attributes?: Attributes, startedAt?: number): Span
}

/** Finds the span that work for a mailbox belongs to. */
export type FindSpan = (mailboxId: string) => Span | undefined

export class Span implements SpanParent {
  readonly spanId = randomUUID().replaceAll('-', '').slice(0, 16)
  readonly #origin: Origin
  readonly #name: string
  readonly #startedAt: number
  #attributes: Attributes
  #hasEnded = false

  constructor(origin: Origin, name: string, attributes: Attributes = {}, startedAt = performance.now()) {
    this.#origin = origin
    this.#name = name
    this.#startedAt = startedAt
    this.#attributes = attributes
  }

  get traceId(): string {
    return this.#origin.traceId
  }

  get isSampled(): boolean {
    return this.#origin.isSampled
  }

  /** The context under which other processes continue the trace; undefined for one that is not sampled. */
  get traceparent(): string | undefined {
    return this.isSampled ? `00-${this.traceId}-${this.spanId}-01` : undefined
  }

  child(name: string, attributes?: Attributes, startedAt?: number): Span {
    return new Span({ ...this.#origin, parentId: this.spanId }, name, attributes, startedAt)
  }

  set(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes }
  }

  /** Ends the span. What ends it first counts. */
  end(): void {
    this.#end(undefined)
  }

  /** Ends the span with an error, unless that only tells the caller what to do differently. */
  fail(error: unknown): void {
    this.#end(toReason(error))
  }

  #end(error: string | undefined): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const { traceId, parentId, isSampled, offsetMs } = this.#origin
    if (!isSampled && error === undefined) return
    this.#origin.export({
      name: this.#name,
      kind: toKind(this.#name),
      traceId,
      spanId: this.spanId,
      parentId,
      startMs: offsetMs + this.#startedAt,
      endMs: offsetMs + performance.now(),
      attributes: this.#attributes,
      error,
    })
  }
}

function toKind(name: string): SpanKind {
  if (name === 'http.request') return 'server'
  return name === 'provider.send' || name === 'external.call' ? 'client' : 'internal'
}

/** Returns the code or name of an error, as its message may contain personal data. A text is a code. */
function toReason(error: unknown): string | undefined {
  if (typeof error === 'string') return error
  const isOurs = error instanceof UnavailableError || error instanceof BadGatewayError
  if (error instanceof AppError && !isOurs) return undefined
  const code = getField(error, 'code')
  if (typeof code === 'string') return code.slice(0, 100)
  return error instanceof Error ? error.name : 'Error'
}

/** Does work in a span, which fails if the work does. Without a parent nothing is traced. */
export function withSpan<T>(
  parent: SpanParent | undefined,
  name: string,
  attributes: Attributes,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  return parent ? recordSpan(parent.child(name, attributes), work) : work(undefined)
}

/** Does work in a span that was opened for it. */
export async function recordSpan<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await work(span)
  } catch (error) {
    span.fail(error)
    throw error
  } finally {
    span.end()
  }
}

import { randomUUID } from 'node:crypto'
import type { Logger, ProcessFields } from '../log.ts'
import { SECOND, systemClock } from '../time.ts'
import type { TracingSettings } from './otlp-exporter.ts'
import { type Attributes, type EndedSpan, Span, type SpanParent } from './span.ts'

type Options = {
  sampledPart: number
  export: (span: EndedSpan) => void
  /** Exports what is left, within a second. */
  close: () => Promise<void>
}

/** Traces that callers may demand in a second: anybody can send a header. */
const DEMANDED_MAX = 10

/** The header of W3C, with IDs that are not 0. Versions after 00 may append fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/

type Context = { traceId: string; parentId: string | undefined; isSampled: boolean }

/**
 * Begins and continues traces. It is a parent of spans, too: those without a trace, which are exported only if they fail.
 * Its spans have the times of the clock that all processes share.
 */
export class Tracing implements SpanParent {
  readonly #options: Options
  #demanded = { since: 0, count: 0 }

  constructor(options: Options) {
    this.#options = options
  }

  /** Begins the span of a request, which continues the trace of its caller, if the header `traceparent` names one. */
  accept(traceparent: string, name: string, attributes?: Attributes): Span {
    const caller = parseTraceparent(traceparent)
    if (!caller) return this.begin(name, attributes)
    const isSampled = caller.isSampled && (this.#mayDemand() || this.#isChosen())
    return this.#open({ ...caller, isSampled }, name, attributes)
  }

  /** Begins a trace, of which a part is sampled. */
  begin(name: string, attributes?: Attributes, startedAt?: number): Span {
    return this.#open({ ...newContext(), isSampled: this.#isChosen() }, name, attributes, startedAt)
  }

  /** Continues the trace of a stored context; undefined without one. */
  resume(
    traceparent: string | null | undefined,
    name: string,
    attributes?: Attributes,
    startedAt?: number,
  ): Span | undefined {
    const context = traceparent ? parseTraceparent(traceparent) : undefined
    return context && this.#open(context, name, attributes, startedAt)
  }

  child(name: string, attributes?: Attributes, startedAt?: number): Span {
    return this.#open({ ...newContext(), isSampled: false }, name, attributes, startedAt)
  }

  close(): Promise<void> {
    return this.#options.close()
  }

  #open(context: Context, name: string, attributes?: Attributes, startedAt?: number): Span {
    const offsetMs = systemClock.now().getTime() - performance.now()
    return new Span({ ...context, offsetMs, export: this.#options.export }, name, attributes, startedAt)
  }

  #isChosen(): boolean {
    return Math.random() < this.#options.sampledPart
  }

  #mayDemand(): boolean {
    const now = performance.now()
    if (now - this.#demanded.since >= SECOND) this.#demanded = { since: now, count: 0 }
    this.#demanded.count += 1
    return this.#demanded.count <= DEMANDED_MAX
  }
}

function newContext(): Pick<Context, 'traceId' | 'parentId'> {
  return { traceId: randomUUID().replaceAll('-', ''), parentId: undefined }
}

function parseTraceparent(text: string): Context | undefined {
  const [, traceId, parentId, flags] = TRACEPARENT.exec(text) ?? []
  if (!traceId || !parentId || !flags) return undefined
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Opens the export of traces; undefined without settings, and then the libraries for it are not loaded. */
export async function openTracing(
  settings: TracingSettings | undefined,
  { log, process }: { log: Logger; process: ProcessFields },
): Promise<Tracing | undefined> {
  if (!settings) return undefined
  const { openExporter } = await import('./otlp-exporter.ts')
  return new Tracing({ sampledPart: settings.sampledPart, ...openExporter(settings, { log, process }) })
}

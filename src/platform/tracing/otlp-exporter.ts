import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace'
import { withinTime } from '../concurrency/deadline.ts'
import type { Logger, ProcessFields } from '../log.ts'
import { MINUTE, SECOND } from '../time.ts'
import type { Attributes, EndedSpan, SpanKind } from './span.ts'

export type TracingSettings = {
  /** Base address of a receiver of OTLP over HTTP. */
  endpoint: string
  headers: Record<string, string>
  serviceName: string
  /** The part of the traces that is exported, from 0 to 1. */
  sampledPart: number
}

/** Spans that wait to be sent; further ones are dropped. */
const WAITING_MAX = 2048
const BATCH_MAX = 512
const SEND_EVERY_MS = 5 * SECOND
const SEND_MAX_MS = 5 * SECOND
/** One at a time, and at the end one for each batch that waits. */
const REQUESTS_MAX = 1 + WAITING_MAX / BATCH_MAX
const CLOSE_MAX_MS = 800
const FAILURE_EVERY_MS = MINUTE

/** The numbers of OpenTelemetry. */
const KINDS: Record<SpanKind, number> = { internal: 0, server: 1, client: 2 }
const UNSET = 0
const ERROR = 2
const SAMPLED = 1

/** Sends spans to a receiver of OTLP as JSON over HTTP. Nothing waits for it. */
export function openExporter(
  { endpoint, headers, serviceName }: TracingSettings,
  { log, process }: { log: Logger; process: ProcessFields },
): { export: (span: EndedSpan) => void; close: () => Promise<void> } {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers,
    timeoutMillis: SEND_MAX_MS,
    concurrencyLimit: REQUESTS_MAX,
  })
  const processor = new BatchSpanProcessor({
    exporter: reportFailures(exporter, log),
    maxQueueSize: WAITING_MAX,
    maxExportBatchSize: BATCH_MAX,
    scheduledDelayMillis: SEND_EVERY_MS,
    exportTimeoutMillis: SEND_MAX_MS,
  })
  const shared = {
    resource: resourceFromAttributes({
      'service.name': serviceName,
      'service.version': process.version,
      'service.instance.id': process.process,
      'parley.role': process.role,
    }),
    instrumentationScope: { name: 'parley', version: process.version },
    links: [],
    events: [],
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
  return {
    export: (span) => processor.onEnd({ ...shared, ...toReadable(span) }),
    // What cannot be sent now is lost: a stop does not wait for it.
    close: () => withinTime(CLOSE_MAX_MS, processor.shutdown()).catch(() => undefined),
  }
}

function toReadable(span: EndedSpan) {
  const { traceId, spanId, parentId, startMs, endMs, error } = span
  const context = { traceId, spanId, traceFlags: SAMPLED }
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => context,
    ...(parentId === undefined ? {} : { parentSpanContext: { traceId, spanId: parentId, traceFlags: SAMPLED } }),
    startTime: toHrTime(startMs),
    endTime: toHrTime(endMs),
    duration: toHrTime(endMs - startMs),
    status: { code: error === undefined ? UNSET : ERROR },
    attributes: toAttributes(error === undefined ? span.attributes : { ...span.attributes, 'error.type': error }),
  } satisfies Partial<ReadableSpan>
}

function toHrTime(ms: number): [number, number] {
  const seconds = Math.trunc(ms / SECOND)
  return [seconds, Math.round((ms - seconds * SECOND) * 1e6)]
}

function toAttributes(attributes: Attributes): ReadableSpan['attributes'] {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value == null ? [] : [[name, value]])),
  )
}

/** Logs a failure at most once in a minute. */
function reportFailures(exporter: SpanExporter, log: Logger): SpanExporter {
  let reportedAt = -Infinity
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0 && performance.now() - reportedAt > FAILURE_EVERY_MS) {
          reportedAt = performance.now()
          log.warn({ event: 'traces_not_sent', err: result.error, spans: spans.length }, 'spans could not be sent')
        }
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

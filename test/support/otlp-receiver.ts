import { SECOND } from '../../src/platform/time.ts'
import { ScriptedServer } from './scripted-server.ts'

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean }
type Attribute = { key: string; value: Value }
type OtlpSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  status: { code: number }
}
type Export = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[]
}

export type ReceivedSpan = Omit<OtlpSpan, 'attributes' | 'status' | 'startTimeUnixNano' | 'endTimeUnixNano'> & {
  hasFailed: boolean
  startMs: number
  durationMs: number
  attributes: Record<string, unknown>
  /** Attributes of the process that has sent the span. */
  resource: Record<string, unknown>
}

/** A receiver of OTLP as JSON over HTTP. It answers every call, unless its server is told to do otherwise. */
export class OtlpReceiver {
  readonly server: ScriptedServer

  private constructor(server: ScriptedServer) {
    this.server = server
  }

  static async start(): Promise<OtlpReceiver> {
    return new OtlpReceiver(await ScriptedServer.start())
  }

  get spans(): ReceivedSpan[] {
    return this.server.calls.flatMap(({ body }) => toSpans(JSON.parse(body) as Export))
  }

  /** The spans of a trace in the order in which they began. */
  listTrace(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId).sort((a, b) => a.startMs - b.startMs)
  }

  stop(): Promise<void> {
    return this.server.stop()
  }
}

function toSpans({ resourceSpans }: Export): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ startTimeUnixNano: start, endTimeUnixNano: end, status, attributes, ...span }) => ({
        ...span,
        hasFailed: status.code === 2,
        startMs: Number(start) / (SECOND * SECOND),
        durationMs: Number(BigInt(end) - BigInt(start)) / (SECOND * SECOND),
        attributes: toObject(attributes),
        resource: toObject(resource.attributes),
      })),
    ),
  )
}

function toObject(attributes: Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

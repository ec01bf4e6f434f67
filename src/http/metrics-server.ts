import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { withinTime } from '../platform/concurrency/deadline.ts'
import { renderMetrics } from '../platform/metrics.ts'
import { SECOND } from '../platform/time.ts'
import { LIVENESS_PATH, READINESS_PATH } from './paths.ts'

/** Answers of the server of metrics. Each may be called at any time, also while the process starts or stops. */
export type MetricsSource = {
  /** Returns the reason why this process is not ready, if there is one. */
  findReadinessProblem(): Promise<string | undefined>
  describe(): Promise<object>
  /** Sets the gauges of what this process has at the moment. */
  readGauges(): void
}

/** Scrapers and supervisors are few, and keep their connections. */
const CONNECTIONS_MAX = 50
const REQUEST_MAX_MS = 5 * SECOND
/** Longer than the readiness check waits for the database. */
const ANSWER_MAX_MS = 8 * SECOND

type Answer = { status: number; type: string; body: string }

/** Listens for scrapers and health checks: `/metrics`, `/healthz`, `/readyz` and `/info`, for GET and HEAD. */
export async function startMetricsServer(
  { host, port }: { host: string; port: number },
  source: MetricsSource,
): Promise<Server> {
  const server = createServer(
    { requestTimeout: REQUEST_MAX_MS, headersTimeout: REQUEST_MAX_MS, connectionsCheckingInterval: SECOND },
    answerWith(source),
  )
  server.maxConnections = CONNECTIONS_MAX
  server.listen(port, host)
  await once(server, 'listening')
  return server
}

/** Closes the server with its connections. */
export async function stopMetricsServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

function answerWith(source: MetricsSource): RequestListener {
  return (req, res) => {
    // Nothing reads a body, so the connection of a request with one ends with its answer.
    if (req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0)
      res.shouldKeepAlive = false
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    const path = req.url?.split('?', 1)[0] ?? ''
    const answered = isRead ? answer(source, path) : Promise.resolve(toJson(405, { error: 'Use GET' }))
    withinTime(ANSWER_MAX_MS, answered)
      .catch(() => toJson(503, { status: 'unavailable' }))
      .then(
        ({ status, type, body }) => {
          const headers = {
            'Content-Type': type,
            'Content-Length': Buffer.byteLength(body),
            'Cache-Control': 'no-store',
          }
          res.writeHead(status, isRead ? headers : { ...headers, Allow: 'GET, HEAD' }).end(body)
        },
        () => res.destroy(),
      )
  }
}

async function answer(source: MetricsSource, path: string): Promise<Answer> {
  switch (path) {
    case '/metrics': {
      source.readGauges()
      const { text, type } = await renderMetrics()
      return { status: 200, type, body: text }
    }
    case LIVENESS_PATH:
      return toJson(200, { status: 'ok' })
    case READINESS_PATH: {
      const problem = await source.findReadinessProblem()
      return problem ? toJson(503, { status: 'unavailable', reason: problem }) : toJson(200, { status: 'ok' })
    }
    case '/info':
      return toJson(200, await source.describe())
    default:
      return toJson(404, { error: 'There is /metrics, /healthz, /readyz and /info' })
  }
}

function toJson(status: number, value: object): Answer {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(value) }
}

import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type BodyCode, toDocUrl } from '../../error-codes/index.ts'
import { addressKey } from '../../platform/client-address.ts'
import { newId } from '../../platform/ids.ts'
import type { Logger } from '../../platform/log.ts'
import { SECOND } from '../../platform/time.ts'
import type { IsProxy } from '../security/security-headers.ts'
import { Admission } from './admission.ts'
import { limitRequestTime } from './request-timeout.ts'

/** Bounds on connections. They keep clients that send slowly, or nothing, from using up the file descriptors. */
export type ConnectionLimits = {
  connectionsMax: number
  /** Share of one client address. */
  connectionsPerAddressMax: number
  headersTimeoutMs: number
  /** Time in which a body must arrive, unless it has limits of its own. */
  requestTimeoutMs: number
  /** The idle time that answers announce. */
  keepAliveMs: number
  /**
   * Idle time after which a connection is closed: longer than announced, and longer than proxies use one, which have a
   * setting of their own. Otherwise a request could meet a connection that is just being closed.
   */
  idleCloseMs: { client: number; proxy: number }
  /** Interval at which the timeouts are checked. */
  checkEveryMs: number
  /** The time in which the client of a rejected request must take its answer. */
  flushMs: number
  /** The time in which a client must take some of an answer, or the server must have something to send. */
  idleMs: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  connectionsMax: 10_000,
  connectionsPerAddressMax: 1000,
  headersTimeoutMs: 10 * SECOND,
  requestTimeoutMs: 30 * SECOND,
  keepAliveMs: 5 * SECOND,
  idleCloseMs: { client: 8 * SECOND, proxy: 75 * SECOND },
  checkEveryMs: 2 * SECOND,
  flushMs: 2 * SECOND,
  idleMs: 60 * SECOND,
}

/**
 * Creates the Node server. Errors of its HTTP parser, which Koa never sees, get the same form as all others, and their
 * connections are destroyed: the server ends only its own side, and a client could keep the other open for ever.
 */
export function createNodeServer(
  listener: RequestListener,
  {
    log,
    isProxy,
    limits = CONNECTION_LIMITS,
    admission = new Admission(log),
  }: { log: Logger; isProxy: IsProxy; limits?: ConnectionLimits; admission?: Admission },
): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      // Bodies have a timeout each.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.checkEveryMs,
    },
    rejectPipelining(
      limitRequestTime(keepIdle(listener, limits.idleCloseMs, isProxy), {
        timeoutMs: limits.requestTimeoutMs,
        onTimeout: ({ socket }) => closeWith(socket, errorAnswer('ERR_HTTP_REQUEST_TIMEOUT'), limits.flushMs),
      }),
    ),
  )
  server.timeout = limits.idleMs
  server.maxConnections = limits.connectionsMax
  server.on('connection', limitPerAddress(limits.connectionsPerAddressMax, { admission, isProxy }))
  server.on('drop', () => admission.reject('connections'))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    log.debug({ code: error.code }, 'request rejected by the HTTP parser')
    if (!socket.writable) socket.destroy()
    else closeWith(socket, errorAnswer(error.code), limits.flushMs)
  })
  return server
}

/** Destroys connections beyond the share of their address. The clients of a trusted proxy share its address and no limit. */
function limitPerAddress(max: number, { admission, isProxy }: { admission: Admission; isProxy: IsProxy }) {
  return (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || isProxy(remoteAddress)) return
    const key = addressKey(remoteAddress)
    const release = admission.take('connections', key, [{ key, max }])
    if (typeof release === 'function') socket.once('close', release)
    else socket.destroy()
  }
}

/** Each part that holds something for an answer listens to its end: about ten, of which Node would warn. */
const LISTENERS_MAX = 20

/**
 * Destroys a connection that sends a request before the answer to the previous one. Node emits no event for the answers
 * that still wait for an earlier one when their connection ends, so nothing would release what their requests use. A
 * client that has read the last byte of an answer may send a request before the answer has ended here: that one waits.
 */
function rejectPipelining(listener: RequestListener): RequestListener {
  const answers = new WeakMap<Socket, ServerResponse>()
  const waiting = new WeakSet<Socket>()
  const start: RequestListener = (req, res) => {
    const { socket } = req
    answers.set(socket, res)
    res.setMaxListeners(LISTENERS_MAX)
    res.once('close', () => answers.delete(socket))
    listener(req, res)
  }
  return (req, res) => {
    const { socket } = req
    const previous = answers.get(socket)
    if (!previous) return void start(req, res)
    if (!previous.headersSent || waiting.has(socket)) return void socket.destroy()
    waiting.add(socket)
    previous.once('close', () => {
      waiting.delete(socket)
      if (socket.writable) start(req, res)
    })
  }
}

/** Sets the idle time of a connection after each answer, as Node closes it exactly when the announced time is over. */
function keepIdle(
  listener: RequestListener,
  { client, proxy }: ConnectionLimits['idleCloseMs'],
  isProxy: IsProxy,
): RequestListener {
  return (req, res) => {
    const { socket } = req
    const idleMs = isProxy(socket.remoteAddress ?? '') ? proxy : client
    res.once('finish', () => socket.setTimeout(idleMs))
    listener(req, res)
  }
}

function closeWith(socket: Duplex, answer: string, flushMs: number): void {
  const timer = setTimeout(() => socket.destroy(), flushMs)
  socket.once('close', () => clearTimeout(timer))
  socket.end(answer, () => socket.destroy())
}

function errorAnswer(errorCode: string | undefined): string {
  const [line, code, text]: [line: string, code: BodyCode, text: string] =
    errorCode === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'headers_too_large', 'The request headers are too large']
      : errorCode === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'request_timeout', 'The request did not arrive in time']
        : ['400 Bad Request', 'bad_request', 'The request is not valid HTTP']
  const body = JSON.stringify({ error: text, code, docUrl: toDocUrl(code) })
  const head = [
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Connection: close',
    `X-Request-Id: ${newId()}`,
  ]
  return `HTTP/1.1 ${line}\r\n${head.join('\r\n')}\r\n\r\n${body}`
}

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { getField } from '../src/platform/fields.ts'

/**
 * The behavior of the receiver of webhooks. In every mode but `away`, in which it refuses connections, it answers each second
 * event as it should.
 */
export type ReceiverMode = 'well' | 'slow' | 'error' | 'busy' | 'cut' | 'hang' | 'away'

/** Messages from the chaos test to the receiver. */
export type ReceiverCommand =
  | { kind: 'start'; port: number; file: string; secrets: [path: string, secret: string][] }
  | { kind: 'add_secret'; path: string; secret: string }
  | { kind: 'change_mode'; mode: ReceiverMode }

/** A call as the receiver records it before it answers. `isSigned` is null while it does not know the secret yet. */
export type RecordedCall = {
  path: string
  eventId: string
  tenantId: string
  sequence: number
  type: string
  /** Time of the signature, in seconds, by the clock of the sender. */
  signedAt: number
  bodyHash: string
  isSigned: boolean | null
}

/** A line of its records: a call, the status with which it is about to be answered, or a connection that ended before. */
export type ReceiverRecord = { call: string } & (
  { kind: 'received'; event: RecordedCall } | { kind: 'answered'; status: number } | { kind: 'lost' }
)

const SLOW_MS = 800
const RETRY_AFTER_SECONDS = '1'

let file = ''
let port = 0
let mode: ReceiverMode = 'well'
let calls = 0
const secrets = new Map<string, string>()

/** Written at once, so that a kill loses nothing. */
function write(record: ReceiverRecord): void {
  fs.appendFileSync(file, `${JSON.stringify(record)}\n`)
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString()
    calls += 1
    const call = `${process.pid}.${calls}`
    write({ call, kind: 'received', event: toRecordedCall(request, body) })
    response.on('close', () => {
      if (!response.writableFinished) write({ call, kind: 'lost' })
    })
    if (!secrets.has(request.url ?? '')) return answer(response, call, 503)
    return respond(response, call, calls % 2 === 0 ? 'well' : mode)
  })
})

function respond(response: ServerResponse, call: string, how: ReceiverMode): void {
  if (how === 'hang') return
  if (how === 'cut') return void response.destroy()
  if (how === 'slow') return void setTimeout(() => answer(response, call, 200), SLOW_MS)
  if (how === 'error') return answer(response, call, 500)
  if (how === 'busy') response.setHeader('retry-after', RETRY_AFTER_SECONDS)
  answer(response, call, how === 'busy' ? 503 : 200)
}

function answer(response: ServerResponse, call: string, status: number): void {
  if (response.destroyed) return
  write({ call, kind: 'answered', status })
  response.writeHead(status).end()
}

function toRecordedCall({ url = '', headers }: IncomingMessage, body: string): RecordedCall {
  const event: unknown = JSON.parse(body)
  const secret = secrets.get(url)
  return {
    path: url,
    eventId: String(getField(event, 'id')),
    tenantId: String(getField(event, 'workspaceId')),
    sequence: Number(getField(event, 'sequence')),
    type: String(getField(event, 'type')),
    signedAt: Number(headers['webhook-timestamp']),
    bodyHash: createHash('sha256').update(body).digest('hex').slice(0, 16),
    isSigned: secret === undefined ? null : isSigned(secret, headers, body, getField(event, 'id')),
  }
}

function isSigned(secret: string, headers: IncomingHttpHeaders, body: string, id: unknown): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return headers['webhook-id'] === id
  } catch {
    return false
  }
}

/** Another process may have the port for a moment, as the end of a connection. */
async function listen(): Promise<void> {
  for (let isListening = false; !isListening;) {
    isListening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    server.removeAllListeners('error')
    server.removeAllListeners('listening')
    if (!isListening) await delay(50)
  }
}

async function execute(command: ReceiverCommand): Promise<void> {
  if (command.kind === 'add_secret') return void secrets.set(command.path, command.secret)
  if (command.kind === 'start') {
    ;({ port, file } = command)
    for (const [path, secret] of command.secrets) secrets.set(path, secret)
    await listen()
    return void process.send?.('ready')
  }
  mode = command.mode
  if (mode === 'away') {
    server.close()
    server.closeAllConnections()
  } else if (!server.listening) await listen()
}

// Exits when the chaos test itself dies, so that no process is left behind.
process.on('disconnect', () => process.exit(1))
let executed = Promise.resolve()
process.on('message', (command: ReceiverCommand) => {
  executed = executed.then(() => execute(command))
})

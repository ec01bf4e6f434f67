import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { getField } from '../fields.ts'
import { SECOND } from '../time.ts'

const CANCEL_REQUEST = 80_877_102
const TLS_REQUEST = 80_877_103
const DEADLINE_MS = 5 * SECOND

/**
 * Asks the server to cancel the statement that this connection executes. The request has the key of that session, so it
 * reaches no other one. The server closes the connection of the request; a pooler discards a request whose connection is
 * closed before. It may arrive when the statement has ended, so the connection must not execute another one.
 */
export function cancelStatement(client: object): void {
  const { host, port, ssl, processID, secretKey } = readFields(client)
  if (typeof host !== 'string' || typeof processID !== 'number' || typeof secretKey !== 'number') return
  const path = host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : undefined
  const socket = path === undefined ? connect(Number(port), host) : connect(path)
  giveUpLater(socket)
  const request = Buffer.alloc(16)
  ;[16, CANCEL_REQUEST, processID, secretKey].forEach((value, index) => request.writeInt32BE(value, 4 * index))
  if (ssl && path === undefined) encrypt(socket, host, ssl).then((encrypted) => encrypted.write(request), ignore)
  else socket.write(request)
}

function readFields(client: object) {
  const names = ['host', 'port', 'ssl', 'processID', 'secretKey'] as const
  return Object.fromEntries(names.map((name) => [name, getField(client, name)]))
}

async function encrypt(socket: Socket, host: string, ssl: unknown): Promise<Socket> {
  const request = Buffer.alloc(8)
  request.writeInt32BE(8, 0)
  request.writeInt32BE(TLS_REQUEST, 4)
  socket.write(request)
  const answer = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
  if (answer.toString() !== 'S') throw new Error('The server does not encrypt cancel requests')
  const servername = isIP(host) === 0 ? { servername: host } : {}
  const encrypted = connectTls({ ...(typeof ssl === 'object' ? ssl : {}), ...servername, socket })
  giveUpLater(encrypted)
  return encrypted
}

/** A request that does not arrive is no error: the statement timeout ends the statement. */
function giveUpLater(socket: Socket): void {
  socket.setTimeout(DEADLINE_MS, () => socket.destroy())
  socket.on('error', ignore)
}

function ignore(): void {}

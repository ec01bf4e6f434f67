import { createHash } from 'node:crypto'
import { findSocket } from '../connections.ts'
import { ServerClient } from './server-client.ts'

/** Statements that get a name, at most. The first ones keep theirs: texts that differ at each call are not worth it. */
const NAMES_MAX = 400

const names = new Map<string, string>()

/**
 * A connection that prepares statements under a name, so that the server parses and plans each once per session. Only
 * hand-written statements are named: the query builder quotes identifiers, and selects all columns of a table, whose
 * number changes with migrations, in as many variants as there are values.
 *
 * The statements of one turn of the event loop are sent in one packet.
 */
export class PreparingClient extends ServerClient {
  #isCollecting = false

  // The driver has overloads for callbacks and promises, which this class passes on as they are.
  override query: ServerClient['query'] = Object.assign((...args: unknown[]): unknown => {
    const [config, ...rest] = args
    this.#collect()
    const query = isParameterized(config) && !('name' in config) ? this.prepare(config) : config
    return Reflect.apply(ServerClient.prototype.query, this, [query, ...rest])
  })

  /** Returns what is sent for a statement that has no name. */
  protected prepare(query: Query): Query {
    const name = findName(query.text)
    return name === undefined ? query : { ...query, name }
  }

  /** Sends what is written in this turn of the event loop together. */
  #collect(): void {
    if (this.#isCollecting) return
    const socket = findSocket(this)
    if (!socket) return
    this.#isCollecting = true
    socket.cork()
    process.nextTick(() => {
      this.#isCollecting = false
      socket.uncork()
    })
  }
}

/** A hand-written statement with values. */
export type Query = { text: string; values: unknown[]; name?: string }

function isParameterized(config: unknown): config is Query {
  if (typeof config !== 'object' || config === null || !('text' in config) || !('values' in config)) return false
  const { text, values } = config
  return typeof text === 'string' && isHandWritten(text) && Array.isArray(values) && values.length > 0
}

/** Composed statements begin with their name. */
function isHandWritten(text: string): boolean {
  return text.startsWith('/* ') || !text.includes('"')
}

function findName(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= NAMES_MAX) return known
  const name = createHash('sha1').update(text).digest('base64url')
  names.set(text, name)
  return name
}

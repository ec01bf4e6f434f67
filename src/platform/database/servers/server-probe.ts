import pg from 'pg'
import { withinTime } from '../../concurrency/deadline.ts'
import { SECOND } from '../../time.ts'
import { CONNECTION, destroySocket, findSocket } from '../connections.ts'

/** The deadline of a probe, connecting included. */
const PROBE_MAX_MS = 2 * SECOND

/** `timeline` grows with every promotion of a standby; 0 on a standby. */
export type ServerState = { isWritable: boolean; timeline: number }

/** The first eight digits of the name of a WAL file are the timeline. A standby writes none. */
const STATE = `select
  not pg_is_in_recovery() and not current_setting('default_transaction_read_only')::boolean as "isWritable",
  case when pg_is_in_recovery() then '0' else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as timeline`

/** Reads the state of one server, over a connection that is kept between two reads. */
export class ServerProbe {
  readonly #url: string
  #client: pg.Client | undefined
  #reading: Promise<ServerState> | undefined

  constructor(url: string) {
    this.#url = url
  }

  /** Fails if the server does not answer in time. */
  read(): Promise<ServerState> {
    return (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
  }

  close(): void {
    if (this.#client) destroySocket(this.#client)
    this.#client = undefined
  }

  async #read(): Promise<ServerState> {
    try {
      return await withinTime(PROBE_MAX_MS, this.#ask())
    } catch (error) {
      this.close()
      throw error
    }
  }

  async #ask(): Promise<ServerState> {
    const { rows } = await (this.#client ?? (await this.#open())).query<{ isWritable: boolean; timeline: string }>(
      STATE,
    )
    const [state] = rows
    if (!state) throw new Error('the server answers without a row')
    return { isWritable: state.isWritable, timeline: parseInt(state.timeline, 16) }
  }

  async #open(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#url, application_name: 'parley servers', ...CONNECTION })
    client.on('error', () => undefined)
    this.#client = client
    await client.connect()
    // The connection alone does not keep the process alive.
    findSocket(client)?.unref()
    return client
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { formatSpread } from './stats.ts'

type Counters = { transactions: number; syncs: number; walBytes: number }

/** Transactions, flushes and bytes of the write-ahead log per message, by the statistics of the server. */
export class ServerStatistics {
  readonly #url: string
  readonly #messages: number
  readonly #rounds: Counters[] = []

  constructor(adminUrl: string, messages: number) {
    this.#url = adminUrl
    this.#messages = messages
  }

  async measure<T>(work: () => Promise<T>): Promise<T> {
    const before = await this.#read()
    const result = await work()
    const after = await this.#read()
    const difference = (name: keyof Counters) => (after[name] - before[name]) / this.#messages
    this.#rounds.push({
      transactions: difference('transactions'),
      syncs: difference('syncs'),
      walBytes: difference('walBytes'),
    })
    return result
  }

  describe(): string {
    const format = (name: keyof Counters, digits: number) =>
      formatSpread(
        this.#rounds.map((round) => round[name]),
        digits,
      )
    return `per answer: ${format('transactions', 2)} transactions, ${format('syncs', 2)} flushes of the log, ${format('walBytes', 0)} bytes of log`
  }

  async #read(): Promise<Counters> {
    // Backends report their statistics at most once a second.
    await delay(1500)
    const client = new pg.Client({ connectionString: this.#url })
    await client.connect()
    const { rows } = await client.query<Record<keyof Counters, string>>(
      `select (select sum(xact_commit) from pg_stat_database) as transactions,
         (select sum(fsyncs) from pg_stat_io where object = 'wal') as syncs,
         (select wal_bytes from pg_stat_wal) as "walBytes"`,
    )
    await client.end()
    const [row] = rows
    return {
      transactions: Number(row?.transactions),
      syncs: Number(row?.syncs),
      walBytes: Number(row?.walBytes),
    }
  }
}

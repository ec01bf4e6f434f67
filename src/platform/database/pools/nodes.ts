import { LRUCache } from 'lru-cache'
import pg from 'pg'
import { withinTime } from '../../concurrency/deadline.ts'
import { SECOND } from '../../time.ts'
import { CONNECTION, destroySocket } from '../connections.ts'
import { splitHosts } from '../database-url.ts'
import type { Database } from '../database.ts'

/** Age at which the places of shards are read again. A shard that was moved is reached by its former node until then. */
const REFRESH_MS = 10 * SECOND
/** The deadline of a read, and that of connecting to a node. */
const READ_MAX_MS = 5 * SECOND
const PROBE_MAX_MS = 2 * SECOND
/** Pause after a read that failed. */
const RETRY_MS = SECOND
/** Workspaces whose hashes are kept, and those that are looked up by one statement. */
const HASHES_MAX = 20_000
const BATCH_MAX = 500

/** A range of hashes whose rows are on one node. */
type Shard = { first: number; last: number; url: string }
type Placement = { first: number; last: number; host: string; port: number }

/**
 * The nodes of a database on Citus, each of which executes statements on its workspaces without the detour by the
 * coordinator. Nothing waits for this knowledge: what is not known yet, or not reachable, is executed by the coordinator,
 * which reaches every row. So does a node whose knowledge is newer than that of this process.
 */
export class Nodes {
  readonly #url: string
  readonly #db: () => Database
  readonly #hashes = new LRUCache<string, number>({ max: HASHES_MAX })
  readonly #unknown = new Set<string>()
  /** URLs of the nodes that have accepted a connection. */
  readonly #reachable = new Set<string>()
  #shards: Shard[] = []
  #readAtMs = -Infinity
  #failedAtMs = -Infinity
  /** False for a database that is not distributed, which is asked once. */
  #isDistributed: boolean | undefined
  #reading: Promise<void> | undefined

  /** `db` provides connections to the coordinator, whose address is `url`. */
  constructor(url: string, db: () => Database) {
    this.#url = splitHosts(url)[0] ?? url
    this.#db = db
  }

  /** Returns the URL of the node that stores a workspace; undefined if the coordinator has to be used. */
  findUrl(workspaceId: string): string | undefined {
    if (this.#isDistributed === false) return undefined
    const hash = this.#hashes.get(workspaceId)
    if (hash === undefined && this.#unknown.size < BATCH_MAX) this.#unknown.add(workspaceId)
    if (hash === undefined || performance.now() - this.#readAtMs > REFRESH_MS) this.#read()
    if (hash === undefined) return undefined
    const url = this.#shards.find(({ first, last }) => first <= hash && hash <= last)?.url
    return url !== undefined && this.#reachable.has(url) ? url : undefined
  }

  /** Uses a node no more until it has accepted a connection again. */
  suspect(url: string): void {
    this.#reachable.delete(url)
  }

  #read(): void {
    if (this.#reading || performance.now() - this.#failedAtMs < RETRY_MS) return
    // After a failure, the coordinator executes what is not known, and a later statement asks again.
    this.#reading = withinTime(READ_MAX_MS, this.#readAll())
      .catch(() => void (this.#failedAtMs = performance.now()))
      .finally(() => (this.#reading = undefined))
  }

  async #readAll(): Promise<void> {
    const db = this.#db()
    this.#isDistributed ??= await isDistributed(db)
    if (!this.#isDistributed) return
    if (performance.now() - this.#readAtMs > REFRESH_MS) {
      const shards = (await readShards(db)).map((placement) => this.#toShard(placement))
      this.#shards = shards
      this.#readAtMs = performance.now()
      const urls = new Set(shards.map(({ url }) => url))
      await Promise.all([...urls].map((url) => this.#probe(url)))
    }
    const ids = [...this.#unknown]
    this.#unknown.clear()
    for (const { id, hash } of ids.length > 0 ? await readHashes(db, ids) : []) this.#hashes.set(id, hash)
  }

  /** The processes may not be able to reach the addresses by which the nodes reach each other. */
  async #probe(url: string): Promise<void> {
    if (this.#reachable.has(url)) return
    const client = new pg.Client({ connectionString: url, application_name: 'parley nodes', ...CONNECTION })
    client.on('error', () => undefined)
    try {
      await withinTime(PROBE_MAX_MS, client.connect())
      await withinTime(PROBE_MAX_MS, client.end())
      this.#reachable.add(url)
    } catch {
      destroySocket(client)
    }
  }

  /** @throws TypeError for an address without a host, such as that of a socket, of which no other can be made */
  #toShard({ first, last, host, port }: Placement): Shard {
    const url = new URL(this.#url)
    url.hostname = host.includes(':') ? `[${host}]` : host
    url.port = `${port}`
    return { first, last, url: url.href }
  }
}

async function isDistributed(db: Database): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { isDistributed: boolean }[] }>(
    `select exists (select from pg_extension where extname = 'citus') as "isDistributed"`,
  )
  return rows[0]?.isDistributed === true
}

/** Only nodes with metadata plan statements. The coordinator may store shards itself. */
async function readShards(db: Database): Promise<Placement[]> {
  const { rows } = await db.raw<{ rows: Placement[] }>(
    `/* readShards */ select s.shardminvalue::int as first, s.shardmaxvalue::int as last, n.nodename as host, n.nodeport as port
     from pg_dist_shard s join pg_dist_placement p on p.shardid = s.shardid
     join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' and n.isactive and n.metadatasynced
     where s.logicalrelid = 'contacts'::regclass and n.groupid <> 0`,
  )
  return rows
}

async function readHashes(db: Database, ids: string[]): Promise<{ id: string; hash: number }[]> {
  const { rows } = await db.raw<{ rows: { id: string; hash: number }[] }>(
    '/* readHashes */ select id, worker_hash(id) as hash from unnest(?::uuid[]) as id',
    [ids],
  )
  return rows
}

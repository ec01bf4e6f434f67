import { startEmbeddedPostgres } from '../embedded-postgres/start-embedded-postgres.ts'

export type ResolvedDatabase = {
  url: string
  /** The address of the server itself, for what needs a session: notifications and migrations. */
  sessionUrl: string
  /** True if `url` leads to a pooler in transaction mode. */
  isPooled: boolean
  /** True if this is the embedded database under `dataDir`. */
  isEmbedded: boolean
  close(): Promise<void>
}

/** Returns the Postgres at `url` or else the embedded one, which is started unless another process already runs it. */
export async function resolveDatabase(options: {
  url: string | undefined
  sessionUrl: string | undefined
  dataDir: string
  binDir: string | undefined
  environment: NodeJS.ProcessEnv
}): Promise<ResolvedDatabase> {
  const { url, sessionUrl = url } = options
  if (url !== undefined && sessionUrl !== undefined) {
    return { url, sessionUrl, isPooled: sessionUrl !== url, isEmbedded: false, close: () => Promise.resolve() }
  }
  const { dataDir, binDir, environment } = options
  const server = await startEmbeddedPostgres({ dataDir, environment, ...(binDir ? { binDir } : {}) })
  const own = server.socketConnectionString
  return { url: own, sessionUrl: own, isPooled: false, isEmbedded: true, close: () => server.stop() }
}

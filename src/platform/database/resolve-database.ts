import { startEmbeddedPostgres } from '../embedded-postgres/start-embedded-postgres.ts'

export type ResolvedDatabase = {
  url: string
  /** True if this is the embedded database under `dataDir`. */
  isEmbedded: boolean
  close(): Promise<void>
}

/** Returns the Postgres at `url` or else the embedded one, which is started unless another process already runs it. */
export async function resolveDatabase(options: {
  url: string | undefined
  dataDir: string
  binDir: string | undefined
  environment: NodeJS.ProcessEnv
}): Promise<ResolvedDatabase> {
  if (options.url !== undefined) return { url: options.url, isEmbedded: false, close: () => Promise.resolve() }
  const { dataDir, binDir, environment } = options
  const server = await startEmbeddedPostgres({ dataDir, environment, ...(binDir ? { binDir } : {}) })
  return { url: server.socketConnectionString, isEmbedded: true, close: () => server.stop() }
}

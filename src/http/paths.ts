/** Paths of the endpoints. Limits, error bodies and routing decide by them. */
export const INDEX_PATH = '/'
export const API_PREFIX = '/api'
export const AUTH_PREFIX = `${API_PREFIX}/auth`
/** The tRPC endpoint of front ends, with limits of its own. */
export const TRPC_PREFIX = '/trpc'
/** The same endpoint within the limits of the API. */
export const TRPC_ALIAS_PREFIX = `${API_PREFIX}/trpc`
export const LIVENESS_PATH = '/healthz'
export const READINESS_PATH = '/readyz'
/** The endpoint of assistants. */
export const MCP_PATH = '/mcp'
export const OPENAPI_PATH = '/openapi.json'
/** The operations of the OpenAPI document as a collection of Postman. */
export const POSTMAN_PATH = '/postman.json'
/** The documentation, with the API reference at the top. */
export const DOCS_PATH = '/docs'

/** The console: pages of this server that show what happens in a workspace. */
export const CONSOLE_PATH = '/console'

export const WEBHOOK_PREFIX = '/inbound'

/** The events of a workspace as server-sent events. */
export const EVENTS_STREAM_PATH = `${API_PREFIX}/events/stream`
/** `/media/{workspaceId}/{mediaId}`, with a signature in the query. */
export const MEDIA_PATH = /^\/media\/([0-9A-Za-z-]+)\/([0-9A-Za-z-]+)$/

/** `/inbound/{kind}/{channelId}` of a channel's provider. */
export const PROVIDER_WEBHOOK_PATH = /^\/inbound\/([a-z]+)\/([0-9A-Za-z-]+)$/
/** `/inbound/webhooks/{webhookId}` of a workflow. */
export const WORKFLOW_WEBHOOK_PATH = /^\/inbound\/webhooks\/([0-9A-Za-z-]+)$/

/** Lists the procedures that a tRPC path names; undefined for any other path. */
export function listBatchedProcedures(path: string): string[] | undefined {
  const prefix = [TRPC_PREFIX, TRPC_ALIAS_PREFIX].find((known) => isUnder(path, known))
  return prefix === undefined ? undefined : path.slice(prefix.length + 1).split(',')
}

/** Returns true for the paths at which procedures are called, whichever endpoint serves them. */
export function isApi(path: string): boolean {
  return isUnder(path, API_PREFIX) || isUnder(path, TRPC_PREFIX) || path === MCP_PATH
}

/** Returns true for the paths of the documentation. */
export function isDocs(path: string): boolean {
  return path === DOCS_PATH || isUnder(path, DOCS_PATH)
}

/** Returns true for the paths that orchestrators and load balancers ask. */
export function isHealthCheck(path: string): boolean {
  return path === LIVENESS_PATH || path === READINESS_PATH
}

export function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(`${prefix}/`)
}

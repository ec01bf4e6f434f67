/** Paths of the endpoints. Limits, error bodies and routing decide by them. */
export const INDEX_PATH = '/'
export const API_PREFIX = '/api'
export const AUTH_PREFIX = `${API_PREFIX}/auth`
export const TRPC_PREFIX = `${API_PREFIX}/trpc`
export const LIVENESS_PATH = '/healthz'
export const READINESS_PATH = '/readyz'
export const OPENAPI_PATH = '/openapi.json'

export const WEBHOOK_PREFIX = '/inbound'

/** `/api/media`, to which files are uploaded. */
export const UPLOAD_PATH = `${API_PREFIX}/media`
/** The recipients of a broadcast as lines. */
export const RECIPIENTS_CSV_PATH = `${API_PREFIX}/broadcasts/{broadcastId}/recipients.csv`
/** `/media/{workspaceId}/{mediaId}`, with a signature in the query. */
export const MEDIA_PATH = /^\/media\/([0-9A-Za-z-]+)\/([0-9A-Za-z-]+)$/

/** `/inbound/{kind}/{channelId}` of a channel's provider. */
export const PROVIDER_WEBHOOK_PATH = /^\/inbound\/([a-z]+)\/([0-9A-Za-z-]+)$/
/** `/inbound/webhooks/{webhookId}` of a workflow. */
export const WORKFLOW_WEBHOOK_PATH = /^\/inbound\/webhooks\/([0-9A-Za-z-]+)$/

export function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(`${prefix}/`)
}

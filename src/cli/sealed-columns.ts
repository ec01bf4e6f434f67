import { sealContext as aiProviderContext } from '../features/ai-provider/queries.ts'
import { sealContext as twoFactorContext } from '../features/auth/two-factors.ts'
import { sealContext as channelContext } from '../features/channels/load-channel.ts'
import { sealContext as credentialContext } from '../features/credentials/seal-secret.ts'
import { sealContext as toolContext } from '../features/tools/tool-headers.ts'
import { sealContext as bodyContext } from '../features/webhook-endpoints/deliveries.ts'
import { sealContext as endpointContext } from '../features/webhook-endpoints/signatures.ts'
import { sealContext as workflowWebhookContext } from '../features/workflow-webhooks/webhook-secret.ts'

/** A column with sealed values, and the context of each by the workspace and the ID of its row. */
export type SealedColumn = {
  table: string
  column: string
  id?: string
  toContext: (tenantId: string, id: string) => string
}

/** Sealed columns of workspaces. A test finds columns that are missing. */
export const TENANT_COLUMNS: readonly SealedColumn[] = [
  { table: 'channels', column: 'credentials', toContext: channelContext },
  { table: 'http_credentials', column: 'sealed_secret', toContext: credentialContext },
  { table: 'tools', column: 'sealed_headers', toContext: toolContext },
  { table: 'ai_providers', column: 'sealed_key', toContext: aiProviderContext },
  {
    table: 'workflow_webhooks',
    column: 'secret',
    toContext: (tenantId, id) => workflowWebhookContext({ tenantId, id }),
  },
  { table: 'webhook_endpoints', column: 'secret', toContext: (tenantId, id) => endpointContext({ tenantId, id }) },
  {
    table: 'webhook_endpoints',
    column: 'previous_secret',
    toContext: (tenantId, id) => endpointContext({ tenantId, id }),
  },
  { table: 'webhook_bodies', column: 'body', id: 'delivery_id', toContext: bodyContext },
]

/** Sealed columns of rows that belong to no workspace. */
export const SYSTEM_COLUMNS: readonly SealedColumn[] = [
  { table: 'two_factors', column: 'sealed_secret', id: 'user_id', toContext: (_, id) => twoFactorContext(id) },
]

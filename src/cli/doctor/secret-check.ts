import { sealContext as aiProviderContext } from '../../features/ai-provider/queries.ts'
import { sealContext as twoFactorContext } from '../../features/auth/two-factors.ts'
import { sealContext as channelContext } from '../../features/channels/load-channel.ts'
import { sealContext as credentialContext } from '../../features/credentials/seal-secret.ts'
import { sealContext as toolContext } from '../../features/tools/tool-headers.ts'
import { sealContext as endpointContext } from '../../features/webhook-endpoints/signatures.ts'
import { sealContext as webhookContext } from '../../features/workflow-webhooks/webhook-secret.ts'
import { getField } from '../../platform/fields.ts'
import { readSecretKey, Secrets } from '../../platform/security/secrets.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { acrossTenants, type Check, counted, type Finding, ok, problem, type Subject } from './check.ts'

/** Secrets of each table that are decrypted, chosen by chance. */
const SAMPLE = 50

type Row = { tenantId: string; id: string; sealed: Buffer }

type SealedColumn = { name: string; rows: SqlFragment; toContext: (row: Row) => string }

const SEALED_COLUMNS: SealedColumn[] = [
  {
    name: 'channels',
    rows: sqlFragment`select tenant_id, id, credentials as sealed from channels`,
    toContext: ({ tenantId, id }) => channelContext(tenantId, id),
  },
  {
    name: 'credentials',
    rows: sqlFragment`select tenant_id, id, sealed_secret as sealed from http_credentials`,
    toContext: ({ tenantId, id }) => credentialContext(tenantId, id),
  },
  {
    name: 'tools',
    rows: sqlFragment`select tenant_id, id, sealed_headers as sealed from tools`,
    toContext: ({ tenantId, id }) => toolContext(tenantId, id),
  },
  {
    name: 'AI providers',
    rows: sqlFragment`select tenant_id, id, sealed_key as sealed from ai_providers`,
    toContext: ({ tenantId, id }) => aiProviderContext(tenantId, id),
  },
  {
    name: 'webhook endpoints',
    rows: sqlFragment`select tenant_id, id, secret as sealed from webhook_endpoints`,
    toContext: endpointContext,
  },
  {
    name: 'workflow webhooks',
    rows: sqlFragment`select tenant_id, id, secret as sealed from workflow_webhooks`,
    toContext: webhookContext,
  },
  {
    name: 'second factors',
    rows: sqlFragment`select user_id as tenant_id, user_id as id, sealed_secret as sealed from two_factors`,
    toContext: ({ id }) => twoFactorContext(id),
  },
]

/** Decrypts a sample of the stored secrets with the configured key. */
export const SECRET_CHECK: Check = { name: 'secrets', run: checkSecrets }

async function checkSecrets({ db, config }: Subject): Promise<Finding> {
  const key = config.secretKey ?? (await findSecretKey(config.dataDir))
  const secrets = key === undefined ? undefined : new Secrets(key)
  const unreadable: string[] = []
  let total = 0
  for (const { name, rows, toContext } of SEALED_COLUMNS) {
    const sample = await acrossTenants<Row>(db, 'sampleSecrets')`
      select * from (${rows}) stored where sealed is not null order by random() limit ${SAMPLE}`
    total += sample.length
    const failed = sample.filter((row) => !canOpen(secrets, row.sealed, toContext(row)))
    if (failed.length > 0) unreadable.push(`${failed.length} of ${sample.length} of ${name}`)
  }
  if (unreadable.length > 0)
    return problem(
      `Stored secrets cannot be decrypted: ${unreadable.join(', ')}. Restore the SECRET_KEY, or DATA_DIR/secret-key, that encrypted them`,
    )
  return ok(`${counted(total, 'stored secret')} can be decrypted`)
}

function canOpen(secrets: Secrets | undefined, sealed: Buffer, context: string): boolean {
  try {
    return secrets?.open(sealed, context) !== undefined
  } catch {
    return false
  }
}

async function findSecretKey(dataDir: string): Promise<string | undefined> {
  try {
    return await readSecretKey(dataDir)
  } catch (error) {
    if (getField(error, 'code') === 'ENOENT') return undefined
    throw error
  }
}

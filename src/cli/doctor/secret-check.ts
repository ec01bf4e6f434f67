import { getField } from '../../platform/fields.ts'
import { NIL_ID } from '../../platform/ids.ts'
import { readSecretKeys, type SecretKeys } from '../../platform/security/secret-key-file.ts'
import { Secrets } from '../../platform/security/secrets.ts'
import { sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { SYSTEM_COLUMNS, TENANT_COLUMNS } from '../sealed-columns.ts'
import { acrossTenants, type Check, counted, type Finding, ok, problem, type Subject } from './check.ts'

/** Secrets of each table that are decrypted, chosen by chance. */
const SAMPLE = 50

type Row = { tenantId: string; id: string; sealed: Buffer }

const SYSTEM_TABLES = new Set(SYSTEM_COLUMNS.map(({ table }) => table))

/** Decrypts a sample of the stored secrets with the configured key. */
export const SECRET_CHECK: Check = { name: 'secrets', run: checkSecrets }

async function checkSecrets({ db, config }: Subject): Promise<Finding> {
  const keys = config.secretKeys ?? (await findSecretKeys(config.dataDir))
  const secrets = keys && new Secrets(keys)
  const unreadable: string[] = []
  let total = 0
  for (const { table, column, id = 'id', toContext } of [...TENANT_COLUMNS, ...SYSTEM_COLUMNS]) {
    const tenantId = SYSTEM_TABLES.has(table) ? sqlFragment`${NIL_ID}::uuid` : sqlFragment`tenant_id`
    // An empty value stands for a secret that was erased.
    const sample = await acrossTenants<Row>(db, 'sampleSecrets')`
      select ${tenantId} as tenant_id, ${sqlText(id)} as id, ${sqlText(column)} as sealed from ${sqlText(table)}
      where octet_length(${sqlText(column)}) > 0 order by random() limit ${SAMPLE}`
    total += sample.length
    const failed = sample.filter((row) => !canOpen(secrets, row.sealed, toContext(row.tenantId, row.id)))
    if (failed.length > 0) unreadable.push(`${failed.length} of ${sample.length} of ${table}.${column}`)
  }
  if (unreadable.length > 0)
    return problem(
      `Stored secrets cannot be decrypted: ${unreadable.join(', ')}. Restore the SECRET_KEY or SECRET_KEYS, or DATA_DIR/secret-key, that encrypted them`,
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

async function findSecretKeys(dataDir: string): Promise<SecretKeys | undefined> {
  try {
    return await readSecretKeys(dataDir)
  } catch (error) {
    if (getField(error, 'code') === 'ENOENT') return undefined
    throw error
  }
}

import { Credential as CredentialRow, Tool as ToolRow, type ToolConfig } from '../../models/automation.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { definedFields } from '../../platform/fields.ts'
import { InvalidError, UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { jsonSchemaErrorTask } from '../../platform/json-schema.ts'
import { assertCallable } from '../../platform/outbound/check-url.ts'
import { listLiteralParameters, listLiteralSecrets } from '../../platform/security/literal-secret.ts'
import { REDACTED } from '../../platform/security/redact-texts.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Commit } from '../../trpc/idempotency.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { describeAllowedHosts, isAllowedUrl } from '../credentials/apply-credential.ts'
import { assertNotBuiltin, assertNotBuiltinName, getTool } from './queries.ts'
import type { CreateTool, Tool, ToolRef, UpdateTool } from './schema.ts'
import { keepHeaders, openHeaders, sealConfig } from './tool-headers.ts'

const SCHEMA_FIELDS = ['inputSchema', 'outputSchema'] as const

/** @throws ConflictError `name_taken`, `too_many_tools` */
export async function createTool(
  scope: Scope,
  { enabled = true, config: inputConfig, ...input }: CreateTool,
  commit: Commit,
): Promise<Tool> {
  assertNotBuiltinName(input.name)
  assertConfig(inputConfig, scope)
  const config = keepHeaders(inputConfig)
  await assertUsableSchemas(scope, input)
  return toUniqueNameError('tool', () =>
    commit(async (tx) => {
      await assertRowLimit(tx, 'tools')
      await lockCredential(tx, config)
      const id = newId()
      const now = tx.now()
      await tx
        .query(ToolRow)
        .insert({ ...input, ...sealConfig(tx, id, config), id, enabled, createdAt: now, updatedAt: now })
      return getTool(tx, { toolId: id })
    }),
  )
}

export async function updateTool(scope: Scope, { toolId, config, ...columns }: UpdateTool): Promise<Tool> {
  assertNotBuiltin(toolId)
  assertNotBuiltinName(columns.name)
  if (config) assertConfig(config, scope)
  await assertUsableSchemas(scope, columns)
  return toUniqueNameError('tool', () =>
    scope.transaction(async (tx) => {
      const existing = await tx.lock(ToolRow, toolId)
      tx.audit?.compareWith(existing)
      if (config) await lockCredential(tx, config)
      const headers = openHeaders(tx, existing)
      const newConfig = config
        ? keepHeaders(config, { url: existing.config.url, headers })
        : { ...existing.config, ...(existing.config.headers ? { headers } : {}) }
      await tx
        .query(ToolRow)
        .findOne('id', toolId)
        .patch({ ...definedFields(columns), ...sealConfig(tx, toolId, newConfig), updatedAt: tx.now() })
      return getTool(tx, { toolId })
    }),
  )
}

export function deleteTool(scope: Scope, { toolId }: ToolRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    assertNotBuiltin(toolId)
    await tx.lock(ToolRow, toolId)
    await tx.query(ToolRow).delete().where('id', toolId)
    return {}
  })
}

/**
 * @throws InvalidError if a schema cannot be used
 * @throws BudgetExceededError if a schema is too expensive to use
 */
async function assertUsableSchemas(
  scope: Scope,
  tool: Pick<UpdateTool, (typeof SCHEMA_FIELDS)[number]>,
): Promise<void> {
  for (const path of SCHEMA_FIELDS) {
    const schema = tool[path]
    const problem = schema && (await scope.compute(jsonSchemaErrorTask, schema))
    if (!problem) continue
    const message = `is not a supported JSON Schema: ${problem}`
    throw new InvalidError(`${path} ${message}`, [{ path, message }])
  }
}

/**
 * Checks what the text of a configuration determines. Secrets belong in credentials; a header that an earlier version
 * stored may be kept.
 * @throws InvalidError, UnprocessableError `literal_secret`
 */
function assertConfig({ url, headers = {} }: ToolConfig, rules: { allowsLoopback: boolean }): void {
  assertCallable(url, 'config.url', rules)
  const added = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== REDACTED))
  const path = listLiteralSecrets(added).map((name) => `config.headers.${name}`)
  if (listLiteralParameters(url).length > 0) path.push('config.url')
  if (path[0] === undefined) return
  const message = 'contains a secret. Store it with POST /api/credentials and set config.credentialId'
  throw new UnprocessableError(
    'literal_secret',
    `${path[0]} ${message}`,
    path.map((one) => ({ path: one, message })),
  )
}

/**
 * Locks the credential of a configuration, which cannot be deleted meanwhile.
 * @throws NotFoundError, UnprocessableError `credential_host_refused`
 */
async function lockCredential(tx: Scope, { url, credentialId }: ToolConfig): Promise<void> {
  if (credentialId === undefined) return
  const credential = await tx.lock(CredentialRow, credentialId)
  if (isAllowedUrl(credential, url, tx)) return
  throw new UnprocessableError('credential_host_refused', describeAllowedHosts(credential))
}

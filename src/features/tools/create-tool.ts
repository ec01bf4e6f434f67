import { Tool as ToolRow } from '../../models/automation.ts'
import { newId } from '../../platform/ids.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Commit } from '../../trpc/idempotency.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { assertConfig, lockCredential } from './assert-config.ts'
import { assertUsableSchemas } from './assert-usable-schemas.ts'
import type { CreateTool, Tool } from './schema.ts'
import { keepHeaders, sealConfig } from './tool-headers.ts'
import { getTool, assertNotBuiltinName } from './queries.ts'

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

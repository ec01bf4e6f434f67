import { Tool as ToolRow } from '../../models/automation/tool.ts'
import { newId } from '../../platform/ids.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { assertConfig, lockCredential } from './assert-config.ts'
import { assertUsableSchemas } from './assert-usable-schemas.ts'
import type { CreateTool, Tool } from './schema.ts'
import { keepHeaders, sealConfig } from './tool-headers.ts'
import { getTool, assertNotBuiltinName } from './queries.ts'

/** Each has up to 128 KB of schemas, and the list of tools returns all. */
const TOOLS_MAX = 200

/** @throws ConflictError `name_taken`, `too_many_tools` */
export async function createTool(
  scope: Scope,
  { enabled = true, config: inputConfig, ...input }: CreateTool,
): Promise<Tool> {
  assertNotBuiltinName(input.name)
  assertConfig(inputConfig, scope)
  const config = keepHeaders(inputConfig)
  await assertUsableSchemas(scope, input)
  return toUniqueNameError('tool', () =>
    scope.transaction(async (tx) => {
      const existing = await tx.query(ToolRow).select('id').limit(TOOLS_MAX)
      if (existing.length === TOOLS_MAX) {
        const message = `A workspace has at most ${TOOLS_MAX} tools of its own. Delete those that are not used`
        throw new ConflictError('too_many_tools', message)
      }
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
